"""`.sync`: a task that creates a SageMaker job and lives as long as it does."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from infra.offline.states.errors import TASK_FAILED, StatesError
from infra.offline.states.services import TaskContext

__all__ = ["SYNC_JOBS", "SyncJob", "run_job"]

Invoke = Callable[[str, dict[str, Any]], Awaitable[Any]]

_UNREACHABLE_LOOKS: Final = 5


@dataclass(frozen=True, slots=True)
class SyncJob:
    """The actions and members of one kind of job."""

    create: str
    describe: str
    stop: str
    name: str
    status: str


def _job(kind: str) -> SyncJob:
    return SyncJob(f"create{kind}", f"describe{kind}", f"stop{kind}", f"{kind}Name", f"{kind}Status")


SYNC_JOBS: Final = {
    job.create: job for job in map(_job, ("TrainingJob", "ProcessingJob", "TransformJob", "HyperParameterTuningJob"))
}


async def run_job(job: SyncJob, invoke: Invoke, arguments: Any, context: TaskContext, poll_s: float) -> Any:
    """Create the job, follow it to its end, and stop it when the task is cancelled.

    A job that was stopped fails the task: whether AWS lets it succeed is not documented, and a machine that takes
    failure is safe under both.

    Args:
        invoke: calls an action of the service.
        arguments: of the create action.

    Returns:
        The description of the completed job.

    Raises:
        StatesError: the service refused, or `States.TaskFailed` with the job's description as JSON in the cause.
    """
    about = {job.name: arguments.get(job.name)}
    creation = asyncio.ensure_future(invoke(job.create, arguments))
    try:
        context.submitted(await asyncio.shield(creation))
        while True:
            description = await _look(job, invoke, about, context, poll_s)
            status = description[job.status]
            if status == "Completed":
                return description
            if status in ("Failed", "Stopped"):
                raise StatesError(TASK_FAILED, json.dumps(description, separators=(",", ":")))
            await context.clock.sleep(poll_s)
    except asyncio.CancelledError:
        await asyncio.shield(_stop(job, invoke, about, creation))
        raise


async def _look(job: SyncJob, invoke: Invoke, about: dict[str, Any], context: TaskContext, poll_s: float) -> Any:
    """Describe the job; a service that does not answer now and then does not fail a healthy job."""
    for _ in range(_UNREACHABLE_LOOKS - 1):
        try:
            return await invoke(job.describe, about)
        except StatesError:
            await context.clock.sleep(poll_s)
    return await invoke(job.describe, about)


async def _stop(job: SyncJob, invoke: Invoke, about: dict[str, Any], creation: asyncio.Future[Any]) -> None:
    """Stop a job that may be in the making still; one that was refused or has ended needs no stop."""
    with contextlib.suppress(StatesError):
        await creation
        await invoke(job.stop, about)
