"""Stop a run: its execution first, so that it starts no further job, then the jobs it has."""

from __future__ import annotations

import time
from typing import Any

from infra.cli.errors import CliError
from infra.cli.runs import Run, describe, open_jobs
from infra.cli.target import Target

__all__ = ["stop"]

# SageMaker gives a container 120 s after SIGTERM and then uploads what it left.
PATIENCE_S = 300.0


def stop(target: Target, run: Run, *, interval_s: float) -> dict[str, Any]:
    """Returns the run's summary once no job of it goes on. Stopping a run that is over changes nothing.

    Raises `CliError` when a job still goes on after five minutes.
    """
    client = target.client("stepfunctions")
    if client.describe_execution(executionArn=run.execution)["status"] == "RUNNING":
        client.stop_execution(executionArn=run.execution, error="Stopped", cause="slipstream stop")
    give_up = time.monotonic() + PATIENCE_S
    asked: set[str] = set()
    while names := open_jobs(target, run):
        for name in sorted(set(names) - asked):
            _stop_job(target, name)
            asked.add(name)
        if time.monotonic() > give_up:
            raise CliError(f"still going on after {PATIENCE_S:.0f} s: {', '.join(names)}", hint="stop again, or look")
        time.sleep(interval_s)
    return describe(target, run)


def _stop_job(target: Target, name: str) -> None:
    from botocore.exceptions import ClientError

    try:
        target.client("sagemaker").stop_training_job(TrainingJobName=name)
    except ClientError as error:
        # The reaper was faster, or the job has just ended.
        if error.response["Error"]["Code"] != "ValidationException":
            raise
