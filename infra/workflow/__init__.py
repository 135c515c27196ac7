"""State machines: written in YAML with their decisions in JSONata beside them, filled in from job file and stack."""

from __future__ import annotations

from typing import Any

from infra.spec import Job
from infra.workflow.bundle import recipe_hash, write_bundle
from infra.workflow.definition import expression, fill_in
from infra.workflow.settings import Bindings, settings

__all__ = [
    "Bindings",
    "expression",
    "fill_in",
    "reaper_definition",
    "recipe_hash",
    "settings",
    "training_definition",
    "write_bundle",
]


def training_definition(job: Job, *, bindings: Bindings) -> dict[str, Any]:
    """The control loop of one job, `training.asl.yaml`, as States Language.

    Raises:
        ValueError: a text of the job file would be run as an expression, or the definition is too long.
    """
    return fill_in("training", {"job": job.name, "partition": bindings.partition, "settings": settings(job, bindings)})


def reaper_definition(*, artifacts: str, partition: str) -> dict[str, Any]:
    """The machine that stops the jobs of executions which ended without doing so, `reaper.asl.yaml`.

    Args:
        artifacts: name of the bucket that holds the runs' locks.
        partition: `aws`, `aws-cn` or `aws-us-gov`.
    """
    return fill_in("reaper", {"artifacts": artifacts, "partition": partition})
