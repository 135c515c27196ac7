"""An execution's events, in the shapes of GetExecutionHistory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from infra.offline.states.errors import RUNTIME, StatesError

__all__ = ["MAX_EVENTS", "History"]

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

    def add(self, kind: str, previous: int, details: tuple[str, dict[str, Any]] | None = None) -> int:
        """Append one event and return its id.

        Args:
            kind: `TaskScheduled`, ...
            previous: the id of the event that led to it, 0 for none.
            details: the member's name and its content, such as `("stateEnteredEventDetails", {...})`.

        Raises:
            StatesError: `States.Runtime`, the history is full.
        """
        if len(self.events) >= self._max_events - 1 and not self._closed:
            raise StatesError(
                RUNTIME, f"The execution reached the maximum number of history events ({self._max_events})."
            )
        return self._append(kind, previous, details)

    def finish(self, kind: str, details: tuple[str, dict[str, Any]]) -> None:
        """Append the event that ends the execution; nothing is taken after it."""
        self._append(kind, len(self.events), details)
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the execution has ended."""
        return self._closed

    def _append(self, kind: str, previous: int, details: tuple[str, dict[str, Any]] | None) -> int:
        if self._closed:  # tasks that unwind after an abort have nothing more to say
            return len(self.events)
        identifier = len(self.events) + 1
        event: Event = {"timestamp": self._now(), "type": kind, "id": identifier, "previousEventId": previous}
        if details is not None:
            event[details[0]] = details[1]
        self.events.append(event)
        return identifier
