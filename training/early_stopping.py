"""Stop when the watched metric has stopped improving.

The whole state travels in the checkpoint: a resumed run must neither forgive nor forget an epoch that the
interrupted one had counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from training.config import EarlyStoppingConfig

__all__ = ["EarlyStopping", "improves"]


@dataclass(frozen=True, kw_only=True)
class EarlyStopping:
    """State after some number of evaluations. Immutable: `update` returns the next one."""

    config: EarlyStoppingConfig
    best: float | None = None
    num_bad: int = 0

    @property
    def should_stop(self) -> bool:
        return self.num_bad >= self.config.patience

    def update(self, value: float) -> EarlyStopping:
        """Account for one evaluation. NaN and infinity count as no improvement: a diverged run must be able to stop."""
        if improves(value, self.best, mode=self.config.mode, min_delta=self.config.min_delta):
            return replace(self, best=value, num_bad=0)
        return replace(self, num_bad=self.num_bad + 1)


def improves(value: float, best: float | None, *, mode: Literal["min", "max"], min_delta: float = 0.0) -> bool:
    """Whether `value` is better than `best` (None: nothing yet) by more than `min_delta`. NaN or infinity never is."""
    if not math.isfinite(value):
        return False  # nor could progress.json hold it: JSON has no infinity
    if best is None:
        return True
    return value > best + min_delta if mode == "max" else value < best - min_delta
