"""What SageMaker's tuner accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.spec.rules.quality import check_metric
from infra.spec.rules.registry import Finding, error, rule
from infra.spec.sections import Range, Tuning
from training.config import TASK_METRICS, Hyperparameters

_API = "API_HyperParameterTuningJobConfig"


@rule("tuning-range", source="API_ParameterRanges")
def ranges_are_ranges(tuning: Tuning | None) -> Iterator[Finding]:
    """A range has two ends in order, or a list of values; logarithmic scales need ends that have a logarithm."""
    for name, each in (tuning.ranges if tuning else {}).items():
        path = ("tuning", "ranges", name)
        if each.values is not None:
            if each.min is not None or each.max is not None:
                yield error(*path, message="has values beside min or max; give one or the other")
            elif len(set(map(repr, each.values))) < len(each.values):
                yield error(*path, "values", message="lists a value twice")
        elif each.min is None or each.max is None:
            yield error(*path, message="needs min and max, or values")
        elif each.min >= each.max:
            yield error(*path, "max", message=f"{each.max:g} is not above min {each.min:g}")
        else:
            yield from _scale_fits(path, each, each.min, each.max)


def _scale_fits(path: tuple[str, ...], each: Range, low: float, high: float) -> Iterator[Finding]:
    if each.scale == "log" and low <= 0:
        yield error(*path, "scale", message=f"'log' needs min above 0, not {low:g}")
    if each.scale == "reverse_log" and (low < 0 or high >= 1):
        yield error(*path, "scale", message="'reverse_log' needs min and max in [0, 1)")
    if each.scale == "reverse_log" and each.kind == "integer":
        yield error(*path, "scale", message="'reverse_log' is for continuous ranges")


@rule("tuning-grid", source=_API)
def grid_is_categorical(tuning: Tuning | None) -> Iterator[Finding]:
    """Grid tries every combination: AWS takes lists of values only, and no number of jobs."""
    if tuning is None or tuning.strategy != "grid":
        return
    if tuning.max_jobs is not None:
        yield error(
            "tuning", "max_jobs", message="is not for strategy 'grid', which tries every combination; leave it out"
        )
    for name, each in tuning.ranges.items():
        if each.values is None:
            yield error("tuning", "ranges", name, message="strategy 'grid' takes lists only: values: [...]")


@rule("tuning-jobs", source="API_ResourceLimits MaxNumberOfTrainingJobs")
def searches_are_bounded(tuning: Tuning | None) -> Iterator[Finding]:
    """All strategies but grid go on until they are told to stop."""
    if tuning is None or tuning.strategy == "grid":
        return
    if tuning.max_jobs is None:
        yield error("tuning", "max_jobs", message=f"is missing: strategy '{tuning.strategy}' has no end of its own")
    elif tuning.max_parallel_jobs > tuning.max_jobs:
        yield error(
            "tuning", "max_parallel_jobs", message=f"{tuning.max_parallel_jobs} is more than max_jobs {tuning.max_jobs}"
        )


@rule("tuning-hyperband", source=f"{_API} StrategyConfig")
def hyperband_stops_by_itself(tuning: Tuning | None, hyperparameters: dict[str, Any]) -> Iterator[Finding]:
    """Hyperband is an early-stopping strategy, and it deals out epochs."""
    if tuning is None or tuning.strategy != "hyperband":
        return
    if tuning.early_stopping != "off":
        yield error("tuning", "early_stopping", message="has to be off: strategy 'hyperband' stops trials itself")
    if "epochs" not in hyperparameters:
        yield error("hyperparameters", "epochs", message="is missing: strategy 'hyperband' deals out epochs")


@rule("tuning-names", source="slipstream: training.config.Hyperparameters")
def ranges_name_hyperparameters(tuning: Tuning | None, task: str) -> Iterator[Finding]:
    """A range over a name that the task does not read costs twenty identical trials."""
    if tuning is None or task not in TASK_METRICS:
        return
    for name, each in tuning.ranges.items():
        sample = each.values[0] if each.values else each.min
        for problem in Hyperparameters.check({name: sample}):
            if problem.key == name and problem.message.startswith("unknown"):
                yield error("tuning", "ranges", name, message=problem.message)


@rule("tuning-metric", source="slipstream")
def objective_is_reported(tuning: Tuning | None, task: str) -> Iterator[Finding]:
    """The tuner reads its objective from the log; one that is never printed fails every trial."""
    if tuning is not None:
        yield from check_metric(("tuning", "objective", "metric"), tuning.objective.metric, task)
