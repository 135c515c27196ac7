"""The quality gate, and the metrics that a task reports."""

from __future__ import annotations

from collections.abc import Iterator

from infra.spec.problems import KeyPath
from infra.spec.rules.registry import Finding, error, rule
from infra.spec.sections import Data, QualityGate
from training.config import TASK_METRICS, metric_names

__all__ = ["check_metric"]


def check_metric(path: KeyPath, metric: str, task: str) -> Iterator[Finding]:
    """Bundled tasks say what they report; a task of the user's may report anything."""
    if task in TASK_METRICS and metric not in metric_names(task):
        yield error(
            *path, message=f"{metric!r} is not reported by task '{task}'; it reports {', '.join(metric_names(task))}"
        )


@rule("task-known", source="slipstream")
def task_exists(task: str) -> Iterator[Finding]:
    """A bare name means a bundled task; one's own is named with its module."""
    if ":" not in task and task not in TASK_METRICS:
        yield error(
            "task",
            message=f"{task!r} is not a bundled task ({', '.join(TASK_METRICS)}); write package.module:Class for a "
            "task in source_dir",
        )


@rule("gate-bound", source="slipstream")
def gate_has_one_bound(quality_gate: QualityGate | None) -> Iterator[Finding]:
    """A gate without a bound is always open; with two it is unclear which way is better."""
    if quality_gate is None:
        return
    bounds = [key for key in ("at_least", "at_most") if getattr(quality_gate, key) is not None]
    if not bounds:
        yield error("quality_gate", message="needs at_least or at_most")
    if len(bounds) == 2:
        yield error("quality_gate", "at_most", message="stands beside at_least; give one of the two")


@rule("gate-metric", source="slipstream")
def gate_metric_is_reported(quality_gate: QualityGate | None, task: str, data: Data) -> Iterator[Finding]:
    """A metric that never arrives would fail the run at its very end."""
    if quality_gate is None:
        return
    path = ("quality_gate", "metric")
    channel = quality_gate.metric.partition(":")[0]
    if channel == "train":
        yield error(
            *path, message=f"{quality_gate.metric!r} says how well the answers were learned by heart; use validation"
        )
        return
    yield from check_metric(path, quality_gate.metric, task)
    if channel == "test" and "test" not in data.channels:
        yield error(*path, message=f"{quality_gate.metric!r} needs a channel that is not there: data.channels.test")


@rule("notify-once", source="API_Subscribe (SNS)")
def addresses_differ(notify: tuple[str, ...]) -> Iterator[Finding]:
    """CloudFormation refuses a template with the same subscription twice."""
    for number, address in enumerate(notify):
        if address.lower() in [other.lower() for other in notify[:number]]:
            yield error("notify", number, message=f"{address!r} is in the list already")
