from __future__ import annotations

from pathlib import Path

import pytest

from infra.spec import JobFileError, Problem, apply_overrides
from infra.spec.overrides import parse_key

from .jobs import FULL, LEAST, changed, write


def refused(path: Path, *settings: str) -> list[Problem]:
    with pytest.raises(JobFileError) as caught:
        apply_overrides(path, settings)
    return caught.value.problems


def test_settings_are_read_as_the_file_would_be(tmp_path: Path) -> None:
    job = apply_overrides(
        write(tmp_path, FULL),
        [
            "limits.deadline=18h",
            "hyperparameters.epochs=3",
            "hyperparameters.learning_rate=1e-3",
            "compute.pools[1].instance=ml.g5.4xlarge",
            "notify=[a@example.com, b@example.com]",
            "quality_gate.at_least = 0.7",
            "data.channels.train={mode: file}",
        ],
    )
    assert job.limits.deadline == 18 * 3600
    assert (job.hyperparameters["epochs"], job.hyperparameters["learning_rate"]) == (3, 1e-3)
    assert job.compute.pools[1].instance == "ml.g5.4xlarge"
    assert job.notify == ("a@example.com", "b@example.com")
    assert job.quality_gate is not None
    assert job.quality_gate.at_least == 0.7
    assert job.data.channels["train"].mode == "file"


def test_a_section_that_was_left_out_is_made(tmp_path: Path) -> None:
    job = apply_overrides(write(tmp_path, LEAST), ["checkpoint.interval=5m"])
    assert job.checkpoint.interval == 300


def test_the_last_setting_of_a_key_wins(tmp_path: Path) -> None:
    assert apply_overrides(write(tmp_path, LEAST), ["limits.deadline=1h", "limits.deadline=2h"]).limits.deadline == 7200


def test_problems_name_the_setting_or_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, changed({"limits": {"max_runtime": "30d"}}))
    found = refused(path, "checkpoint.keep=3", "limits.deadline=10", "framework.version=2.6")
    assert [(problem.file, problem.line, problem.key) for problem in found] == [
        ("--set", 2, "limits.deadline"),
        ("--set", 3, "framework.version"),
    ]
    assert str(found[0]).startswith("--set:2: limits.deadline: 10 has no unit")
    assert [problem.file for problem in refused(path, "limits.deadline=40d")] == [str(path)]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("limits.deadline", "is not key=value"),
        ("=5", "is not key=value"),
        ("a b=5", "is not key=value"),
        ("compute.pools[x]=5", "is not key=value"),
        ("compute.pools[7].market=spot", "there is no entry 7 to set"),
        ("name.first=x", "what is above it is not a section"),
        ("compute.pools.first=x", "what is above it is not a section"),
        ("name=[1", "is not valid YAML"),
        ("name=!!python/name:os.system x", "tag"),
        ('name="\\e[31m"', "is not allowed"),
        ("limits.dedline=5h", "unknown key; did you mean deadline?"),
    ],
)
def test_what_cannot_be_set(tmp_path: Path, setting: str, message: str) -> None:
    found = refused(write(tmp_path, LEAST), setting)
    assert [(problem.file, problem.line) for problem in found] == [("--set", 1)]
    assert message in found[0].message
    assert "\x1b" not in str(found[0])


def test_null_takes_a_value_back(tmp_path: Path) -> None:
    path = write(tmp_path, changed({"limits": {"deadline_at": "2026-12-01T18:00:00Z"}}))
    job = apply_overrides(path, ["limits.deadline_at=null", "limits.deadline=2h"])
    assert (job.limits.deadline, job.limits.deadline_at) == (7200, None)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b", ("a", "b")),
        ("compute.pools[1].instance", ("compute", "pools", 1, "instance")),
        ("a[0][2]", ("a", 0, 2)),
        ("a.b-c", ("a", "b-c")),
        ("a..b", None),
        ("a.", None),
        ("[0]", None),
        ("a[-1]", None),
        ("a[0]b", None),
    ],
)
def test_keys(text: str, path: tuple[str | int, ...] | None) -> None:
    assert parse_key(text) == path
