"""A task of one's own: logistic regression on prepared rows. docs/training.md walks through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from training.config import Hyperparameters, Metric
from training.data.manifest import MANIFEST, Manifest
from training.data.tables import Table, read_split
from training.metrics import auc
from training.order import epoch_order, ordered_batches
from training.tasks import Batch, Channels, Task

__all__ = ["Logistic"]


class Logistic(Task):
    """The numeric features alone: one weight each, and a bias."""

    primary_metric = Metric("validation:auc", "max")

    def __init__(self, config: Hyperparameters, channels: Channels, device: torch.device) -> None:
        folders = {name: channels(name) for name in ("manifest", "train", "validation", "test")}
        assert folders["manifest"] is not None, "the workflow gives every job the channel 'manifest'"
        self._seed = config.seed
        self._manifest = Manifest.read(folders.pop("manifest") / MANIFEST)
        self._tables: dict[str, Table] = {
            name: read_split(folder, name, self._manifest).to(device) for name, folder in folders.items() if folder
        }

    @property
    def num_samples(self) -> int:
        return len(self._tables["train"])

    @property
    def data_hash(self) -> str:
        return self._manifest.hash

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(name for name in self._tables if name != "train")

    def build_model(self) -> nn.Module:
        return self.load_model(self.model_config())

    def batches(self, epoch: int, *, batch_size: int, start: int) -> Iterator[Batch]:
        train = self._tables["train"]
        order = epoch_order(len(train), seed=self._seed, epoch=epoch)  # the same for this epoch whenever it is asked
        return ordered_batches((train.numeric, train.label), order, batch_size=batch_size, start=start)

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        numeric, label = batch
        return functional.binary_cross_entropy_with_logits(model(numeric).squeeze(1), label)

    def evaluate(self, model: nn.Module, split: str) -> dict[str, float]:
        table = self._tables[split]
        logits = model(table.numeric).squeeze(1)
        loss = functional.binary_cross_entropy_with_logits(logits.double(), table.label.double())
        return {"auc": auc(logits, table.label), "loss": float(loss)}

    def model_config(self) -> Mapping[str, Any]:
        return {"num_numeric": len(self._manifest.numeric)}

    @classmethod
    def load_model(cls, config: Mapping[str, Any]) -> nn.Module:
        return nn.Linear(config["num_numeric"], 1)
