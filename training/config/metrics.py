"""The names under which quality is reported, and the pattern by which SageMaker finds them in the log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["TASK_METRICS", "Metric", "metric_names", "metric_regex", "primary_metric"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One quantity a task measures on a split."""

    name: str
    mode: Literal["min", "max"]


TASK_METRICS: dict[str, tuple[Metric, ...]] = {
    "tabular": (Metric("auc", "max"), Metric("accuracy", "max"), Metric("loss", "min")),
}
"""Per bundled task, the first being the one by which the best model is chosen unless early stopping names another."""


def metric_names(task: str) -> tuple[str, ...]:
    """All names that a run of the bundled `task` may report; `test:*` only when there is a test channel."""
    reported = TASK_METRICS[task]
    return ("train:loss", *(f"{split}:{metric.name}" for split in ("validation", "test") for metric in reported))


def primary_metric(task: str) -> Metric:
    """By what the best model is chosen, as `validation:<name>`, unless early stopping watches another metric."""
    first = TASK_METRICS[task][0]
    return Metric(f"validation:{first.name}", first.mode)


def metric_regex(name: str) -> str:
    """Pattern for `MetricDefinitions` that finds `name` in the lines train.py prints, its value in group 1."""
    return rf"slipstream .*\b{re.escape(name)}=([-+0-9.eE]+)"
