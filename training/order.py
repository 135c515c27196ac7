"""The order of samples: a function of (seed, epoch) and of nothing that an interruption could change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

__all__ = ["epoch_order", "num_steps", "ordered_batches"]

_BATCHES_PER_GATHER = 16
"""Gathering for many steps at once is cheaper than for each; more would cost memory and gain nothing."""


def epoch_order(num_samples: int, *, seed: int, epoch: int) -> torch.Tensor:
    """Permutation of `num_samples` indices (int64). Philox is counter-based: any epoch costs the same to reach."""
    generator = np.random.Generator(np.random.Philox(key=[seed, epoch]))
    return torch.from_numpy(generator.permutation(num_samples))


def num_steps(num_samples: int, batch_size: int) -> int:
    """Optimizer steps of one epoch; the last batch may be smaller, no sample is left out."""
    return -(-num_samples // batch_size)


def ordered_batches(
    tensors: tuple[torch.Tensor, ...], order: torch.Tensor, *, batch_size: int, start: int
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Batches of rows of `tensors` in `order`, from batch number `start` on: views, no copy and no worker each."""
    block = batch_size * _BATCHES_PER_GATHER
    order = order.to(tensors[0].device)
    for first in range(start * batch_size, len(order), block):
        rows = order[first : first + block]
        gathered = tuple(tensor.index_select(0, rows) for tensor in tensors)
        yield from zip(*(tensor.split(batch_size) for tensor in gathered), strict=True)
