"""The sections of a job file, one model each: what may be written, its units and its defaults.

A model checks one value at a time. What needs two values to be wrong together is a rule (`infra.spec.rules`), so that
the report names both.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from .examples import EXAMPLES, example_recipe
from .fields import S3_PREFIX_PATTERN, AwareDatetime, Choice, InstanceName, MetricName, Number, shown
from .units import DURATION_PATTERN, Duration, Size, Within, parse_duration

__all__ = [
    "Channel",
    "ChannelName",
    "Checkpoint",
    "Compute",
    "Data",
    "ExampleSource",
    "Framework",
    "Limits",
    "Market",
    "Objective",
    "Pool",
    "Prepare",
    "QualityGate",
    "Range",
    "S3Source",
    "Section",
    "Tuning",
]

Market = Literal["spot", "on_demand"]
ChannelName = Literal["train", "validation", "test"]

_GIB = 2**30
_DAY_S = 86_400


class Section(BaseModel):
    """Frozen, and strict about keys: a misspelt key that is silently ignored costs a training run."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class Framework(Section):
    """The AWS deep learning container that the job runs in."""

    name: Literal["pytorch"] = "pytorch"
    version: str = "2.6"
    """In quotes: `2.10` without them is the number 2.1."""


class S3Source(Section):
    """Raw data in a bucket of the user's."""

    uri: str


class ExampleSource(Section):
    """Raw data that ships in a Python package; the command line uploads it."""

    example: str


def _raw_source(value: object) -> object:
    if isinstance(value, (S3Source, ExampleSource)):
        return value
    if isinstance(value, str):
        if re.fullmatch(S3_PREFIX_PATTERN, value):
            return S3Source(uri=value)
        raise PydanticCustomError(
            "s3-uri",
            "{value} is not an S3 prefix such as s3://bucket/prefix/ (final '/', no wildcards, quotes or spaces)",
            {"value": shown(value)},
        )
    if isinstance(value, dict) and set(value) == {"example"} and value["example"] in EXAMPLES:
        return ExampleSource(example=value["example"])
    raise PydanticCustomError(
        "raw",
        "{value} is neither an S3 prefix such as s3://bucket/prefix/ nor {{example: {examples}}}",
        {"value": shown(value), "examples": " | ".join(EXAMPLES)},
    )


Raw = Annotated[
    S3Source | ExampleSource,
    BeforeValidator(_raw_source),
    WithJsonSchema(
        {
            "oneOf": [
                {"type": "string", "pattern": S3_PREFIX_PATTERN},
                {
                    "type": "object",
                    "properties": {"example": {"enum": list(EXAMPLES)}},
                    "required": ["example"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class Prepare(Section):
    """The processing job that cleans the raw data; keys beyond these are its recipe, defined by `training.config`."""

    model_config = ConfigDict(extra="allow")

    instance: InstanceName = "ml.m5.xlarge"
    volume_size: Annotated[Size, Within("1GiB", "16TiB")] = 30 * _GIB
    """Disk of the processing instance, for example 30GiB."""
    max_runtime: Annotated[Duration, Within("1s", "5d")] = 3_600.0
    """The processing job is stopped after this; AWS allows at most 5 days."""

    @property
    def recipe(self) -> dict[str, Any]:
        """The keys that prepare.py reads."""
        return dict(self.model_extra or {})


class Channel(Section):
    """How one part of the prepared data reaches the container."""

    mode: Literal["file", "fast_file", "pipe"] = "file"
    """file: copied before the start; fast_file: read from S3 on demand; pipe: streamed once per epoch."""
    distribution: Literal["replicated", "sharded"] = "replicated"
    """replicated: every host gets all objects; sharded: each host its share."""


class Data(Section):
    """Where the data come from and how they reach the container."""

    raw: Raw
    """`s3://bucket/prefix/` or `{example: nycflights13}`."""
    prepare: Prepare = Prepare()
    channels: dict[ChannelName, Channel]

    def recipe(self) -> dict[str, Any] | None:
        """What prepare.py does: the job's own keys over the example's. None: the data are prepared already."""
        given = self.prepare.recipe
        if isinstance(self.raw, ExampleSource):
            return {**example_recipe(self.raw.example), **given}
        return given or None


class Pool(Section):
    """One rung of the ladder: an instance type in one market."""

    instance: InstanceName
    market: Market


class Compute(Section):
    """What the job runs on."""

    instance_count: Annotated[int, Field(ge=1, le=256)] = 1
    distribution: Literal["auto", "none", "torchrun", "smddp", "smp"] = "auto"
    """How ranks are started and talk to each other; auto chooses by instance type and count, and says why."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=20)]
    """Tried in order; lack of capacity or quota moves on to the next."""
    volume_size: Annotated[Size, Within("1GiB", "16TiB")] = 30 * _GIB
    """Disk of each instance, for example 30GiB. Types with NVMe use that instead."""


class Limits(Section):
    """What the run may use up. Durations have units; the model holds seconds."""

    deadline: Annotated[Duration, Within("1s", "365d")] | None = None
    """The run is to be done this long after its execution starts."""
    deadline_at: AwareDatetime | None = None
    """The same as a point in time, with its offset from UTC."""
    max_runtime: Annotated[Duration, Within("1s", "365d")] = 86_400.0
    """Longest time one training job may run, start-up included."""
    max_cost_usd: Annotated[float, Field(gt=0, le=1e7)] | None = None
    """The run is stopped when its jobs have cost this much."""
    attempts_without_progress: Annotated[int, Field(ge=1, le=100)] = 3
    """The run is given up after this many attempts in a row that left no new checkpoint."""


def _interval(value: object) -> float | str:
    if value == "auto":
        return "auto"
    seconds = parse_duration(value)
    if not 0.1 <= seconds <= _DAY_S:
        raise PydanticCustomError("within", "must be between 0.1s and 1d, or auto")
    return seconds


class Checkpoint(Section):
    """How often the state is saved, and how much of it is kept."""

    interval: Annotated[
        float | Literal["auto"],
        BeforeValidator(_interval),
        WithJsonSchema({"anyOf": [{"const": "auto"}, {"type": "string", "pattern": DURATION_PATTERN}]}),
    ] = "auto"
    """A duration, or `auto`: from the measured cost of saving and the rate of interruptions."""
    keep: Annotated[int, Field(ge=2, le=1000)] = 3
    """Verified checkpoints that are kept. With one alone there would be nothing to fall back to when it is torn."""


class Objective(Section):
    """What the tuner looks at."""

    metric: MetricName
    goal: Literal["maximize", "minimize"]


class Range(Section):
    """What one hyperparameter may become: from `min` to `max`, or one of `values`."""

    min: Number | None = None
    max: Number | None = None
    scale: Literal["auto", "linear", "log", "reverse_log"] = "auto"
    values: Annotated[tuple[Choice, ...], Field(min_length=1, max_length=30)] | None = None

    @property
    def kind(self) -> Literal["integer", "continuous", "categorical"]:
        """AWS's three: whole numbers at both ends make a range an integer one."""
        if self.values is not None:
            return "categorical"
        return "integer" if isinstance(self.min, int) and isinstance(self.max, int) else "continuous"


class Tuning(Section):
    """A search over hyperparameters, run as a SageMaker tuning job."""

    strategy: Literal["bayesian", "random", "grid", "hyperband"] = "bayesian"
    max_jobs: Annotated[int, Field(ge=1)] | None = None
    """Not for grid, which tries every combination."""
    max_parallel_jobs: Annotated[int, Field(ge=1)] = 1
    objective: Objective
    ranges: Annotated[dict[str, Range], Field(min_length=1, max_length=30)]
    """By hyperparameter. A range takes the place of the value under `hyperparameters`."""
    early_stopping: Literal["auto", "off"] = "off"
    """auto: AWS stops trials that are unlikely to win."""


class QualityGate(Section):
    """The model is published only when it is good enough. Give one of the two bounds."""

    metric: MetricName
    at_least: Number | None = None
    at_most: Number | None = None
