"""An execution's events, in the shapes of GetExecutionHistory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from infra.offline.states.errors import RUNTIME, StatesError

__all__ = ["MAX_EVENTS", "Event", "History", "error_details", "with_text"]

MAX_EVENTS: Final = 25_000

Event = dict[str, Any]


class History:
    """Events in order; ids count from 1, `timestamp` is in epoch seconds.

    Args:
        now: epoch seconds.
        max_events: the last of them is kept for the event that ends the execution.
    """

    def __init__(self, now: Callable[[], float], *, max_events: int = MAX_EVENTS) -> None:
        self.events: list[Event] = []
        self._now = now
        self._max_events = max_events
        self._closed = False

    def add(self, kind: str, previous: int, member: str | None = None, details: Mapping[str, Any] | None = None) -> int:
        """Append one event and return its id.

        Args:
            kind: `TaskScheduled`, ...
            previous: the id of the event that led to it, 0 for none.
            member: where the details stand in the event, such as `taskScheduledEventDetails`.

        Raises:
            StatesError: `States.Runtime`, the history is full.
        """
        if len(self.events) >= self._max_events - 1 and not self._closed:
            raise StatesError(
                RUNTIME, f"The execution reached the maximum number of history events ({self._max_events})."
            )
        return self._append(kind, previous, member, details)

    def finish(self, kind: str, member: str, details: Mapping[str, Any]) -> None:
        """Append the event that ends the execution; nothing is taken after it."""
        self._append(kind, len(self.events), member, details)
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the execution has ended."""
        return self._closed

    def _append(self, kind: str, previous: int, member: str | None, details: Mapping[str, Any] | None) -> int:
        if self._closed:  # tasks that unwind after an abort have nothing more to say
            return len(self.events)
        identifier = len(self.events) + 1
        event: Event = {"timestamp": self._now(), "type": kind, "id": identifier, "previousEventId": previous}
        if member is not None:
            event[member] = details
        self.events.append(event)
        return identifier


def with_text(member: str, text: str) -> dict[str, Any]:
    """A payload in an event's details, with the member that says it is whole."""
    return {member: text, f"{member}Details": {"truncated": False}}


def error_details(error: StatesError) -> dict[str, str]:
    """An error in an event's details."""
    return {"error": error.error, "cause": error.cause}
