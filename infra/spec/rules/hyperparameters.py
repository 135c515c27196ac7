"""Hyperparameters: the task's own rules, and what fits into AWS's request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from infra.spec.rules.data import config_path
from infra.spec.rules.quality import check_metric
from infra.spec.rules.registry import Finding, error, rule
from training.config import Hyperparameters, NotYetAvailable

_MAX_COUNT, _MAX_KEY, _MAX_VALUE = 100, 256, 2500


@rule("hyperparameters", source="slipstream: training.config.Hyperparameters")
def hyperparameters_are_right(hyperparameters: dict[str, Any]) -> Iterator[Finding]:
    """The container reads them by the same definitions, whatever the task, when an instance has been paid for."""
    for problem in Hyperparameters.check(hyperparameters):
        if not isinstance(problem, NotYetAvailable):
            yield error("hyperparameters", *config_path(problem), message=problem.message)


@rule("early-stopping-metric", source="slipstream")
def early_stopping_metric_is_reported(hyperparameters: dict[str, Any], task: str) -> Iterator[Finding]:
    """Early stopping on a metric that never arrives never stops."""
    early_stopping = hyperparameters.get("early_stopping")
    if isinstance(early_stopping, dict) and isinstance(metric := early_stopping.get("metric"), str):
        yield from check_metric(("hyperparameters", "early_stopping", "metric"), metric, task)


@rule("hyperparameters-fit", source="API_AlgorithmSpecification HyperParameters")
def hyperparameters_fit(hyperparameters: dict[str, Any]) -> Iterator[Finding]:
    """CreateTrainingJob takes at most 100 hyperparameters of 256 and 2,500 characters."""
    if len(hyperparameters) > _MAX_COUNT:
        yield error("hyperparameters", message=f"has {len(hyperparameters)} keys; AWS takes at most {_MAX_COUNT}")
    for key, value in hyperparameters.items():
        length = len(value if isinstance(value, str) else json.dumps(value, separators=(",", ":")))
        if len(key) > _MAX_KEY or length > _MAX_VALUE:
            yield error(
                "hyperparameters",
                key,
                message=f"is too long for AWS: a key has at most {_MAX_KEY} characters, a value {_MAX_VALUE}",
            )


@rule("hyperparameters-reserved", source="sagemaker-training-toolkit params")
def hyperparameter_names_are_free(hyperparameters: dict[str, Any]) -> Iterator[Finding]:
    """SageMaker's training toolkit takes names that begin with sagemaker_ for itself."""
    for key in hyperparameters:
        if key.startswith("sagemaker_"):
            yield error("hyperparameters", key, message="names beginning with sagemaker_ belong to SageMaker itself")
