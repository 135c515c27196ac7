"""The losses of an epoch: their mean, and the step at which one was no number."""

from __future__ import annotations

import math
from typing import Any

import torch

__all__ = ["DivergedError", "LossTrace"]

_WINDOW = 64


class DivergedError(Exception):
    """Training has run away; the last good checkpoint stays."""

    def __init__(self, step: int, what: str) -> None:
        super().__init__(f"{what} at step {step}; lower learning_rate, warm up, or set max_grad_norm")
        self.step = step


class LossTrace:
    """Keeps losses on the device, reads them every 64th step: reading each would wait for an accelerator each time.

    The sum is folded at fixed counts, never because of a checkpoint, so that an interruption leaves no trace in it.
    """

    def __init__(self) -> None:
        self._total = 0.0
        self._count = 0
        self._recent: list[torch.Tensor] = []

    def add(self, loss: torch.Tensor, step: int) -> None:
        """`loss` of optimizer step number `step` (the first is 1). Raises DivergedError."""
        self._recent.append(loss)
        if len(self._recent) == _WINDOW:
            self.check(step)
            self._total += float(torch.stack(self._recent).double().sum())
            self._count += _WINDOW
            self._recent = []

    def check(self, step: int) -> None:
        """Raises DivergedError, naming the first of the losses up to `step` that is NaN or infinite."""
        if self._recent:
            finite = torch.isfinite(torch.stack(self._recent)).tolist()
            if not all(finite):
                raise DivergedError(step - len(finite) + 1 + finite.index(False), "the loss is NaN or infinite")

    def mean(self) -> float:
        """Mean over the steps, NaN for none."""
        recent = float(torch.stack(self._recent).double().sum()) if self._recent else 0.0
        count = self._count + len(self._recent)
        return (self._total + recent) / count if count else math.nan

    def state(self) -> dict[str, Any]:
        recent = torch.stack(self._recent) if self._recent else torch.empty(0)
        return {"total": self._total, "count": self._count, "recent": recent}

    @classmethod
    def of(cls, state: dict[str, Any], device: torch.device) -> LossTrace:
        trace = cls()
        trace._total, trace._count = state["total"], state["count"]
        trace._recent = list(state["recent"].to(device).unbind())
        return trace
