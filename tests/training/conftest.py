"""Small prepared data, and a container: /opt/ml in a temporary folder and the real processes in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from training import session
from training.checkpoint import read_tensors
from training.config import Hyperparameters
from training.digest import weights_digest
from training.environment import Environment
from training.outcome import Outcome
from training.prepare.main import prepare
from training.stop import StopRequest

ROOT = Path(__file__).parents[2]
NUM_ROWS = 800
RECIPE: dict[str, Any] = {
    "source": "trips.csv",
    "label": {"column": "delay", "greater_than": 15},
    "numeric": ["distance", "wind"],
    "categorical": ["carrier", "weekday"],
    "derive": {"weekday": {"from": "hour", "to": "weekday"}},
    "split": {"by": "time", "column": "hour", "train": 0.6, "validation": 0.2, "test": 0.2},
    "min_category_count": 5,
    "shard_size": 300,
}
HYPERPARAMETERS: dict[str, Any] = {
    "epochs": 4,
    "global_batch_size": 32,
    "learning_rate": 0.01,
    "schedule": "one_cycle",
    "dropout": 0.2,
    "hidden_sizes": [16],
    "seed": 7,
}
"""15 steps an epoch, 60 in all."""


def write_trips(folder: Path, *, num_rows: int = NUM_ROWS, seed: int = 0) -> None:
    """A table with missing values, from whose columns the label can be guessed."""
    random = np.random.default_rng(seed)
    lines = ["hour,carrier,distance,wind,delay"]
    for i in range(num_rows):
        carrier = random.choice(["AA", "BB", "CC", "DD"])
        wind = random.exponential(10)
        delay = round(2 * wind + 15 * (carrier == "BB") + random.normal(0, 8) - 10)
        hour = np.datetime64("2024-01-01T00:00:00") + np.timedelta64(i // 2, "h")
        lines.append(
            f"{hour}Z,{'' if i % 17 == 0 else carrier},{random.integers(100, 3000)},"
            f"{'' if i % 11 == 0 else f'{wind:.2f}'},{'' if i % 40 == 5 else delay}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trips.csv").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared data of about 780 rows; do not write there."""
    folder = tmp_path_factory.mktemp("trips")
    write_trips(folder / "raw")
    prepare(folder / "raw", folder / "prepared", RECIPE)
    return folder / "prepared"


@pytest.fixture(scope="session")
def code_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it travels: one zip that Python runs."""
    path = tmp_path_factory.mktemp("code") / "code.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for source in sorted((ROOT / "training").rglob("*.py")):
            archive.write(source, source.relative_to(ROOT))
        archive.write(ROOT / "training" / "__main__.py", "__main__.py")
    return path


@dataclass
class Container:
    """One /opt/ml. Processes started here are killed with the test."""

    base: Path
    command: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    _processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def channels(self, prepared: Path) -> None:
        for split in ("train", "validation", "test"):
            shutil.copytree(prepared / split, self.base / "input" / "data" / split)
        manifest = self.base / "input" / "data" / "manifest"
        manifest.mkdir()
        shutil.copy(prepared / "MANIFEST.json", manifest)

    def hyperparameters(self, values: Mapping[str, Any]) -> None:
        """As CreateTrainingJob hands them over: text."""
        config = self.base / "input" / "config"
        config.mkdir(parents=True, exist_ok=True)
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
        (config / "hyperparameters.json").write_text(json.dumps(texts))

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*self.command, *arguments],
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SLIPSTREAM_"))},
                "OMP_NUM_THREADS": "1",
                "SAGEMAKER_BASE_DIR": str(self.base),
                **self.variables,
                **variables,
            },
            cwd=self.base,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return process

    def run(self, *arguments: str, **variables: str) -> tuple[int, str]:
        """(exit code, output)."""
        process = self.start(*arguments, **variables)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def attempt(self, **variables: str) -> Outcome:
        """The same without the processes, where they are not what is tested: importing torch takes seconds."""
        torch.set_num_threads(1)  # as OMP_NUM_THREADS above
        environment = Environment.read({"SAGEMAKER_BASE_DIR": str(self.base), **self.variables, **variables})
        return session.run(Hyperparameters.from_strings(environment.hyperparameters), environment, StopRequest())

    def hold_at(self, step: int) -> dict[str, str]:
        """Variables with which training stands still after `step`."""
        path = self.base / "hold.json"
        for old in self.base.glob("hold.json*"):
            old.unlink()
        path.write_text(json.dumps({"steps": [step]}))
        return {"SLIPSTREAM_HOLD": str(path)}

    def wait_for_hold(self, step: int) -> None:
        wait_until(lambda: _text(self.base / "hold.json.reached") == str(step), "the hold")

    @property
    def digest(self) -> str:
        """Of the last weights in the model's folder."""
        return weights_digest(read_tensors((self.base / "model" / "last.safetensors").read_bytes()))

    @property
    def failure(self) -> str:
        return (self.base / "output" / "failure").read_text()

    def clean_up(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
            if process.stdout:
                process.stdout.close()


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)


@pytest.fixture
def container(tmp_path: Path, prepared: Path, code_zip: Path) -> Iterator[Container]:
    """With the small data and hyperparameters, started from the zip as SageMaker does."""
    made = Container(tmp_path / "ml", [sys.executable, str(code_zip)])
    made.channels(prepared)
    made.hyperparameters(HYPERPARAMETERS)
    yield made
    made.clean_up()


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
