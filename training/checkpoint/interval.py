"""When the next checkpoint is due. Time, not steps: interruptions come by the clock."""

from __future__ import annotations

import math
import time
from typing import Literal

__all__ = ["SaveTimer", "young_daly_s"]

MEAN_TIME_BETWEEN_INTERRUPTIONS_S = 4 * 3600.0
"""Spot of GPU types in a busy region; a steadier pool only makes the interval shorter than it need be, by its root."""
_SHORTEST_S, _LONGEST_S = 5.0, 600.0


def young_daly_s(cost_s: float, mean_time_between_interruptions_s: float) -> float:
    """Interval that loses least, sqrt(2 C M) (Young 1974; Daly 2006, first order), in seconds.

    `cost_s` is what the training loop loses to one checkpoint, not what the writer thread spends meanwhile.
    """
    return math.sqrt(2 * cost_s * mean_time_between_interruptions_s)


class SaveTimer:
    """`due` is when the next checkpoint is to be begun, by time.monotonic(); the caller tells the time."""

    def __init__(self, interval: float | Literal["auto"], *, now: float | None = None) -> None:
        self._interval = interval
        self._cost_s: float | None = None
        # An early first one: its cost sets the rest, and a container may not live long.
        self.due = (time.monotonic() if now is None else now) + min(self.interval_s, _SHORTEST_S)

    @property
    def interval_s(self) -> float:
        """Seconds between two checkpoints, by what is known so far."""
        if self._interval != "auto":
            return self._interval
        if self._cost_s is None:
            return _SHORTEST_S
        best = young_daly_s(self._cost_s, MEAN_TIME_BETWEEN_INTERRUPTIONS_S)
        return min(max(best, _SHORTEST_S), _LONGEST_S)

    def saved(self, now: float) -> None:
        """A checkpoint was begun at `now`."""
        self.due = now + self.interval_s

    def measured(self, cost_s: float) -> None:
        """What the loop lost to one; smoothed, since a cold file system is not the rule."""
        self._cost_s = cost_s if self._cost_s is None else 0.5 * (self._cost_s + cost_s)
