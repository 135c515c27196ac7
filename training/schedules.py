"""Learning rate as a pure function of the optimizer step: nothing to save, nothing to resume, never one epoch late."""

from __future__ import annotations

import math
from collections.abc import Callable

from training.config import Hyperparameters

__all__ = ["learning_rates", "scaled_learning_rate"]

ONE_CYCLE_WARM_UP = 0.3
ONE_CYCLE_START = 25.0
"""Share of the steps that climb, and peak over start, of Smith's one-cycle policy as torch has it."""


def learning_rates(config: Hyperparameters, *, total_steps: int) -> Callable[[int], float]:
    """Learning rate for step 0, 1, ... `total_steps` - 1 (the step about to be taken)."""
    peak = scaled_learning_rate(config)
    shape = _SHAPES[config.schedule](config, max(1, total_steps - config.warmup_steps))

    def at(step: int) -> float:
        if step < config.warmup_steps:
            return peak * (step + 1) / config.warmup_steps
        return peak * shape(step - config.warmup_steps)

    return at


def scaled_learning_rate(config: Hyperparameters) -> float:
    """Peak learning rate for the global batch: linear keeps the noise of SGD's steps (Goyal et al. 2017), the square
    root that of Adam's (Krizhevsky 2014)."""
    ratio = config.global_batch_size / config.base_batch_size
    factor = {"none": 1.0, "linear": ratio, "sqrt": math.sqrt(ratio)}[config.learning_rate_scaling]
    return config.learning_rate * factor


def _constant(config: Hyperparameters, steps: int) -> Callable[[int], float]:
    return lambda step: 1.0


def _step(config: Hyperparameters, steps: int) -> Callable[[int], float]:
    every = config.decay_every_steps or max(1, steps // 3)
    return lambda step: config.decay_factor ** (step // every)


def _exponential(config: Hyperparameters, steps: int) -> Callable[[int], float]:
    return lambda step: config.decay_factor ** (step / steps)


def _cosine(config: Hyperparameters, steps: int) -> Callable[[int], float]:
    return lambda step: _anneal(1.0, config.final_learning_rate, step / steps)


def _one_cycle(config: Hyperparameters, steps: int) -> Callable[[int], float]:
    top = max(1, round(ONE_CYCLE_WARM_UP * steps))

    def at(step: int) -> float:
        if step < top:
            return _anneal(1 / ONE_CYCLE_START, 1.0, step / top)
        return _anneal(1.0, config.final_learning_rate, (step - top) / max(1, steps - top))

    return at


def _anneal(start: float, end: float, share: float) -> float:
    """Half a cosine from `start` to `end` while `share` goes from 0 to 1."""
    return end + (start - end) * (1 + math.cos(math.pi * min(share, 1.0))) / 2


_SHAPES = {
    "constant": _constant,
    "step": _step,
    "exponential": _exponential,
    "cosine": _cosine,
    "one_cycle": _one_cycle,
}
