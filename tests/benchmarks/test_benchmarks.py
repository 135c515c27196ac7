"""Benchmarks run, in small, and leave a record that can be read; how fast anything is, is not a test's business."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks import offline, step_cost
from benchmarks.record import RECORDS, in_order

Main = Callable[[list[str]], dict[str, Any]]

BENCHMARKS: dict[str, tuple[Main, list[str], set[str]]] = {
    "offline": (
        offline.main,
        ["--rounds", "1", "--turns", "20", "--decisions", "5"],
        {"up_s", "up_cpu_s", "idle_memory_mb", "down_s", "transitions_per_cpu_s", "decisions_per_cpu_s"},
    ),
    "step_cost": (
        step_cost.main,
        ["--rounds", "2", "--steps", "40"],
        {"ours_us_per_step", "loader_us_per_step", "bare_us_per_step", "ours_to_loader", "ours_to_bare"},
    ),
}


def check(record: dict[str, Any], figures: set[str]) -> None:
    assert record.keys() == {"date", "commit", "machine", "command", "figures"}
    assert datetime.fromisoformat(record["date"]).tzinfo is not None
    assert record["commit"]
    assert record["machine"].keys() == {"cpu", "cores", "load", "python", "libraries"}
    assert record["command"].startswith("python -m benchmarks.")
    assert record["figures"].keys() >= figures
    for values in record["figures"].values():
        assert values.keys() == {"median", "min", "max", "rounds"}
        assert 0 < values["min"] <= values["median"] <= values["max"]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs_and_appends_its_record(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main, sizes, figures = BENCHMARKS[name]
    (tmp_path / f"{name}.jsonl").write_text('{"earlier": true}\n')
    returned = main([*sizes, "--json", "--records", str(tmp_path)])
    check(returned, figures)
    assert json.loads(capsys.readouterr().out) == returned
    earlier, record = (json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines())
    assert (earlier, record) == ({"earlier": True}, returned)


@pytest.mark.parametrize("ledger", sorted(RECORDS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_ledger_is_well_formed(ledger: Path) -> None:
    for line in ledger.read_text(encoding="utf-8").splitlines():
        check(json.loads(line), set())


def test_every_arm_comes_first_in_its_turn() -> None:
    assert [in_order(["a", "b", "c"], number) for number in range(3)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
    ]
