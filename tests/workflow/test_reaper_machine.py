"""The reaper stops what a dead execution left running, and nothing else."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from infra.offline.states import ExecutionResult, StateMachine
from infra.workflow import reaper_definition
from tests.workflow.conftest import MACHINE, World
from tests.workflow.evaluate import evaluate

REAPER = "arn:aws:states:us-east-1:111122223333:execution:slipstream-reaper:now"


def reap(world: World, execution: str, request: dict[str, Any] | None = None) -> ExecutionResult:
    machine = StateMachine.parse(reaper_definition(artifacts="artifacts-bucket", partition="aws"))
    event = {
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": {
            "executionArn": execution,
            "stateMachineArn": "arn:aws:states:us-east-1:111122223333:stateMachine:slipstream-toy",
            "status": "ABORTED",
            **({} if request is None else {"input": json.dumps(request)}),
        },
    }
    result = world.start(machine, event, REAPER).result
    world.clock.advance(60)  # a stop takes its time
    return result


def abort(world: World, request: dict[str, Any] | None = None, *, after_s: float = 600, name: str = "first") -> str:
    """Abort an execution in the middle; returns its ARN."""
    with pytest.raises(asyncio.CancelledError):
        world.run(request, name=name, meanwhile=lambda: _cancel_all(after_s))
    world.aws.executions[MACHINE + name] = "ABORTED"
    return MACHINE + name


async def _cancel_all(after_s: float) -> None:
    await asyncio.sleep(after_s)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()


def test_an_aborted_execution_leaves_no_job_running(world: World) -> None:
    execution = abort(world)
    assert len(world.aws.running()) == 1
    assert reap(world, execution, {}).status == "SUCCEEDED"
    assert world.aws.running() == []


def test_the_run_that_was_continued_is_reaped(world: World) -> None:
    execution = abort(world, {"run": "0a1b2c3d"})
    assert reap(world, execution, {"run": "0a1b2c3d"}).status == "SUCCEEDED"
    assert world.aws.running() == []


def test_a_run_that_was_resumed_meanwhile_is_left_alone(world: World) -> None:
    execution = abort(world, {"run": "0a1b2c3d"})
    world.aws.objects["artifacts-bucket/toy/0a1b2c3d/lock.json"] = {"execution": MACHINE + "second"}
    assert reap(world, execution, {"run": "0a1b2c3d"}).status == "SUCCEEDED"
    assert len(world.aws.running()) == 1


def test_a_run_that_is_resumed_between_two_passes_keeps_its_new_job(world: World) -> None:
    execution = abort(world, {"run": "0a1b2c3d"})
    stop = world.aws._stopTrainingJob

    def stopped_and_resumed(request: dict[str, Any]) -> dict[str, Any]:
        answer = stop(request)
        world.aws.objects["artifacts-bucket/toy/0a1b2c3d/lock.json"] = {"execution": MACHINE + "second"}
        world.aws.jobs["toy-0a1b2c3d-02"] = replace(world.aws.jobs[request["TrainingJobName"]], stopped=None)
        return answer

    world.aws._stopTrainingJob = stopped_and_resumed  # type: ignore[method-assign]
    assert reap(world, execution, {"run": "0a1b2c3d"}).status == "SUCCEEDED"
    assert world.aws.running() == ["toy-0a1b2c3d-02"]


@pytest.mark.parametrize("text", [None, "", "[]", '"resume"'])
def test_an_input_that_the_event_does_not_hold_names_no_run(world: World, text: str | None) -> None:
    detail = {"executionArn": abort(world), "input": text}
    own = evaluate("reaped_run", states={"input": {"detail": {"executionArn": detail["executionArn"]}}})
    assert evaluate("reaped_run", states={"input": {"detail": detail}}) == own


def test_an_execution_that_never_had_the_lock_stops_nothing(world: World) -> None:
    abort(world)
    assert reap(world, MACHINE + "other").status == "SUCCEEDED"
    assert len(world.aws.running()) == 1


def test_it_looks_twice_for_a_create_that_was_under_way(world: World) -> None:
    execution = abort(world)
    hidden = dict(world.aws.jobs)
    world.aws.jobs.clear()
    find = world.aws._listTrainingJobs

    def late(request: dict[str, Any]) -> dict[str, Any]:
        answer = find(request)
        world.aws.jobs.update(hidden)
        return answer

    world.aws._listTrainingJobs = late  # type: ignore[method-assign]
    reap(world, execution)
    assert world.aws.running() == []


def test_after_the_reaper_the_run_can_be_resumed(world: World) -> None:
    execution = abort(world, {"run": "0a1b2c3d"}, after_s=1500)
    reap(world, execution, {"run": "0a1b2c3d"})
    resumed = world.run({"resume": "0a1b2c3d"}, name="second")
    assert resumed.result.status == "SUCCEEDED"
    assert resumed.column("verdict") == ["interrupted", "completed"]
    assert resumed.column("start_step")[1] > 0
