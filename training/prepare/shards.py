"""Frames -> Parquet shards, byte for byte the same whenever the rows are."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from training.config import PrepareConfig
from training.data.manifest import LABEL, CategoricalFeature, NumericFeature, Shard

__all__ = ["category_text", "fit_features", "write_shards"]

_SIGNIFICANT_DIGITS = 9
"""Statistics are rounded to these: the last bits of a sum differ between processors, and the data hash must not."""


def category_text(column: pd.Series[object]) -> pd.Series[str]:
    """Missing stays missing; a whole number that pandas had to make a float is written as one.

    For the whole column at once: a split without fractions would write 1 where another writes 1.0.
    """
    if column.dtype.kind == "f" and bool((column.dropna() % 1 == 0).all()):
        column = column.astype("Int64")
    return column.astype("string")


def fit_features(
    train: pd.DataFrame, config: PrepareConfig
) -> tuple[tuple[NumericFeature, ...], tuple[CategoricalFeature, ...]]:
    """Scales, imputed values and vocabularies, from the training rows alone."""
    numeric = tuple(_fit_numeric(name, train[name], config) for name in config.numeric)
    categorical = tuple(
        CategoricalFeature(name=name, vocabulary=_vocabulary(train[name], config.min_category_count))
        for name in config.categorical
    )
    return numeric, categorical


def write_shards(frame: pd.DataFrame, folder: Path, split: str, config: PrepareConfig) -> tuple[Shard, ...]:
    """`folder`/`split`/part-00000.parquet and so on, `config.shard_size` rows each."""
    (folder / split).mkdir(parents=True, exist_ok=True)
    table = _to_arrow(frame, config)
    shards = []
    for number, first in enumerate(range(0, table.num_rows, config.shard_size)):
        rows = table.slice(first, config.shard_size)
        name = f"{split}/part-{number:05d}.parquet"
        pq.write_table(rows, folder / name, compression="zstd", row_group_size=config.shard_size)
        data = (folder / name).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        shards.append(Shard(name=name, rows=rows.num_rows, size_bytes=len(data), sha256=digest))
    return tuple(shards)


def _fit_numeric(name: str, column: pd.Series[float], config: PrepareConfig) -> NumericFeature:
    values = pd.to_numeric(column).astype("float64")
    fallback = 0.0 if values.notna().sum() == 0 else float(values.mean())
    impute = float(values.median()) if config.missing.numeric == "median" and values.notna().any() else fallback
    filled = values.fillna(impute)
    spread = float(filled.std(ddof=0))
    return NumericFeature(
        name=name,
        mean=_rounded(float(filled.mean())),
        std=_rounded(spread) or 1.0,  # a constant column becomes 0, not a division by it
        impute=_rounded(impute),
    )


def _vocabulary(column: pd.Series[str], min_count: int) -> tuple[str, ...]:
    counts = category_text(column).value_counts()
    return tuple(sorted(counts[counts >= min_count].index))


def _to_arrow(frame: pd.DataFrame, config: PrepareConfig) -> pa.Table:
    columns = {
        name: pa.array(pd.to_numeric(frame[name]).astype("float64"), pa.float32(), from_pandas=True)
        for name in config.numeric
    }
    columns |= {
        name: pa.array(category_text(frame[name]), pa.string(), from_pandas=True) for name in config.categorical
    }
    columns[LABEL] = pa.array(frame[LABEL], pa.int8())
    return pa.table(columns)  # built by hand: pandas' own metadata would carry its version into the bytes


def _rounded(value: float) -> float:
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")
