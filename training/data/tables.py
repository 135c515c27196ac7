"""Parquet shards -> tensors, scaled, imputed and numbered by the manifest. No pandas: columns stay columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch

from training.data.manifest import LABEL, CategoricalFeature, DataError, Manifest, NumericFeature, Shard

__all__ = ["Table", "encode", "read_split"]


@dataclass(frozen=True, kw_only=True)
class Table:
    """All rows of a split, in the shards' order."""

    numeric: torch.Tensor
    """float32 (N, numeric features), standardized."""
    categorical: torch.Tensor
    """int32 (N, categorical features), 0 = unseen or missing."""
    label: torch.Tensor
    """float32 (N)."""

    def __len__(self) -> int:
        return len(self.label)

    def to(self, device: torch.device) -> Table:
        """The whole split on `device`: rows of numbers are small beside what is computed from them."""
        return Table(
            numeric=self.numeric.to(device), categorical=self.categorical.to(device), label=self.label.to(device)
        )


def read_split(folder: Path, split: str, manifest: Manifest) -> Table:
    """The shards of one channel, each checked against the manifest. Raises DataError."""
    shards = manifest.splits.get(split, ())
    if not shards:
        raise DataError(f"the prepared data have no rows for {split!r}")
    columns = [*(f.name for f in manifest.numeric), *(f.name for f in manifest.categorical), LABEL]
    table = pa.concat_tables([_read_shard(folder, shard, columns) for shard in shards])
    numeric, categorical = encode(table, manifest.numeric, manifest.categorical)
    label = table[LABEL].to_numpy().astype(np.float32)
    return Table(numeric=numeric, categorical=categorical, label=torch.from_numpy(label))


def encode(
    table: pa.Table, numeric: Sequence[NumericFeature], categorical: Sequence[CategoricalFeature]
) -> tuple[torch.Tensor, torch.Tensor]:
    """(float32 (N, numeric), int32 (N, categorical)) of any table that has the features' columns."""
    numbers = np.empty((table.num_rows, len(numeric)), dtype=np.float32)
    for i, feature in enumerate(numeric):
        values = pc.fill_null(table[feature.name].cast(pa.float64()), feature.impute).to_numpy()
        numbers[:, i] = (values - feature.mean) / feature.std
    codes = np.empty((table.num_rows, len(categorical)), dtype=np.int32)
    for i, category in enumerate(categorical):
        text = table[category.name].cast(pa.string())
        found = pc.index_in(text, value_set=pa.array(category.vocabulary, pa.string()))
        codes[:, i] = pc.fill_null(found, -1).to_numpy() + 1
    return torch.from_numpy(numbers), torch.from_numpy(codes)


def _read_shard(folder: Path, shard: Shard, columns: list[str]) -> pa.Table:
    path = folder / Path(shard.name).name
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"{path} is missing, but the manifest lists it") from error
    if hashlib.sha256(data).hexdigest() != shard.sha256:
        raise DataError(f"{path} is not the file that was prepared ({len(data)} of {shard.size_bytes} bytes)")
    return pq.read_table(pa.BufferReader(data), columns=columns, use_threads=False)
