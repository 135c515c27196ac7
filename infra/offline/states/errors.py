"""Errors of the States Language: their names, which `Retry` and `Catch` reach, and what a definition gets wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

__all__ = [
    "ALL",
    "DATA_LIMIT_EXCEEDED",
    "EXCEED_TOLERATED_FAILURE_THRESHOLD",
    "HEARTBEAT_TIMEOUT",
    "MAX_CAUSE_CHARS",
    "NO_CHOICE_MATCHED",
    "QUERY_EVALUATION_ERROR",
    "RUNTIME",
    "TASK_FAILED",
    "TIMEOUT",
    "InvalidDefinition",
    "Problem",
    "QueryEvaluationError",
    "StatesError",
    "error_matches",
]

ALL: Final = "States.ALL"
DATA_LIMIT_EXCEEDED: Final = "States.DataLimitExceeded"
EXCEED_TOLERATED_FAILURE_THRESHOLD: Final = "States.ExceedToleratedFailureThreshold"
HEARTBEAT_TIMEOUT: Final = "States.HeartbeatTimeout"
NO_CHOICE_MATCHED: Final = "States.NoChoiceMatched"
QUERY_EVALUATION_ERROR: Final = "States.QueryEvaluationError"
RUNTIME: Final = "States.Runtime"
TASK_FAILED: Final = "States.TaskFailed"
TIMEOUT: Final = "States.Timeout"

MAX_CAUSE_CHARS: Final = 32_768
MAX_ERROR_CHARS: Final = 256

_TERMINAL = frozenset({RUNTIME, DATA_LIMIT_EXCEEDED})
_TIMEOUTS = frozenset({TIMEOUT, HEARTBEAT_TIMEOUT})


class StatesError(Exception):
    """A state failed.

    Args:
        error: the error's name, as `ErrorEquals` compares it (at most 256 characters).
        cause: text for people; cut at 32,768 characters as on AWS.
    """

    def __init__(self, error: str, cause: str = "") -> None:
        self.error = error[:MAX_ERROR_CHARS]
        self.cause = cause[:MAX_CAUSE_CHARS]
        super().__init__(f"{self.error}: {self.cause}" if self.cause else self.error)

    def output(self) -> dict[str, str]:
        """What a catcher sees as `$states.errorOutput`."""
        return {"Error": self.error, "Cause": self.cause}


class QueryEvaluationError(StatesError):
    """A JSONata expression failed, returned nothing, or returned a value of the wrong type.

    Args:
        cause: what happened, naming the expression and the field.
        location: the field within the state, such as `Output/total`.
    """

    def __init__(self, cause: str, location: str) -> None:
        super().__init__(QUERY_EVALUATION_ERROR, cause)
        self.location = location


def error_matches(error: str, error_equals: Sequence[str]) -> bool:
    """Whether a retrier or catcher with these `ErrorEquals` takes `error`.

    `States.ALL` takes everything but the terminal errors, `States.TaskFailed` everything but those and timeouts
    (developer guide, "Handling errors in Step Functions workflows").
    """
    if error == RUNTIME:
        return False
    if error in error_equals:
        return True
    if ALL in error_equals:
        return error not in _TERMINAL
    if error in _TIMEOUTS:
        return TIMEOUT in error_equals
    return TASK_FAILED in error_equals and error not in _TERMINAL


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a definition, shaped like a diagnostic of ValidateStateMachineDefinition.

    Attributes:
        code: `SCHEMA_VALIDATION_FAILED`, `MISSING_TRANSITION_TARGET`, ...
        message: what is wrong.
        location: JSON pointer into the definition.
    """

    code: str
    message: str
    location: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message} at {self.location or '/'}"


class InvalidDefinition(ValueError):  # noqa: N818 - AWS names it so
    """A definition that CreateStateMachine refuses; `problems` has every reason."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"Invalid State Machine Definition: '{', '.join(map(str, self.problems))}'")
