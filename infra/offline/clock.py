"""Clocks: the same code runs by the wall clock, or through a year in milliseconds.

A clock's seconds are the seconds of its event loop: `asyncio.timeout`, `asyncio.wait_for` and `Clock.sleep` agree under
either clock, so nothing else needs to know which one drives it.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

__all__ = ["Clock", "RealClock", "VirtualClock"]

T = TypeVar("T")


class Clock(Protocol):
    """What the interpreter and the engine ask of time."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        ...

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """An event loop that keeps this clock's time."""
        ...


class RealClock:
    """The machine's own clock."""

    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.new_event_loop()


class VirtualClock:
    """A clock that stands still while anything runs and jumps to the next timer when everything sleeps.

    One clock drives one event loop. Work in other threads does not hold the time: keep services in-process.

    Args:
        start: seconds since the epoch at which time begins.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = float(start)

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Move time on; the loop calls it when all its tasks sleep."""
        self._now += seconds

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return _VirtualLoop(self)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end in virtual time (`asyncio.run` for this clock)."""
        with asyncio.Runner(loop_factory=self.new_event_loop) as runner:
            return runner.run(main)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        super().__init__(_JumpingSelector(clock))
        # A timer fires once it is due within the resolution; asyncio's nanosecond is lost in the digits of an epoch.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._clock.now()


class _JumpingSelector(selectors.DefaultSelector):
    """The loop selects with a timeout only when nothing is ready: instead of waiting that long, say it has passed."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # no timer either: only another thread can wake this loop
            return super().select(None)
        events = super().select(0)
        if not events and timeout > 0:
            self._clock.advance(timeout)
        return events
