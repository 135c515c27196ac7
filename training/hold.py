"""Fault injection by the offline account: hold still after a given step until the fault has been acted out.

SLIPSTREAM_HOLD names a JSON file, `{"steps": [300], "oom_at": [50]}`. Without it a run pays one comparison per step.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from training.stop import StopRequest

__all__ = ["Hold"]

_POLL_S = 0.02


class Hold:
    """`step` is the next global optimizer step after whose completion `reach` has to be called."""

    def __init__(self, path: str | None, *, after: int, stop: StopRequest) -> None:
        self._path = Path(path) if path else None
        plan = json.loads(self._path.read_text()) if self._path and self._path.exists() else {}
        self._memory = set(plan.get("oom_at", []))
        self._steps = sorted(step for step in {*plan.get("steps", []), *self._memory} if step > after)
        self._stop = stop
        self._advance()

    def reach(self, step: int, flush: Callable[[], object]) -> None:
        """Make everything visible that is known (`flush`), say so, wait for a signal or the release."""
        self._advance()
        if step in self._memory:
            raise torch.cuda.OutOfMemoryError(f"CUDA out of memory (injected after step {step})")
        assert self._path is not None
        flush()
        sys.stdout.flush()
        self._sibling("reached").write_text(str(step))
        while not self._stop.requested and not self._released(step):
            time.sleep(_POLL_S)

    def _released(self, step: int) -> bool:
        try:
            return self._sibling("release").read_text().strip() == str(step)
        except OSError:
            return False

    def _sibling(self, suffix: str) -> Path:
        assert self._path is not None
        return self._path.with_name(f"{self._path.name}.{suffix}")

    def _advance(self) -> None:
        self.step = self._steps.pop(0) if self._steps else -1
