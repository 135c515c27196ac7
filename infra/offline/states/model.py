"""A state machine as the interpreter holds it: every expression compiled, every default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from infra.offline.states.template import Template

__all__ = [
    "Block",
    "Catcher",
    "Choice",
    "ChoiceRule",
    "Fail",
    "Map",
    "Parallel",
    "Pass",
    "Retrier",
    "State",
    "Succeed",
    "Task",
    "Wait",
]

Assignments = Mapping[str, Template]


@dataclass(frozen=True, slots=True)
class Retrier:
    """One entry of `Retry`; intervals in seconds."""

    error_equals: tuple[str, ...]
    interval_s: float = 1
    max_attempts: int = 3
    backoff_rate: float = 2.0
    max_delay_s: float | None = None
    full_jitter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Catcher:
    """One entry of `Catch`."""

    error_equals: tuple[str, ...]
    next: str
    assign: Assignments
    output: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What all states have; `next` is None where the state ends its block."""

    type: ClassVar[str]
    name: str
    next: str | None = None
    assign: Assignments
    output: Template | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass(State):
    type = "Pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeed(State):
    type = "Succeed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(State):
    type = "Fail"
    error: Template | None
    cause: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(State):
    """Exactly one of the two is given; `timestamp` is ISO 8601 text."""

    type = "Wait"
    seconds: Template | None
    timestamp: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    condition: Template
    next: str
    assign: Assignments
    output: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(State):
    """`next` is the `Default`."""

    type = "Choice"
    rules: tuple[ChoiceRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resilient(State):
    """A state that may retry and catch."""

    retry: tuple[Retrier, ...] = ()
    catch: tuple[Catcher, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Resilient):
    type = "Task"
    resource: str
    arguments: Template | None
    timeout: Template | None
    heartbeat: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel(Resilient):
    type = "Parallel"
    branches: tuple[Block, ...]
    arguments: Template | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(Resilient):
    type = "Map"
    processor: Block
    items: Template | None
    item_selector: Template | None
    max_concurrency: Template | None
    tolerated_count: Template | None
    tolerated_percentage: Template | None


@dataclass(frozen=True, slots=True)
class Block:
    """States that run from `start_at` to an end: the machine itself, a branch of Parallel, the body of Map."""

    start_at: str
    states: Mapping[str, State]
