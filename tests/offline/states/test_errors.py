"""Which errors `ErrorEquals` takes."""

from __future__ import annotations

import pytest

from infra.offline.states.errors import Problem, StatesError, error_matches


@pytest.mark.parametrize(
    ("error", "error_equals", "taken"),
    [
        ("Mine", ["Mine"], True),
        ("Mine", ["Other", "Mine"], True),
        ("Mine", ["Other"], False),
        ("Mine", ["States.ALL"], True),
        ("Mine", ["States.TaskFailed"], True),
        ("States.TaskFailed", ["States.TaskFailed"], True),
        ("States.Timeout", ["States.ALL"], True),
        ("States.Timeout", ["States.Timeout"], True),
        ("States.Timeout", ["States.TaskFailed"], False),
        ("States.HeartbeatTimeout", ["States.HeartbeatTimeout"], True),
        ("States.HeartbeatTimeout", ["States.Timeout"], True),
        ("States.HeartbeatTimeout", ["States.TaskFailed"], False),
        ("States.QueryEvaluationError", ["States.ALL"], True),
        ("States.QueryEvaluationError", ["States.QueryEvaluationError"], True),
        ("States.Runtime", ["States.ALL"], False),
        ("States.Runtime", ["States.TaskFailed"], False),
        ("States.Runtime", ["States.Runtime"], False),
        ("States.DataLimitExceeded", ["States.ALL"], False),
        ("States.DataLimitExceeded", ["States.TaskFailed"], False),
        ("States.DataLimitExceeded", ["States.DataLimitExceeded"], True),
    ],
)
def test_error_equals(error: str, error_equals: list[str], taken: bool) -> None:
    assert error_matches(error, error_equals) is taken


def test_names_and_causes_are_cut_to_aws_s_lengths() -> None:
    error = StatesError("e" * 300, "c" * 40_000)
    assert (len(error.error), len(error.cause)) == (256, 32_768)


def test_a_problem_reads_as_aws_writes_it() -> None:
    problem = Problem("MISSING_TRANSITION_TARGET", "Missing 'Next' target: B", "/States/A/Next")
    assert str(problem) == "MISSING_TRANSITION_TARGET: Missing 'Next' target: B at /States/A/Next"
