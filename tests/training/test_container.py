"""The launcher, the rank and the signals, as real processes."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.conftest import HYPERPARAMETERS, ROOT, Container, wait_until
from training import session, train
from training.checkpoint import IdentityError
from training.config import Hyperparameters, metric_regex
from training.environment import Environment
from training.outcome import Outcome
from training.stop import StopRequest

TOTAL_STEPS = 60
INTERRUPTED_AT = 37


def digest(output: str) -> str:
    found = re.search(r"^slipstream weights_digest=([0-9a-f]{64})$", output, re.MULTILINE)
    assert found, output
    return found[1]


def last_line(output: str) -> str:
    return output.strip().splitlines()[-1]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, prepared: Path, code_zip: Path) -> str:
    """Output of a run from start to end."""
    made = Container(tmp_path_factory.mktemp("whole") / "ml", [sys.executable, str(code_zip)])
    made.channels(prepared)
    made.hyperparameters(HYPERPARAMETERS)
    code, output = made.run()
    assert code == 0, output
    assert last_line(output) == f"slipstream exit=0 step={TOTAL_STEPS} done"
    assert not (made.base / "output" / "failure").exists()
    assert {path.name for path in (made.base / "model").iterdir()} == {
        "model.safetensors",
        "last.safetensors",
        "config.json",
    }
    return output


def test_metrics_are_found_by_their_patterns(uninterrupted: str) -> None:
    for name in ("validation:auc", "validation:loss", "train:loss", "test:auc"):
        values = [float(value) for value in re.findall(metric_regex(name), uninterrupted)]
        assert values, name
        assert all(0 < value < 2 for value in values)


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory, prepared: Path, code_zip: Path) -> Container:
    """Ended by SIGTERM after step 37; its last line is its failure. Do not write there."""
    made = Container(tmp_path_factory.mktemp("interrupted") / "ml", [sys.executable, str(code_zip)])
    made.channels(prepared)
    made.hyperparameters(HYPERPARAMETERS)
    process = made.start(**made.hold_at(INTERRUPTED_AT))
    made.wait_for_hold(INTERRUPTED_AT)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 75, output
    assert last_line(output) == made.failure.splitlines()[0]
    return made


def continue_from(interrupted: Container, container: Container) -> None:
    shutil.copytree(interrupted.base / "checkpoints", container.base / "checkpoints")


def test_sigterm_saves_at_the_step_boundary_and_the_resume_is_bit_exact(
    container: Container, interrupted: Container, uninterrupted: str
) -> None:
    assert interrupted.failure.startswith(f"slipstream exit=75 step={INTERRUPTED_AT} SIGTERM")
    continue_from(interrupted, container)
    code, output = container.run()
    assert code == 0, output
    assert f"step={INTERRUPTED_AT} resumed, bit-exact" in output
    assert digest(output) == digest(uninterrupted)
    assert output.splitlines()[-3:] == uninterrupted.splitlines()[-3:]


def test_a_kill_without_warning_takes_the_rank_along_and_resumes_from_the_last_checkpoint(
    container: Container, uninterrupted: str, caplog: pytest.LogCaptureFixture
) -> None:
    process = container.start(**container.hold_at(30), SLIPSTREAM_CHECKPOINT='{"interval": 0.001}')
    container.wait_for_hold(30)
    (rank,) = children(process.pid)
    process.kill()
    process.wait()
    wait_until(lambda: not Path(f"/proc/{rank}").exists(), "the end of the rank")

    with caplog.at_level(logging.INFO):
        assert container.attempt().code == 0
    resumed = re.search(r"step=(\d+) resumed, bit-exact", caplog.text)
    assert resumed
    assert 0 < int(resumed[1]) <= 30
    assert container.digest == digest(uninterrupted)


def test_a_killed_rank_is_no_interruption_with_a_checkpoint(container: Container) -> None:
    process = container.start()
    wait_until(lambda: bool(children(process.pid)), "the rank")
    (rank,) = children(process.pid)
    os.kill(rank, signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 137, output
    assert "exit=137 a rank was ended by SIGKILL" in container.failure


def test_sigterm_while_importing_leaves_everything_untouched(container: Container) -> None:
    process = container.start()
    wait_until(lambda: bool(children(process.pid)), "the rank")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 75, output
    assert "nothing was learned yet" in last_line(output)
    assert not list((container.base / "checkpoints").glob("step-*"))


def test_a_changed_training_is_refused_and_a_changed_micro_batch_is_not(
    container: Container, interrupted: Container, caplog: pytest.LogCaptureFixture
) -> None:
    continue_from(interrupted, container)
    container.hyperparameters({**HYPERPARAMETERS, "learning_rate": 0.02})
    with pytest.raises(IdentityError, match=r"hyperparameters\.learning_rate: 0\.01 -> 0\.02"):
        container.attempt()
    container.hyperparameters(HYPERPARAMETERS)
    with caplog.at_level(logging.INFO):
        assert container.attempt(SLIPSTREAM_MICRO_BATCH_DIVISOR="2").code == 0
    assert f"step={INTERRUPTED_AT} resumed, order-exact micro_batch_size: 32 -> 16" in caplog.text


def test_an_error_of_the_code_is_said_once_and_is_no_interruption(container: Container) -> None:
    (container.base / "input" / "data" / "train" / "part-00000.parquet").unlink()
    code, output = container.run()
    assert code == 1
    first, *rest = container.failure.splitlines()
    assert first.startswith("slipstream exit=1 DataError: ")
    assert "part-00000.parquet is missing" in first
    assert any("Traceback" in line or "raise DataError" in line for line in rest)
    assert last_line(output) == first
    assert len(container.failure) <= 1024


def test_a_wrong_hyperparameter_is_named(container: Container) -> None:
    container.hyperparameters({**HYPERPARAMETERS, "learning_rat": 0.1})
    code, output = container.run()
    assert code == 1
    assert "hyperparameters.learning_rat: unknown key; did you mean 'learning_rate'?" in last_line(output)
    assert "Traceback" not in output


def test_a_diverged_run_keeps_its_last_good_checkpoint(container: Container) -> None:
    container.hyperparameters(
        {**HYPERPARAMETERS, "optimizer": "sgd", "learning_rate": 1e30, "schedule": "constant", "momentum": 0.0}
    )
    outcome = container.attempt(SLIPSTREAM_CHECKPOINT='{"interval": 0.001}')
    assert outcome.code == 77
    assert re.search(r"at step \d+; lower learning_rate", outcome.reason)
    kept = [int(path.name.removeprefix("step-")) for path in (container.base / "checkpoints").glob("step-*")]
    assert outcome.step == max(kept, default=0)


def test_out_of_memory_has_its_own_code(container: Container) -> None:
    hold = container.base / "hold.json"
    hold.write_text(json.dumps({"oom_at": [12]}))
    outcome = container.attempt(SLIPSTREAM_HOLD=str(hold), SLIPSTREAM_CHECKPOINT='{"interval": 0.001}')
    assert outcome.code == 76
    assert "out of memory" in outcome.reason
    assert outcome.step is not None
    assert 0 < outcome.step < 12
    assert (container.base / "checkpoints" / f"step-{outcome.step:08d}").exists()


def test_a_task_that_ends_the_process_has_not_ended_the_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(config: Hyperparameters, environment: Environment, stop: StopRequest) -> Outcome:
        sys.exit(0)

    monkeypatch.setattr(session, "run", run)
    monkeypatch.setattr(StopRequest, "listen", lambda self: self)
    monkeypatch.setattr(logging, "basicConfig", lambda **options: None)
    monkeypatch.setenv("SAGEMAKER_BASE_DIR", str(tmp_path))
    assert train.main() == 1
    assert (tmp_path / "output" / "failure").read_text() == "slipstream exit=1 SystemExit: 0\n"


def test_torch_2_0_has_no_cpu_backend_to_ask(container: Container, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.backends, "cpu")
    container.hyperparameters({**HYPERPARAMETERS, "epochs": 1})
    assert container.attempt().code == 0


def test_script_mode_runs_the_file_from_any_folder(container: Container, tmp_path: Path, uninterrupted: str) -> None:
    """As the SageMaker training toolkit does: unpacked, hyperparameters as arguments, no launcher, no SLIPSTREAM_*."""
    shutil.copytree(ROOT / "training", tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__"))
    container.command = [sys.executable, str(tmp_path / "code" / "train.py")]
    code, output = container.run("--epochs", "4", "--hidden_sizes", "(16,)")
    assert code == 0, output
    assert digest(output) == digest(uninterrupted)
    assert last_line(output) == f"slipstream exit=0 step={TOTAL_STEPS} done"


def test_sigterm_is_heard_before_the_launcher_is_read(tmp_path: Path) -> None:
    """Process 1 of a container without a handler does not even die of it: the warning would be lost."""
    code = """
import os, signal, sys

class Reclaim:
    def find_spec(self, name, path=None, target=None):
        if name == "training.launch":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Reclaim())
from training.__main__ import main
sys.exit(main(["train"]))
"""
    made = Container(tmp_path, [sys.executable, "-c", code], variables={"PYTHONPATH": str(ROOT)})
    code_returned, output = made.run()
    made.clean_up()
    assert code_returned == 75, output
    assert made.failure == "slipstream exit=75 SIGTERM before anything was started\n"


def test_the_launcher_imports_nothing_heavy() -> None:
    """Its signal handler has to be in place within milliseconds."""
    code = "import sys, training.launch; print(sorted({'torch', 'numpy', 'boto3', 'pandas'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"
