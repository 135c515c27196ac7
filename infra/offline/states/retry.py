"""Which retrier takes an error, and after how long."""

from __future__ import annotations

import random
from collections.abc import Sequence

from infra.offline.states.errors import error_matches
from infra.offline.states.model import Retrier

__all__ = ["Retries"]


class Retries:
    """The retries of one visit to a state; every retrier counts its own attempts.

    Args:
        retriers: the state's `Retry`; the first that matches an error decides.
        draw: gives the random share of the delay for `JitterStrategy: FULL`.
    """

    def __init__(self, retriers: Sequence[Retrier], draw: random.Random) -> None:
        self._retriers = retriers
        self._used = [0] * len(retriers)
        self._draw = draw

    def delay(self, error: str) -> float | None:
        """Seconds until the next attempt after `error`, None when there is none left."""
        for index, retrier in enumerate(self._retriers):
            if error_matches(error, retrier.error_equals):
                if self._used[index] >= retrier.max_attempts:
                    return None
                delay = backoff(retrier, self._used[index])
                self._used[index] += 1
                return self._draw.uniform(0, delay) if retrier.full_jitter else delay
        return None


def backoff(retrier: Retrier, used: int) -> float:
    """Seconds before retry number `used` (from 0), without jitter."""
    try:
        delay = retrier.interval_s * retrier.backoff_rate**used
    except OverflowError:
        delay = float("inf")
    limit = retrier.max_delay_s if retrier.max_delay_s is not None else 99_999_999
    return min(delay, limit)
