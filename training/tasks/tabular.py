"""Binary classification of rows: an embedding per category, numbers as they are, a multilayer perceptron."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from training.config import Hyperparameters, primary_metric
from training.data.manifest import MANIFEST, DataError, Manifest
from training.data.tables import Table, read_split
from training.metrics import accuracy, auc
from training.order import epoch_order, ordered_batches
from training.tasks.base import Batch, Channels, Task

__all__ = ["Tabular", "TabularModel"]

_EVALUATION_ROWS = 16_384
"""Per forward pass: enough to keep the cores busy, little enough for any memory."""


class TabularModel(nn.Module):
    """`cardinalities` counts the values of each category, 0 (unseen) included. Returns logits (N)."""

    def __init__(
        self,
        *,
        num_numeric: int,
        cardinalities: Sequence[int],
        max_embedding_size: int,
        hidden_sizes: Sequence[int],
        dropout: float,
    ) -> None:
        super().__init__()
        sizes = [min(max_embedding_size, math.ceil(math.sqrt(count))) for count in cardinalities]
        embeddings = [nn.Embedding(count, size) for count, size in zip(cardinalities, sizes, strict=True)]
        for embedding in embeddings:
            nn.init.normal_(embedding.weight, std=0.05)  # unit variance would drown the numeric features at first
        self.embeddings = nn.ModuleList(embeddings)
        width = num_numeric + sum(sizes)
        layers: list[nn.Module] = []
        for size in hidden_sizes:
            layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
            width = size
        self.layers = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, numeric: torch.Tensor, categorical: torch.Tensor) -> torch.Tensor:
        looked_up = [embedding(codes) for embedding, codes in zip(self.embeddings, categorical.unbind(1), strict=True)]
        logits: torch.Tensor = self.layers(torch.cat([numeric, *looked_up], dim=1))
        return logits.squeeze(1)


class Tabular(Task):
    """Reads the channels train, validation and (optional) test, and the manifest that describes them."""

    primary_metric = primary_metric("tabular")

    def __init__(self, config: Hyperparameters, channels: Channels, device: torch.device) -> None:
        self._config = config
        folders = {split: channels(split) for split in ("train", "validation", "test")}
        manifest_folder = channels("manifest")
        for name, folder in {**folders, "manifest": manifest_folder}.items():
            if folder is None and name != "test":
                raise DataError(f"the job has no input channel {name!r}, which the tabular task reads")
        assert manifest_folder is not None
        self._manifest = Manifest.read(manifest_folder / MANIFEST)
        self._tables = {
            split: read_split(folder, split, self._manifest).to(device)
            for split, folder in folders.items()
            if folder is not None
        }

    @property
    def num_samples(self) -> int:
        return len(self._tables["train"])

    @property
    def data_hash(self) -> str:
        return self._manifest.hash

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(split for split in self._tables if split != "train")

    def build_model(self) -> nn.Module:
        return self.load_model(self.model_config())

    def batches(self, epoch: int, *, batch_size: int, start: int) -> Iterator[Batch]:
        table = self._tables["train"]
        order = epoch_order(len(table), seed=self._config.seed, epoch=epoch)
        return ordered_batches(_tensors(table), order, batch_size=batch_size, start=start)

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        numeric, categorical, label = batch
        smoothing = self._config.label_smoothing
        target = label * (1 - smoothing) + smoothing / 2 if smoothing else label
        return functional.binary_cross_entropy_with_logits(model(numeric, categorical), target)

    def evaluate(self, model: nn.Module, split: str) -> dict[str, float]:
        table = self._tables[split]
        parts = zip(*(tensor.split(_EVALUATION_ROWS) for tensor in _tensors(table)), strict=True)
        logits = torch.cat([model(numeric, categorical) for numeric, categorical, _ in parts])
        return {
            "auc": auc(logits, table.label),
            "accuracy": accuracy(logits, table.label),
            "loss": float(functional.binary_cross_entropy_with_logits(logits.double(), table.label.double())),
        }

    def model_config(self) -> Mapping[str, Any]:
        return {
            "features": self._manifest.features(),
            "max_embedding_size": self._config.max_embedding_size,
            "hidden_sizes": list(self._config.hidden_sizes),
            "dropout": self._config.dropout,
        }

    @classmethod
    def load_model(cls, config: Mapping[str, Any]) -> nn.Module:
        features = Manifest.parse_features(config["features"])
        return TabularModel(
            num_numeric=len(features["numeric"]),
            cardinalities=[len(feature.vocabulary) + 1 for feature in features["categorical"]],
            max_embedding_size=config["max_embedding_size"],
            hidden_sizes=config["hidden_sizes"],
            dropout=config["dropout"],
        )


def _tensors(table: Table) -> Batch:
    return table.numeric, table.categorical, table.label
