"""What the loop asks of a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.config import Hyperparameters, Metric

__all__ = ["Batch", "Channels", "Task"]

Batch = tuple[torch.Tensor, ...]
"""Tensors whose first dimension is the sample, so that any batch can be cut into micro-batches."""

Channels = Callable[[str], Path | None]
"""Name -> folder of an input channel, None where the job has none."""


class Task(ABC):
    """Data, model, loss and measures of one kind of learning. The loop owns everything else.

    Built once per process; reads its data in the constructor and draws no random number there.
    """

    primary_metric: Metric
    """By which the best model is kept when early stopping names no other, `validation:...`."""

    @abstractmethod
    def __init__(self, config: Hyperparameters, channels: Channels, device: torch.device) -> None: ...

    @property
    @abstractmethod
    def num_samples(self) -> int:
        """Training samples."""

    @property
    @abstractmethod
    def data_hash(self) -> str:
        """Content hash of the data, part of a checkpoint's identity."""

    @property
    @abstractmethod
    def splits(self) -> tuple[str, ...]:
        """Splits that `evaluate` knows, of validation and test."""

    @abstractmethod
    def build_model(self) -> nn.Module:
        """With fresh weights, drawn from torch's global generator."""

    @abstractmethod
    def batches(self, epoch: int, *, batch_size: int, start: int) -> Iterator[Batch]:
        """Batches of `epoch` on the device, from number `start` on: the same ones whenever they are asked for."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Mean over the batch's samples, a scalar with gradient."""

    @abstractmethod
    def evaluate(self, model: nn.Module, split: str) -> dict[str, float]:
        """Measures on a split, without its name; `model` is in evaluation mode and gradients are off."""

    @abstractmethod
    def model_config(self) -> Mapping[str, Any]:
        """JSON from which `load_model` builds the same module again."""

    @classmethod
    @abstractmethod
    def load_model(cls, config: Mapping[str, Any]) -> nn.Module:
        """Module for `model_config`, weights still to be loaded."""
