"""Which rows go to train, validation and test."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd

from training.config import SplitConfig
from training.data.manifest import DataError

__all__ = ["SPLITS", "split_rows"]

SPLITS = ("train", "validation", "test")


def split_rows(frame: pd.DataFrame, config: SplitConfig) -> dict[str, pd.DataFrame]:
    """Split -> its rows; by time in time's order, else in the order they came. Raises DataError for an empty one."""
    if config.by == "time":
        assert config.column is not None
        frame = frame.sort_values(config.column, kind="stable")
    position = _by_time(frame, config) if config.by == "time" else _by_hash(frame, config)
    names = SPLITS if config.test else SPLITS[:2]
    starts = [0.0, config.train, config.train + config.validation][: len(names)]
    ends = [*starts[1:], 2.0]  # beyond 1: the shares add up to it only nearly
    parts = {
        name: frame[(position >= low) & (position < high)].reset_index(drop=True)
        for name, low, high in zip(names, starts, ends, strict=True)
    }
    for name, part in parts.items():
        if part.empty:
            raise DataError(f"no row falls into {name!r}: {len(frame)} rows are too few to split by {config.by}")
    return parts


def _by_time(frame: pd.DataFrame, config: SplitConfig) -> pd.Series[float]:
    """Share of rows that are older. Rows of one moment are never parted, or one flight would tell of the other."""
    times = frame[config.column]
    if pd.api.types.infer_dtype(times, skipna=True) == "string":
        raise DataError(
            f"split.column: {config.column!r} is text such as {times.iloc[0]!r}, whose order is not that of time; "
            "write it as 2013-01-31T18:00:00"
        )
    return (times.rank(method="min") - 1) / len(frame)


def _by_hash(frame: pd.DataFrame, config: SplitConfig) -> pd.Series[float]:
    """A number in [0, 1) from the key's text alone: what else is in the table, and where, does not matter."""
    if config.column is not None and config.column not in frame.columns:
        raise DataError(f"split.column: no column {config.column!r}")
    columns = [config.column] if config.column else sorted(frame.columns)
    text = frame[columns[0]].astype(str)
    for name in columns[1:]:
        text = text + "\x1f" + frame[name].astype(str)
    digests = [hashlib.blake2b(key.encode(), digest_size=8).digest() for key in text]
    numbers = np.frombuffer(b"".join(digests), dtype="<u8")
    return pd.Series(numbers / 2.0**64, index=frame.index)
