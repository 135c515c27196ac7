"""`checkpoint` of the job file, durations already in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from training.config.base import Config, ConfigError

__all__ = ["CheckpointConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointConfig(Config):
    """When a checkpoint is written and how many are kept. SIGTERM and the end of training save besides."""

    interval: float | Literal["auto"] = "auto"
    """Seconds between two; `auto`: by Young and Daly from the measured cost of one."""
    keep: int = 3
    """Verified checkpoints that stay."""

    def _rules(self) -> Iterator[ConfigError]:
        if self.keep < 2:
            yield ConfigError(
                "keep",
                f"{self.keep} is too few: the newest may be half uploaded when the instance is lost, so its "
                "predecessor must stay; use 2 or more",
            )
        if self.interval != "auto" and self.interval <= 0:
            yield ConfigError("interval", f"{self.interval:g} s is not a time between checkpoints; use 'auto'")
