"""Rules of fault injection: reading, matching, counting."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.offline.faults import AT_START, WHILE_RUNNING, Fault, FaultFileError, Faults, attempt_of, load_faults

RUNNING = ("interrupt", "kill", "stop")


def write(folder: Path, text: str) -> Path:
    path = folder / "faults.yaml"
    path.write_text(text)
    return path


def test_the_contract_example_loads(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
- {job: "flights-*", at_step: 300, do: interrupt}
- {job: "*", attempt: 1, do: capacity_error}
- {job: "*", attempt: 2, after_s: 5, do: kill}
- {do: throttle, times: 2}
- {do: quota}
- {do: internal_error}
- {do: stop}
- {do: sync_stall}
- {do: out_of_memory, at_step: 50}
""",
    )
    rules = load_faults(path)
    assert [rule.do for rule in rules] == [
        "interrupt", "capacity_error", "kill", "throttle", "quota", "internal_error", "stop", "sync_stall",
        "out_of_memory",
    ]  # fmt: skip
    assert rules[0] == Fault(do="interrupt", job="flights-*", at_step=300)
    assert rules[3].times == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- {do: explode}", 1, "must be one of interrupt, kill"),
        ("- {do: kill}\n- {job: x}", 2, "must be one of"),
        ("- {do: kill}\n- do: kill\n  at_stp: 3", 3, "no such key"),
        ("- {do: kill, at_step: 0}", 1, "whole number from 1"),
        ("- {do: kill, times: true}", 1, "whole number from 1"),
        ("- {do: kill, after_s: soon}", 1, "number of seconds"),
        ("- {do: kill, after_s: 1, at_step: 3}", 1, "not both"),
        ("- {do: throttle, at_step: 3}", 1, "when the job is created"),
        ("- {do: out_of_memory}", 1, "needs at_step"),
        ("- kill", 1, "a rule is a mapping"),
        ("do: kill", 1, "is a list of rules"),
        ("- {do: kill", 1, "not valid YAML"),
        ("", 1, ""),
    ],
)
def test_broken_files_are_refused_with_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(FaultFileError) as refused:
        load_faults(path)
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert words in str(refused.value)


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(FaultFileError) as refused:
        load_faults(write(tmp_path, "- {do: explode}\n- {do: kill, times: 0}\n"))
    assert [problem.line for problem in refused.value.problems] == [1, 2]


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FaultFileError, match="cannot be read"):
        load_faults(tmp_path / "nowhere.yaml")


def test_a_rule_survives_its_json_form() -> None:
    rule = Fault(do="kill", job="a-*", after_s=1.5, times=3)
    assert Fault.from_mapping(rule.to_mapping()) == rule
    with pytest.raises(ValueError, match="do"):
        Fault.from_mapping({"do": "nothing"})


@pytest.mark.parametrize(
    ("name", "attempt"), [("flights-1a2b3c4d-02", 2), ("flights-1a2b3c4d-117", 117), ("job", 1), ("flights-1a2b", 1)]
)
def test_the_attempt_is_the_end_of_the_name(name: str, attempt: int) -> None:
    assert attempt_of(name) == attempt


def test_the_first_rule_that_matches_and_is_not_spent_fires() -> None:
    faults = Faults([Fault(do="kill", job="b-*"), Fault(do="interrupt"), Fault(do="stop")])
    fired = [faults.take(RUNNING, "a-01", elapsed_s=0) for _ in range(3)]
    assert [rule.do if rule else None for rule in fired] == ["interrupt", "stop", None]
    assert faults.left() == [{"do": "kill", "job": "b-*", "times": 1}]


def test_times_counts_down() -> None:
    faults = Faults([Fault(do="throttle", times=2)])
    assert [faults.take(("throttle",), "a-01") is not None for _ in range(3)] == [True, True, False]


def test_a_rule_for_an_attempt_waits_for_it() -> None:
    faults = Faults([Fault(do="kill", attempt=2)])
    assert faults.take(RUNNING, "a-01", elapsed_s=9) is None
    assert faults.take(RUNNING, "a-02", elapsed_s=9) is not None


def test_a_step_fires_only_while_the_trainer_is_held_there() -> None:
    faults = Faults([Fault(do="kill", at_step=300)])
    assert faults.steps("a-01", RUNNING) == [300]
    assert faults.take(RUNNING, "a-01", elapsed_s=99) is None
    assert faults.take(RUNNING, "a-01", step=299) is None
    assert faults.take(RUNNING, "a-01", step=300) is not None
    assert faults.steps("a-01", RUNNING) == []


def test_without_a_time_missing_capacity_is_met_at_the_start_only() -> None:
    faults = Faults([Fault(do="capacity_error")])
    assert faults.take(WHILE_RUNNING, "a-01", elapsed_s=9) is None
    assert faults.take(AT_START, "a-01") is not None


def test_seconds_count_from_the_container_start() -> None:
    faults = Faults([Fault(do="kill", after_s=5)])
    assert faults.take(RUNNING, "a-01") is None
    assert faults.take(RUNNING, "a-01", elapsed_s=4.9) is None
    assert faults.take(RUNNING, "a-01", elapsed_s=5.0) is not None
