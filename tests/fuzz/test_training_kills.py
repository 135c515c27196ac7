"""Training that is killed without warning at any moment, and loses files, ends with the weights it would have had."""

from __future__ import annotations

import logging
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from tests.fuzz.processes import processes_naming
from tests.fuzz.seeds import each_round
from tests.training.conftest import HYPERPARAMETERS, Container, wait_until
from training.checkpoint import store

LONGER = {
    **HYPERPARAMETERS,
    "epochs": 20,
    "early_stopping": {"metric": "validation:auc", "mode": "max", "patience": 15},
}
EAGER = {"SLIPSTREAM_CHECKPOINT": '{"interval": 0.01}'}
"""As fast as the disk allows: kills are to meet a checkpoint half written."""
STARTED = re.compile(r"step=(\d+) (?:a fresh start|resumed, bit-exact)")
IMPORTING_S = 2.0


@dataclass(frozen=True)
class Kill:
    """One life's end, drawn before it begins."""

    during: Literal["start", "training"]
    after: float
    """Share of the time that this takes undisturbed."""
    whom: Literal["launcher", "rank", "all"]
    damage: Literal["none", "truncate", "delete", "flip", "remove"]
    """What is done to the newest checkpoint afterwards."""

    @classmethod
    def draw(cls, source: random.Random) -> Kill:
        return cls(
            during=source.choice(["start", "training", "training", "training"]),
            after=source.random(),
            whom=source.choice(["launcher", "rank", "all"]),
            damage=source.choice(["none", "none", "truncate", "delete", "flip", "remove"]),
        )


@dataclass
class Life:
    """A container's process and what it has said."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    @property
    def started_from(self) -> int | None:
        return started_from(self.output)

    def end(self) -> int:
        code = self.process.wait(timeout=120)
        self._reader.join(timeout=10)
        return code


def started_from(output: str) -> int | None:
    """Step of the checkpoint that was loaded, 0 for none, None when it did not come so far."""
    found = STARTED.search(output)
    return int(found[1]) if found else None


@dataclass(frozen=True)
class Undisturbed:
    digest: str
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Undisturbed:
    made = Container(tmp_path_factory.mktemp("undisturbed") / "ml", [])
    made.channels(prepared)
    made.hyperparameters(LONGER)
    started = time.monotonic()
    assert made.attempt(**EAGER).code == 0
    return Undisturbed(made.digest, time.monotonic() - started)


@each_round
def test_a_killed_training_ends_with_the_same_weights(
    seed: str, container: Container, undisturbed: Undisturbed, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = random.Random(seed)
    kills = [Kill.draw(source) for _ in range(source.choice([1, 1, 1, 2, 3]))]
    in_a_process = source.random() < 0.25  # the last life; importing torch is what costs most here
    print(f"seed {seed}:", *kills, sep="\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    container.hyperparameters(LONGER)
    container.variables = {**EAGER, "TMPDIR": str(temporary)}
    checkpoints = container.base / "checkpoints"
    damaged: set[int] = set()
    for kill in kills:
        before = newest_verified(checkpoints)
        life = Life(container.start())
        carry_out(kill, life, container, undisturbed.seconds)
        assert life.started_from in (before, None), life.output
        assert newest_verified(checkpoints) >= before
        torn = {step for step in store.list_steps(checkpoints) if not verified(checkpoints, step)}
        assert torn <= damaged, f"a kill has torn checkpoints: {torn - damaged}"
        damaged |= do_damage(kill, checkpoints, source)

    before, left_before = newest_verified(checkpoints), set(temporary.iterdir())
    if in_a_process:
        life = Life(container.start())
        assert life.end() == 0, life.output
        assert life.started_from == before, life.output
    else:
        with caplog.at_level(logging.INFO):
            assert container.attempt().code == 0
        assert started_from(caplog.text) == before, caplog.text
    assert container.digest == undisturbed.digest
    assert not list(checkpoints.glob(".writing-*"))
    assert set(temporary.iterdir()) <= left_before
    assert not processes_naming(str(container.base))


def carry_out(kill: Kill, life: Life, container: Container, training_s: float) -> None:
    if kill.during == "training":
        wait_until(lambda: life.started_from is not None or life.process.poll() is not None, "the start of training")
        time.sleep(kill.after * training_s)
    else:
        time.sleep(kill.after * IMPORTING_S)
    launcher = life.process.pid
    ranks = [pid for pid in processes_naming(str(container.base)) if pid != launcher]
    for pid in {"launcher": [launcher], "rank": ranks, "all": [launcher, *ranks]}[kill.whom]:
        if pid != launcher or life.process.poll() is None:
            kill_9(pid)
    life.end()
    wait_until(lambda: not processes_naming(str(container.base)), "the end of every process")


def kill_9(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        print(f"{pid} had ended", file=sys.stderr)


def do_damage(kill: Kill, checkpoints: Path, source: random.Random) -> set[int]:
    """Steps that are no longer whole."""
    steps = store.list_steps(checkpoints)
    if kill.damage == "none" or not steps:
        return set()
    folder = store.step_folder(checkpoints, steps[0])
    if kill.damage == "remove":
        shutil.rmtree(folder)
        return set()
    files = sorted(path for path in folder.iterdir() if kill.damage != "flip" or path.name != store.MANIFEST)
    path = source.choice(files)
    match kill.damage:
        case "delete":
            path.unlink()
        case "truncate":
            os.truncate(path, source.randrange(path.stat().st_size))
        case "flip":
            content = bytearray(path.read_bytes())
            content[source.randrange(len(content))] ^= 1 << source.randrange(8)
            path.write_bytes(content)
    return {steps[0]}


def verified(checkpoints: Path, step: int) -> bool:
    try:
        store.load(checkpoints, step)
    except store.TornError:
        return False
    return True


def newest_verified(checkpoints: Path) -> int:
    return next((step for step in store.list_steps(checkpoints) if verified(checkpoints, step)), 0)
