"""Raw data, recipe and channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.spec.rules.registry import Finding, error, rule, warning
from infra.spec.sections import Compute, Data
from training.config import ConfigError, NotYetAvailable, PrepareConfig

__all__ = ["config_path"]


def config_path(problem: ConfigError) -> tuple[str | int, ...]:
    """`training.config` names keys with dots; list positions are numbers there."""
    return tuple(int(part) if part.isdigit() else part for part in problem.key.split(".") if part)


@rule("prepare-recipe", source="slipstream: training.config.PrepareConfig")
def recipe_is_right(data: Data) -> Iterator[Finding]:
    """The recipe is read in the container, when a processing job has already been paid for."""
    recipe = data.recipe()
    if recipe is not None:
        for problem in PrepareConfig.check(recipe):
            if not isinstance(problem, NotYetAvailable):
                yield error("data", "prepare", *config_path(problem), message=problem.message)


@rule("channel-train", source="slipstream")
def there_is_something_to_learn(data: Data) -> Iterator[Finding]:
    """Validation decides which model is kept and when to stop; training data is what it is all about."""
    for name in ("train", "validation"):
        if name not in data.channels:
            yield error("data", "channels", name, message="is missing")


@rule("channel-test", source="slipstream")
def test_rows_exist(data: Data) -> Iterator[Finding]:
    """SageMaker refuses a job with a channel under whose prefix there are no objects."""
    split: Any = (data.recipe() or {}).get("split")
    if "test" in data.channels and isinstance(split, dict) and split.get("test") == 0:
        yield error("data", "channels", "test", message="has no rows: data.prepare.split.test is 0")


@rule("pipe-format", source="slipstream")
def pipe_needs_a_stream_format(data: Data) -> Iterator[Finding]:
    """Parquet keeps its table of contents at the end of the file; a pipe is read once, from the front."""
    recipe = data.recipe()
    if recipe is None or recipe.get("format", "parquet") != "parquet":
        return
    for name, channel in data.channels.items():
        if channel.mode == "pipe":
            yield error(
                "data",
                "channels",
                name,
                "mode",
                message="'pipe' cannot carry Parquet; write data.prepare.format: tfrecord, or use fast_file",
            )


@rule("sharded-hosts", source="API_S3DataSource S3DataDistributionType")
def sharding_needs_hosts(data: Data, compute: Compute) -> Iterator[Finding]:
    """ShardedByS3Key gives each host its share of the objects; one host gets them all anyway."""
    for name, channel in data.channels.items():
        if channel.distribution == "sharded" and compute.instance_count == 1:
            yield warning(
                "data",
                "channels",
                name,
                "distribution",
                message="'sharded' changes nothing with one instance; instance_count is 1",
            )
