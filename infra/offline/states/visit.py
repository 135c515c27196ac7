"""One stay in one state: what it can see, what it may produce, and what history says of it.

Event ids, variables and the Map item belong to a *track*: the line of control of the machine, of one branch or of one
iteration.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from infra.offline.clock import Clock
from infra.offline.states.errors import DATA_LIMIT_EXCEEDED, QUERY_EVALUATION_ERROR, QueryEvaluationError, StatesError
from infra.offline.states.functions import Frame
from infra.offline.states.history import History, with_text
from infra.offline.states.model import State
from infra.offline.states.services import Services
from infra.offline.states.template import Template
from infra.offline.states.values import dumps, iso_time

__all__ = ["Data", "Execution", "Step", "Track", "Visit"]

MAX_PAYLOAD_BYTES: Final = 262_144

S = TypeVar("S", bound=State, covariant=True)


class Data(NamedTuple):
    """A payload and its JSON text: the output of one state is the input of the next, and is written once."""

    value: Any
    text: str


Step = tuple[Data, str | None]
"""A state's output and the next state's name, None at the end of the block."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What all visits of one execution share.

    Attributes:
        context: the context object without its `State` and `Map`.
        draw: where jitter comes from.
    """

    arn: str
    role_arn: str
    services: Services
    clock: Clock
    history: History
    context: Mapping[str, Any]
    draw: random.Random


@dataclass(slots=True)
class Track:
    """A line of control: its variables (a frame) and the last event on it."""

    scope: Any
    last_event: int
    map_item: Mapping[str, Any] | None = None

    def branch(self, map_item: Mapping[str, Any] | None = None) -> Track:
        """A line of control that starts here; it reads this one's variables and sets its own."""
        return Track(Frame(self.scope), self.last_event, map_item or self.map_item)


class Visit(Generic[S]):
    """A state entered with an input; creating it writes the event."""

    __slots__ = ("_entered_event", "_entered_time", "execution", "input", "retry_count", "state", "track")

    def __init__(self, execution: Execution, state: S, data: Data, track: Track) -> None:
        self.execution = execution
        self.state = state
        self.input = data
        self.track = track
        self.retry_count = 0
        self._entered_time = iso_time(execution.clock.now())
        details = {"name": state.name, **with_text("input", data.text)}
        self._entered_event = self.record(f"{state.type}StateEntered", "stateEnteredEventDetails", details)

    def scope(self, *, map_item: Mapping[str, Any] | None = None, **available: Any) -> Any:
        """The frame in which this state's expressions are evaluated.

        Args:
            map_item: the Map item to show in place of the track's own.
            available: further members of `$states`: `result` or `errorOutput`.
        """
        state = {"EnteredTime": self._entered_time, "Name": self.state.name, "RetryCount": self.retry_count}
        context: dict[str, Any] = {**self.execution.context, "State": state}
        item = map_item or self.track.map_item
        if item is not None:
            context["Map"] = {"Item": item}
        scope = Frame(self.track.scope)
        scope.bindings["states"] = {"input": self.input.value, "context": context, **available}
        return scope

    def leave(self, assign: Mapping[str, Template], output: Template | None, default: Data, **available: Any) -> Data:
        """Evaluate `Output` and `Assign`, both against the variables as they were, then set the variables.

        Raises:
            StatesError: an expression failed, or a value is too large.
        """
        scope = self.scope(**available) if assign or output else None
        data = default if output is None else self.limit(output.evaluate(scope))
        details = {"name": self.state.name, **with_text("output", data.text)}
        if assign:
            assigned = {name: template.evaluate(scope) for name, template in assign.items()}
            self.limit(assigned)
            details["assignedVariables"] = {name: dumps(value) for name, value in assigned.items()}
            details["assignedVariablesDetails"] = {"truncated": False}
            self.track.scope.bindings.update(assigned)
        self.record(f"{self.state.type}StateExited", "stateExitedEventDetails", details)
        return data

    def limit(self, value: Any) -> Data:
        """The value with its text.

        Raises:
            StatesError: `States.DataLimitExceeded`, it is longer than 256 KiB.
        """
        text = dumps(value)
        if len(text) > MAX_PAYLOAD_BYTES or len(text.encode()) > MAX_PAYLOAD_BYTES:
            raise StatesError(
                DATA_LIMIT_EXCEEDED,
                f"The state/task '{self.state.name}' returned a result with a size exceeding the maximum number of "
                "bytes service limit.",
            )
        return Data(value, text)

    def record(self, kind: str, member: str | None = None, details: Mapping[str, Any] | None = None) -> int:
        """Write an event on this visit's track and return its id."""
        track = self.track
        track.last_event = self.execution.history.add(kind, track.last_event, member, details)
        return track.last_event

    def evaluation_failed(self, error: QueryEvaluationError) -> StatesError:
        """Write the event of a failed expression; the error to go on with says in which state it was."""
        cause = self.in_state(error.cause)
        details = {"error": error.error, "cause": cause, "location": error.location, "state": self.state.name}
        self.record("EvaluationFailed", "evaluationFailedEventDetails", details)
        return StatesError(QUERY_EVALUATION_ERROR, cause)

    def in_state(self, cause: str) -> str:
        """A cause in the words with which AWS names the state."""
        return (
            f"An error occurred while executing the state '{self.state.name}' "
            f"(entered at the event id #{self._entered_event}). {cause}"
        )
