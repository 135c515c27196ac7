"""Find runs, and describe one in the shape that `run --json` and `status --json` promise.

The ledger in S3 is the record; Step Functions says whether the execution still goes on. Both are read, nothing is
kept here: any machine with access sees the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from infra.cli.errors import InputError
from infra.cli.target import Target

__all__ = ["Run", "describe", "find", "list_runs", "open_jobs", "read_json", "run_id", "settled"]

MACHINE_PREFIX = "slipstream-"
REAPER = "slipstream-reaper"
STATUS = {
    "RUNNING": "RUNNING",
    "SUCCEEDED": "SUCCEEDED",
    "FAILED": "FAILED",
    "TIMED_OUT": "FAILED",
    "ABORTED": "STOPPED",
}
"""Step Functions' words in ours; PENDING_REDRIVE cannot happen, since a run is continued by a new execution."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run and the newest execution that carried it."""

    id: str
    job: str
    execution: str

    @property
    def prefix(self) -> str:
        return f"{self.job}/{self.id}/"


def run_id(execution_arn: str) -> str:
    """8 hex digits of a hash of the execution's ARN, as the machine computes it.

    Not a prefix of its name: nightly-01 and nightly-02 would share their checkpoints.
    """
    return hashlib.sha256(execution_arn.encode()).hexdigest()[:8]


def find(target: Target, run: str) -> Run:
    """The run with this id, or whose execution has this name or ARN. Raises `InputError` when there is none."""
    for candidate in _executions(target):
        lock = None
        if run in {candidate.id, candidate.execution, candidate.execution.rsplit(":", 1)[-1]}:
            # A resumed run keeps its id under a newer execution: the lock names the one that holds it now.
            lock = read_json(target, f"{candidate.prefix}lock.json")
            holder = lock.get("execution", candidate.execution) if lock else candidate.execution
            return Run(id=candidate.id, job=candidate.job, execution=holder)
    raise InputError(f"no run '{run}' in {target.describe()}", hint="slipstream status lists the runs")


def list_runs(target: Target, limit: int = 50) -> list[dict[str, Any]]:
    """The newest runs of every job, newest first."""
    rows = []
    for machine in _machines(target):
        client = target.client("stepfunctions")
        for item in client.list_executions(stateMachineArn=machine, maxResults=limit)["executions"]:
            rows.append(
                {
                    "run": run_id(item["executionArn"]),
                    "job": machine.rsplit(":", 1)[-1].removeprefix(MACHINE_PREFIX),
                    "status": STATUS.get(item["status"], item["status"]),
                    "started": item["startDate"].timestamp(),
                    "ended": item["stopDate"].timestamp() if item.get("stopDate") else None,
                    "execution": item["executionArn"],
                }
            )
    return sorted(rows, key=lambda row: row["started"], reverse=True)[:limit]


def describe(target: Target, run: Run) -> dict[str, Any]:
    """The contract's summary of a run; see `docs/cli.md` for each key."""
    execution = target.client("stepfunctions").describe_execution(executionArn=run.execution)
    ledger = read_json(target, f"{run.prefix}ledger.json") or {}
    progress = read_json(target, f"{run.prefix}progress.json") or {}
    status = STATUS.get(execution["status"], execution["status"])
    error, cause = execution.get("error"), _cause(execution.get("cause"))
    if status == "FAILED" and error == "Stopped":
        status = "STOPPED"
    attempts = ledger.get("attempts", [])
    if status != "RUNNING" and not all(attempt.get("closed") for attempt in attempts):
        attempts = [_settled(target, attempt, progress) for attempt in attempts]
        ledger |= _costs(attempts)
    return {
        "run": run.id,
        "job": run.job,
        "status": status,
        "error": error or ("Stopped" if status == "STOPPED" else None),
        "cause": cause,
        "attempts": attempts,
        "metrics": ledger.get("metrics") or progress.get("metrics") or {},
        "steps_redone": ledger.get("steps_redone") or progress.get("steps_redone") or 0,
        "weights_digest": ledger.get("weights_digest") or progress.get("weights_digest"),
        "cost_usd": ledger.get("cost_usd", 0.0),
        "on_demand_cost_usd": ledger.get("on_demand_cost_usd", 0.0),
        "saving": ledger.get("saving"),
        "model": ledger.get("model"),
        "execution": run.execution,
        "started": ledger.get("started") or execution["startDate"].timestamp(),
        "ended": execution["stopDate"].timestamp() if execution.get("stopDate") else None,
        "deadline": ledger.get("deadline"),
        "preparing": _preparing(target, run) if status == "RUNNING" and not attempts else None,
        "prepared": ledger.get("prepared"),
        "progress": progress or None,
        "decisions": ledger.get("decisions", []),
        "ledger": f"s3://{target.resources.artifacts}/{run.prefix}ledger.json",
    }


def open_jobs(target: Target, run: Run) -> list[str]:
    """Names of the run's training jobs that SageMaker still works on."""
    client = target.client("sagemaker")
    names = []
    for status in ("InProgress", "Stopping"):
        pages = client.get_paginator("list_training_jobs").paginate(
            NameContains=f"{run.job}-{run.id}-", StatusEquals=status
        )
        names += [item["TrainingJobName"] for page in pages for item in page["TrainingJobSummaries"]]
    return [name for name in names if name.startswith(f"{run.job}-{run.id}-")]


def read_json(target: Target, key: str) -> dict[str, Any] | None:
    """An object of the artifacts bucket; None where there is none."""
    s3 = target.client("s3")
    try:
        body = s3.get_object(Bucket=target.resources.artifacts, Key=key)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return None
    document: dict[str, Any] = json.loads(body)
    return document


def _preparing(target: Target, run: Run) -> str | None:
    """The processing job that prepares this run's data at the moment."""
    client = target.client("sagemaker")
    found = client.list_processing_jobs(NameContains=f"{run.job}-{run_id(run.execution)}-", StatusEquals="InProgress")
    return next((job["ProcessingJobName"] for job in found["ProcessingJobSummaries"]), None)


def _cause(text: str | None) -> str | None:
    """The machine fails with its whole summary as the cause; a person wants the sentence in it."""
    if text and text.startswith("{"):
        with suppress(ValueError, KeyError):
            return str(json.loads(text)["cause"])
    return text


def _settled(target: Target, attempt: dict[str, Any], progress: dict[str, Any]) -> dict[str, Any]:
    """An attempt that the machine could not close, because its execution was aborted: what became of its job."""
    if attempt.get("closed"):
        return attempt
    from botocore.exceptions import ClientError

    try:
        job = target.client("sagemaker").describe_training_job(TrainingJobName=attempt["training_job"])
    except ClientError:  # never created, or gone
        return {**attempt, "verdict": "stopped_by_user", "billable_s": attempt.get("billable_s") or 0}
    return {**attempt, **settled(attempt, job, progress)}


def settled(attempt: dict[str, Any], job: dict[str, Any], progress: dict[str, Any]) -> dict[str, Any]:
    """The fields of an open attempt that a description of its job settles, reckoned as judge.jsonata does."""
    status = job["TrainingJobStatus"]
    fields: dict[str, Any] = {"status": status, "secondary": job["SecondaryStatus"]}
    if status not in {"Completed", "Failed", "Stopped"}:
        return fields
    trained_s = job.get("TrainingTimeInSeconds") or 0
    billable_s = job.get("BillableTimeInSeconds", trained_s)
    usd_per_s = attempt["instance_count"] * attempt["on_demand_usd_per_hour"] / 3600
    spoke = progress.get("attempt") == attempt["number"]
    return fields | {
        "verdict": "stopped_by_user" if status == "Stopped" else "interrupted",
        "closed": True,
        "ended": job["TrainingEndTime"].timestamp() if "TrainingEndTime" in job else None,
        "training_s": trained_s,
        "billable_s": billable_s,
        "start_step": progress["start_step"] if spoke else attempt["start_step"],
        "end_step": progress["saved_step"] if spoke else attempt["start_step"],
        "cost_usd": round(billable_s * usd_per_s, 6),
        "on_demand_cost_usd": round(max(trained_s, billable_s) * usd_per_s, 6),
    }


def _costs(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    cost = round(sum(attempt["cost_usd"] for attempt in attempts), 6)
    on_demand = round(sum(attempt["on_demand_cost_usd"] for attempt in attempts), 6)
    return {
        "cost_usd": cost,
        "on_demand_cost_usd": on_demand,
        "saving": round(1 - cost / on_demand, 4) if on_demand else None,
    }


def _executions(target: Target) -> Iterator[Run]:
    client = target.client("stepfunctions")
    for machine in _machines(target):
        job = machine.rsplit(":", 1)[-1].removeprefix(MACHINE_PREFIX)
        for page in client.get_paginator("list_executions").paginate(stateMachineArn=machine):
            for item in page["executions"]:
                yield Run(id=run_id(item["executionArn"]), job=job, execution=item["executionArn"])


def _machines(target: Target) -> list[str]:
    pages = target.client("stepfunctions").get_paginator("list_state_machines").paginate()
    arns = [machine["stateMachineArn"] for page in pages for machine in page["stateMachines"]]
    return [arn for arn in arns if (name := arn.rsplit(":", 1)[-1]).startswith(MACHINE_PREFIX) and name != REAPER]
