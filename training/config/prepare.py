"""`data.prepare` of the job file: the recipe by which raw tables become training data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from training.config.base import Config, ConfigError

__all__ = ["DeriveConfig", "JoinConfig", "LabelConfig", "MissingConfig", "PrepareConfig", "SplitConfig"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelConfig(Config):
    """What is to be predicted. Rows without it are dropped."""

    column: str
    greater_than: float | None = None
    """Positive above this value; None: the column itself is 0 or 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinConfig(Config):
    """A second table, joined from the left: every row of the first stays, once."""

    source: str
    """File name (or pattern) among the raw data."""
    on: tuple[str, ...]
    columns: tuple[str, ...]
    prefix: str = ""
    """Put before the joined columns' names."""
    shift_hours: dict[str, int] = field(default_factory=dict)
    """Key of `on` that holds timestamps -> hours after which its row is known. What was observed between 10 and 11 and
    is filed under 10 may be used from 11 on: without the shift a feature looks past the moment of prediction."""

    def _rules(self) -> Iterator[ConfigError]:
        for key in sorted(self.shift_hours.keys() - set(self.on)):
            yield ConfigError(f"shift_hours.{key}", f"is not one of the keys of `on`: {', '.join(self.on)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class DeriveConfig(Config):
    """A new column from another one."""

    from_: str
    """Key `from`."""
    to: Literal["minute_of_day", "weekday", "day_of_year", "month"]
    """`minute_of_day` reads a clock time written as HHMM; the others read a timestamp."""
    timezone: str = "UTC"
    """Where the timestamp is looked at: a flight at 20:00 in New York is not tomorrow's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingConfig(Config):
    """What becomes of missing features."""

    numeric: Literal["median", "mean", "drop"] = "median"
    """Imputed from the training rows, or the row is dropped."""
    categorical: Literal["category", "drop"] = "category"
    """A category of its own, shared with values never seen in training, or the row is dropped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitConfig(Config):
    """Which rows go where; the same row always lands in the same split."""

    by: Literal["time", "hash"] = "hash"
    column: str | None = None
    """`time`: the timestamp, oldest rows first to train; `hash`: the key that is hashed (None: the whole row)."""
    train: float = 0.8
    validation: float = 0.1
    test: float = 0.1

    def _rules(self) -> Iterator[ConfigError]:
        shares = (self.train, self.validation, self.test)
        if self.train <= 0 or self.validation <= 0 or self.test < 0 or abs(sum(shares) - 1) > 1e-6:
            yield ConfigError("", f"shares {shares} must add up to 1, with some of train and of validation")
        if self.by == "time" and self.column is None:
            yield ConfigError("column", "is required to split by time")


@dataclass(frozen=True, kw_only=True, slots=True)
class PrepareConfig(Config):
    """The recipe. For flights (arrival more than 15 minutes late, from what is known before departure):

    source: flights.csv*
    joins:
      - {source: planes.csv*, on: [tailnum], columns: [year, seats, manufacturer, model, engine], prefix: plane_}
      - {source: weather.csv*, on: [origin, time_hour], columns: [temp, dewp, humid, wind_speed, precip, visib],
         shift_hours: {time_hour: 1}}
    derive:
      dep_minute: {from: sched_dep_time, to: minute_of_day}
      weekday: {from: time_hour, to: weekday, timezone: America/New_York}
    label: {column: arr_delay, greater_than: 15}
    numeric: [dep_minute, distance, plane_year, temp, ...]
    categorical: [carrier, origin, dest, weekday, plane_model, ...]
    split: {by: time, column: time_hour, train: 0.7, validation: 0.15, test: 0.15}
    shard_size: 50000
    """

    NOT_YET: ClassVar[Mapping[str, frozenset[str] | None]] = {"format": frozenset({"tfrecord"})}

    source: str
    """File name (or pattern) of the first table: .csv, .csv.zip, .csv.gz or .parquet."""
    label: LabelConfig
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    joins: tuple[JoinConfig, ...] = ()
    derive: dict[str, DeriveConfig] = field(default_factory=dict)
    deduplicate: bool = True
    """Rows that agree in every column of the first table are kept once."""
    min_category_count: int = 20
    """Categories rarer than this in training count as unseen."""
    missing: MissingConfig = MissingConfig()
    split: SplitConfig = SplitConfig()
    format: Literal["parquet"] = "parquet"
    shard_size: int = 50_000
    """Rows per file."""
    instance: str = "ml.m5.xlarge"
    """Instance type of the processing job."""

    def _rules(self) -> Iterator[ConfigError]:
        if not self.numeric and not self.categorical:
            yield ConfigError("numeric", "name at least one column under numeric or categorical")
        for name in sorted(set(self.numeric) & set(self.categorical)):
            yield ConfigError("categorical", f"{name!r} is under numeric as well")
        if self.label.column in {*self.numeric, *self.categorical}:
            yield ConfigError("label", f"{self.label.column!r} is a feature as well: the model would read the answer")
        for name, derive in self.derive.items():
            if derive.from_ == self.label.column and name in {*self.numeric, *self.categorical}:
                yield ConfigError(
                    f"derive.{name}", f"is a feature made from {derive.from_!r}: the model would read the answer"
                )
        if self.shard_size < 1:
            yield ConfigError("shard_size", f"{self.shard_size} must be 1 or more")
        if self.min_category_count < 1:
            yield ConfigError("min_category_count", f"{self.min_category_count} must be 1 or more")
