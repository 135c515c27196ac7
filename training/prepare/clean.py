"""Cleaning rules on frames: pure, each counting what it did for the quality report."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from training.config import DeriveConfig, JoinConfig, PrepareConfig
from training.data.manifest import LABEL, DataError

__all__ = ["CleanReport", "clean"]


@dataclass(kw_only=True)
class CleanReport:
    """Rows and values that the rules touched."""

    rows_in: int
    duplicates_removed: int = 0
    rows_without_label: int = 0
    rows_dropped_missing: int = 0
    rows_out: int = 0
    joined: dict[str, int] = field(default_factory=dict)
    """Rows for which the second table had a match, by source."""
    missing: dict[str, int] = field(default_factory=dict)
    """Missing values of each feature in the rows that stay."""


def clean(
    frame: pd.DataFrame, config: PrepareConfig, read_table: Callable[[str], pd.DataFrame]
) -> tuple[pd.DataFrame, CleanReport]:
    """Rows that are fit to learn from, with every feature, LABEL and the split's column.

    `read_table` gives the frame of a join's source. Raises DataError naming what is not there.
    """
    report = CleanReport(rows_in=len(frame))
    if config.deduplicate:
        kept = frame.drop_duplicates().reset_index(drop=True)
        report.duplicates_removed = len(frame) - len(kept)
        frame = kept
    _require(frame, [config.label.column], config.source)
    labelled = frame[frame[config.label.column].notna()].reset_index(drop=True)
    report.rows_without_label = len(frame) - len(labelled)
    frame = labelled
    for join in config.joins:
        frame, report.joined[join.source] = _join(frame, join, read_table(join.source))
    for name, derive in config.derive.items():
        _require(frame, [derive.from_], f"derive.{name}")
        frame[name] = _derive(frame[derive.from_], derive)
    _require(frame, [*config.numeric, *config.categorical], "the tables that were read and derived")
    for name in config.numeric:
        frame[name] = _numbers(frame[name], name)
    frame[LABEL] = _label(frame[config.label.column], config)
    frame = _drop_missing(frame, config, report)
    report.rows_out = len(frame)
    report.missing = {name: int(frame[name].isna().sum()) for name in (*config.numeric, *config.categorical)}
    return frame, report


def _join(frame: pd.DataFrame, join: JoinConfig, other: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    keys = list(join.on)
    _require(frame, keys, "the first table")
    _require(other, [*keys, *join.columns], join.source)
    # A second match would repeat the row: the first one wins, as in the file.
    other = other[[*keys, *join.columns]].dropna(subset=keys).drop_duplicates(keys)
    other = other.rename(columns={name: join.prefix + name for name in join.columns})
    for key in keys:
        if frame[key].dtype.kind != other[key].dtype.kind:
            raise DataError(f"{join.source}: {key!r} is {other[key].dtype}, but {frame[key].dtype} in the first table")
    for key, hours in join.shift_hours.items():
        other[key] = _hours_later(other[key], hours)
        frame[f"_{key}"] = _hours_later(frame[key], 0)
    left = [f"_{key}" if key in join.shift_hours else key for key in keys]
    joined = frame.merge(
        other.rename(columns=dict(zip(keys, left, strict=True))),
        on=left,
        how="left",
        indicator="_found",
        suffixes=("", f"_{join.source}"),
    )
    num_found = int((joined.pop("_found") == "both").sum())
    return joined.drop(columns=[f"_{key}" for key in join.shift_hours]), num_found


def _hours_later(column: pd.Series[Any], hours: int) -> pd.Series[Any]:
    try:
        return pd.to_datetime(column, utc=True) + pd.Timedelta(hours=hours)
    except (ValueError, TypeError) as error:
        raise DataError(f"column {column.name!r} cannot be shifted by hours: {error}") from error


def _derive(column: pd.Series[Any], derive: DeriveConfig) -> pd.Series[Any]:
    if derive.to == "minute_of_day":
        clock = _numbers(column, derive.from_)
        return clock // 100 * 60 + clock % 100
    local = pd.to_datetime(column, utc=True).dt.tz_convert(derive.timezone).dt
    return {
        "weekday": lambda: local.day_of_week,
        "day_of_year": lambda: local.day_of_year,
        "month": lambda: local.month,
    }[derive.to]()


def _numbers(column: pd.Series[Any], name: str) -> pd.Series[Any]:
    """Infinity is missing: one would make the mean, and with it every row, infinite."""
    numbers = pd.to_numeric(column, errors="coerce")
    strange = column[numbers.isna() & column.notna()]
    if len(strange):
        raise DataError(f"column {name!r} has {len(strange)} values that are no number, such as {strange.iloc[0]!r}")
    return numbers.replace([math.inf, -math.inf], math.nan)


def _label(column: pd.Series[Any], config: PrepareConfig) -> pd.Series[Any]:
    if config.label.greater_than is not None:
        return (_numbers(column, config.label.column) > config.label.greater_than).astype("int8")
    label = pd.to_numeric(column, errors="coerce")
    strange = sorted(set(label[~label.isin([0, 1])].astype(str)))[:3]
    if strange:
        raise DataError(f"label {config.label.column!r} has values other than 0 and 1: {', '.join(strange)} ...")
    return label.astype("int8")


def _drop_missing(frame: pd.DataFrame, config: PrepareConfig, report: CleanReport) -> pd.DataFrame:
    strict = [
        *(config.numeric if config.missing.numeric == "drop" else ()),
        *(config.categorical if config.missing.categorical == "drop" else ()),
        *([config.split.column] if config.split.column else ()),  # a row without it belongs to no split
    ]
    _require(frame, strict, "the tables that were read and derived")
    kept = frame.dropna(subset=strict).reset_index(drop=True)
    report.rows_dropped_missing = len(frame) - len(kept)
    return kept


def _require(frame: pd.DataFrame, columns: list[str], where: str) -> None:
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise DataError(
            f"{where}: no column {', '.join(map(repr, absent))}; there are {', '.join(map(str, frame.columns))}"
        )
