"""The launcher's decisions, without processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.cgroup import available_cpus, oom_kills, threads_per_rank
from training.environment import Environment
from training.launch import rank_variables, verdict
from training.outcome import Outcome

SAID = Outcome(code=75, step=300, reason="SIGTERM; checkpoint of step 300 is on disk")


@pytest.mark.parametrize(
    ("returncode", "said", "stopping", "out_of_memory", "code"),
    [
        (0, Outcome(code=0, step=60, reason="done"), False, False, 0),
        (75, SAID, True, False, 75),
        (1, Outcome(code=1, step=None, reason="ValueError"), False, False, 1),
        (1, None, False, False, 1),  # died while importing
        (-9, None, False, False, 137),
        (-9, SAID, False, False, 75),  # hit when it had said everything
        (-15, Outcome(code=0, step=60, reason="done"), True, False, 0),
        (0, None, False, False, 1),  # sys.exit(0) somewhere in a task: not done
        (-9, None, False, True, 76),
        (-15, None, True, False, 75),
        (-15, None, False, False, 143),
        (-11, None, False, False, 139),
    ],
)
def test_verdict(returncode: int, said: Outcome | None, stopping: bool, out_of_memory: bool, code: int) -> None:
    assert verdict(returncode, said, stopping=stopping, out_of_memory=out_of_memory).code == code


def test_ranks_are_numbered_over_all_hosts() -> None:
    found = [
        rank_variables(("algo-1", "algo-2"), host, local_rank=local, ranks_per_host=2, master_port=7777)
        for host in ("algo-1", "algo-2")
        for local in (0, 1)
    ]
    assert [variables["RANK"] for variables in found] == ["0", "1", "2", "3"]
    assert {variables["WORLD_SIZE"] for variables in found} == {"4"}
    assert {variables["MASTER_ADDR"] for variables in found} == {"algo-1"}


@pytest.mark.parametrize(("cpus", "ranks", "threads"), [(8, 1, 8), (8, 3, 2), (1.5, 1, 1), (0.5, 1, 1), (2, 4, 1)])
def test_threads(cpus: float, ranks: int, threads: int) -> None:
    assert threads_per_rank(cpus, ranks) == threads


def test_cpus_by_quota(tmp_path: Path) -> None:
    everything = available_cpus(tmp_path)
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert available_cpus(tmp_path) == 0.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert available_cpus(tmp_path) == everything
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("25000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert available_cpus(tmp_path) == 0.25


def test_the_container_is_told_by_files_and_variables(tmp_path: Path) -> None:
    plain = Environment.read({"SAGEMAKER_BASE_DIR": str(tmp_path)})
    assert (plain.hosts, plain.task, plain.artifacts, plain.fence) == (("localhost",), "tabular", None, 0)
    assert plain.channel("train") is None
    assert Environment.read({}).checkpoint_dir == Path("/opt/ml/checkpoints")
    config = tmp_path / "input" / "config"
    config.mkdir(parents=True)
    (config / "resourceconfig.json").write_text('{"current_host": "algo-2", "hosts": ["algo-1", "algo-2"]}')
    (config / "hyperparameters.json").write_text('{"epochs": "3"}')
    told = Environment.read(
        {
            "SAGEMAKER_BASE_DIR": str(tmp_path),
            "SLIPSTREAM_CHECKPOINT": '{"interval": 30, "keep": 5}',
            "SM_CHANNEL_TRAIN": str(tmp_path),
        }
    )
    assert (told.current_host, told.hyperparameters) == ("algo-2", {"epochs": "3"})
    assert (told.checkpoint.interval, told.checkpoint.keep) == (30.0, 5)
    assert told.channel("train") == tmp_path


def test_kills_for_memory(tmp_path: Path) -> None:
    assert oom_kills(tmp_path) == 0
    (tmp_path / "memory.events").write_text("low 0\noom 3\noom_kill 2\n")
    assert oom_kills(tmp_path) == 2


def test_the_failure_file_fits_and_starts_with_the_line(tmp_path: Path) -> None:
    SAID.write_failure(tmp_path / "output" / "failure", [f"line {i} " + "x" * 90 for i in range(40)])
    text = (tmp_path / "output" / "failure").read_text()
    assert text.splitlines()[0] == "slipstream exit=75 step=300 SIGTERM; checkpoint of step 300 is on disk"
    assert text.splitlines()[-1].startswith("line 39")
    assert len(text) <= 1024


def test_a_failure_file_that_cannot_be_written_changes_no_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "output").write_text("in the way, as a full disk would be")
    SAID.write_failure(tmp_path / "output" / "failure")
    assert "failure could not be written" in capsys.readouterr().out


def test_an_outcome_survives_its_file(tmp_path: Path) -> None:
    SAID.write(tmp_path / "rank-0.json")
    assert Outcome.read(tmp_path / "rank-0.json") == SAID
    (tmp_path / "rank-0.json").write_text('{"code": 75')
    assert Outcome.read(tmp_path / "rank-0.json") is None
    assert Outcome.read(tmp_path / "none.json") is None
