"""What validates today and is carried out later is refused before anything starts, at its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.spec import Job, load_job

from .jobs import FULL, LEAST, changed, write


def test_everything_at_once_at_its_line(tmp_path: Path) -> None:
    content = FULL.replace("  schedule: one_cycle\n", "  schedule: one_cycle\n  precision: bf16\n")
    job = load_job(write(tmp_path, content.replace("format: parquet", "format: tfrecord")))
    problems = job.unavailable()
    assert {(problem.key, content.splitlines()[problem.line - 1].strip().split(":")[0]) for problem in problems} == {
        ("compute.instance_count", "instance_count"),
        ("compute.distribution", "distribution"),
        ("tuning", "tuning"),
        ("data.channels.train.mode", "train"),
        ("data.prepare.format", "format"),
        ("hyperparameters.precision", "precision"),
    }
    assert all("not available yet" in problem.message for problem in problems)
    assert all(problem.severity == "error" for problem in problems)


def test_what_is_available_is_not_refused(tmp_path: Path) -> None:
    assert load_job(write(tmp_path, LEAST)).unavailable() == []


def test_ones_own_task_runs_and_prepared_data_come_later(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, changed({"task": "my.task:Task", "data.raw": "s3://bucket/prefix/"})))
    assert [problem.key for problem in job.unavailable()] == ["data.raw"]


@pytest.mark.parametrize(("instance", "refused"), [("ml.g5.2xlarge", False), ("ml.g5.12xlarge", True)])
def test_gpus_that_would_idle_are_refused(tmp_path: Path, instance: str, refused: bool) -> None:
    pools = {"compute.pools": [{"instance": instance, "market": "on_demand"}]}
    keys = [problem.key for problem in load_job(write(tmp_path, changed(pools))).unavailable()]
    assert keys == (["compute.pools[0].instance"] if refused else [])
    alone = load_job(write(tmp_path, changed({**pools, "compute.distribution": "none"})))
    assert alone.unavailable() == []  # one GPU is what it asks for


def test_a_job_that_came_from_no_file_names_itself() -> None:
    job = Job.model_validate_json(json.dumps(changed({"compute.distribution": "torchrun"})))
    assert [str(problem) for problem in job.unavailable()] == [
        "job least:1: compute.distribution: distribution 'torchrun' is not available yet; leave it out"
    ]
