"""`.sync` tasks: a job that is followed, and stopped with its task."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from infra.offline.clock import VirtualClock
from infra.offline.states import StatesError, TaskContext
from infra.offline.states.sync_jobs import SYNC_JOBS, run_job

JOB = SYNC_JOBS["createProcessingJob"]
ARGUMENTS = {"ProcessingJobName": "clean", "AppSpecification": {}}


class Jobs:
    """A service with one job that has a status for each look; `create_s` seconds pass in Create."""

    def __init__(self, *statuses: str | StatesError, create_s: float = 0, clock: VirtualClock) -> None:
        self._statuses = list(statuses)
        self._create_s = create_s
        self._clock = clock
        self.calls: list[str] = []
        self.created = False

    async def __call__(self, action: str, arguments: dict[str, Any]) -> Any:
        self.calls.append(action)
        assert arguments["ProcessingJobName"] == "clean"
        if action == "createProcessingJob":
            await self._clock.sleep(self._create_s)
            self.created = True
            return {"ProcessingJobArn": "arn"}
        if action == "stopProcessingJob":
            return {}
        status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
        if isinstance(status, StatesError):
            raise status
        return {"ProcessingJobName": "clean", "ProcessingJobStatus": status, "FailureReason": "why"}


def follow(jobs: Jobs, clock: VirtualClock, timeout: float | None = None) -> tuple[Any, list[Any]]:
    submitted: list[Any] = []
    context = TaskContext("arn", "Prepare", "role", clock, submitted.append, lambda: None)

    async def main() -> Any:
        async with asyncio.timeout(timeout):
            return await run_job(JOB, jobs, ARGUMENTS, context, 10)

    return clock.run(main()), submitted


def test_a_job_that_completes() -> None:
    clock = VirtualClock()
    result, submitted = follow(Jobs("InProgress", "InProgress", "Completed", clock=clock), clock)
    assert result["ProcessingJobStatus"] == "Completed"
    assert submitted == [{"ProcessingJobArn": "arn"}]
    assert clock.now() == 20


@pytest.mark.parametrize("status", ["Failed", "Stopped"])
def test_a_job_that_does_not_fails_the_task_with_its_description(status: str) -> None:
    clock = VirtualClock()
    with pytest.raises(StatesError) as failed:
        follow(Jobs("InProgress", status, clock=clock), clock)
    assert failed.value.error == "States.TaskFailed"
    assert json.loads(failed.value.cause) == {
        "ProcessingJobName": "clean",
        "ProcessingJobStatus": status,
        "FailureReason": "why",
    }


def test_a_service_that_does_not_answer_now_and_then() -> None:
    clock = VirtualClock()
    unreachable = StatesError("SageMaker.SdkClientException", "timeout")
    result, _ = follow(Jobs(unreachable, unreachable, "InProgress", unreachable, "Completed", clock=clock), clock)
    assert result["ProcessingJobStatus"] == "Completed"


def test_a_service_that_never_answers() -> None:
    clock = VirtualClock()
    with pytest.raises(StatesError, match="timeout"):
        follow(Jobs(StatesError("SageMaker.SdkClientException", "timeout"), clock=clock), clock)


def test_a_cancelled_task_stops_its_job() -> None:
    clock = VirtualClock()
    jobs = Jobs("InProgress", clock=clock)
    with pytest.raises(TimeoutError):
        follow(jobs, clock, timeout=25)
    assert jobs.calls[-1] == "stopProcessingJob"


def test_a_task_cancelled_while_the_job_is_made_stops_it_when_it_is_made() -> None:
    clock = VirtualClock()
    jobs = Jobs("InProgress", create_s=60, clock=clock)
    with pytest.raises(TimeoutError):
        follow(jobs, clock, timeout=5)
    assert jobs.created
    assert jobs.calls == ["createProcessingJob", "stopProcessingJob"]
