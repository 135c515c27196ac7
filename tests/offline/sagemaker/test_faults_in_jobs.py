"""Faults carried out on running jobs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infra.offline.faults import Fault
from infra.offline.sagemaker import SageMakerError

from .requests import spot_request, training_request
from .test_training import ENDLESS, NAME, TRAIN
from .world import World, statuses

# Trains 10 steps; holds where it is told to, as the real trainer does; saves on SIGTERM and resumes.
STEPS = """
import json, os, pathlib, signal, sys, time
root = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
folder = root / "checkpoints"
hold = pathlib.Path(os.environ["SLIPSTREAM_HOLD"]) if "SLIPSTREAM_HOLD" in os.environ else None
plan = json.loads(hold.read_text()) if hold else {"steps": [], "oom_at": []}
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
first = int((folder / "step").read_text()) if (folder / "step").exists() else 0
print(f"from step {first}", flush=True)
for step in range(first + 1, 11):
    if step in plan["oom_at"]:
        sys.exit(76)
    if step in plan["steps"]:
        hold.with_name(hold.name + ".reached").write_text(str(step))
        release = hold.with_name(hold.name + ".release")
        while not stop and not (release.exists() and release.read_text() == str(step)):
            time.sleep(0.005)
    if stop:
        (folder / "step").write_text(str(step))
        print(f"stopped at step {step}", flush=True)
        sys.exit(75)
print("done", flush=True)
"""


def test_an_interruption_goes_on_inside_the_job(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="interrupt", at_step=3), Fault(do="interrupt", at_step=7))
    world.code(STEPS)
    job = world.run(spot_request())
    assert world.logs.text() == [
        "from step 0", "stopped at step 3", "from step 3", "stopped at step 7", "from step 7", "done",
    ]  # fmt: skip
    placement = ["Starting", "Downloading", "Training"]
    assert statuses(job) == [
        *placement, "Interrupted", *placement, "Interrupted", *placement, "Uploading", "Completed",
    ]  # fmt: skip
    assert world.faults.left() == []


def test_instances_after_an_interruption_are_new(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="interrupt", after_s=1.0))
    world.code(
        "import os, pathlib, signal, sys, time\n"
        "root = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])\n"
        "print((root / 'scratch').exists(), flush=True)\n"
        "if (root / 'checkpoints' / 'mark').exists(): sys.exit(0)\n"
        "(root / 'checkpoints' / 'mark').write_text('x')\n"
        "(root / 'scratch').write_text('x')\n"
        "time.sleep(600)\n"
    )
    assert world.run(spot_request())["TrainingJobStatus"] == "Completed"
    assert world.logs.text() == ["False", "False"]


def test_on_demand_instances_are_not_reclaimed(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="interrupt", at_step=3))
    world.code(STEPS)
    job = world.run(training_request(CheckpointConfig={"S3Uri": "s3://bucket/checkpoints/x/"}))
    assert "Interrupted" not in statuses(job)
    assert [rule["do"] for rule in world.faults.left()] == ["interrupt"]


def test_a_kill_gives_no_warning_and_saves_nothing(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="kill", at_step=5))
    world.code(STEPS)
    job = world.run(spot_request())
    assert job["TrainingJobStatus"] == "Failed"
    assert job["FailureReason"] == "AlgorithmError: ExecuteUserScriptError:\nExitCode 137, exit code: 137"
    assert world.logs.text() == ["from step 0"]
    assert world.objects.puts == []


def test_no_capacity(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="capacity_error", attempt=1))
    world.code(TRAIN)
    job = world.run(spot_request())
    assert statuses(job) == ["Starting", "Failed"]
    assert job["FailureReason"].startswith("CapacityError: Unable to provision requested ML compute capacity.")
    assert job["BillableTimeInSeconds"] == 0
    assert world.run(spot_request("flights-1a2b3c4d-02"))["TrainingJobStatus"] == "Completed"


def test_a_reclaim_after_which_there_is_no_capacity(make_world: Callable[..., World]) -> None:
    """The container is warned and saves; SageMaker finds no other instance and gives the job up."""
    world = make_world(Fault(do="capacity_error", at_step=4))
    world.code(STEPS)
    job = world.run(spot_request())
    assert statuses(job) == ["Starting", "Downloading", "Training", "Interrupted", "Failed"]
    assert job["FailureReason"].startswith("CapacityError:")
    assert job["TrainingTimeInSeconds"] > 0
    world.run(spot_request("flights-1a2b3c4d-02"))
    assert world.logs.text() == ["from step 0", "stopped at step 4", "from step 4", "done"]


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("throttle", "ThrottlingException", "Rate exceeded"),
        ("quota", "ResourceLimitExceeded", "'ml.m5.2xlarge for spot training job usage' is 0 Instances"),
    ],
)
def test_refusals_of_create_leave_no_job(make_world: Callable[..., World], kind: str, code: str, words: str) -> None:
    world = make_world(Fault(do=kind))
    world.code(TRAIN)
    with pytest.raises(SageMakerError, match=words) as refused:
        world.engine.create_training_job(spot_request())
    assert refused.value.code == code
    assert world.engine.list_training_jobs({})["TrainingJobSummaries"] == []
    assert world.run(spot_request())["TrainingJobStatus"] == "Completed"


def test_a_stop_at_a_step(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="stop", at_step=4))
    world.code(STEPS)
    job = world.run(spot_request())
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopped", "Stopped")
    assert world.logs.text()[-1] == "stopped at step 4"


def test_a_stalled_agent_loses_what_came_after(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="sync_stall", at_step=2), Fault(do="interrupt", at_step=6))
    world.code(STEPS)
    world.run(spot_request())
    assert world.logs.text()[:3] == ["from step 0", "stopped at step 6", "from step 0"]


def test_out_of_memory_is_the_trainer_s_and_happens_once(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="out_of_memory", at_step=5))
    world.code(STEPS)
    assert world.run(spot_request())["FailureReason"].endswith("exit code: 76")
    assert world.run(spot_request("flights-1a2b3c4d-02"))["TrainingJobStatus"] == "Completed"


def test_internal_errors_are_retried_only_when_asked(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="internal_error", times=3))
    world.code(TRAIN)
    assert world.run(spot_request())["FailureReason"].startswith("InternalServerError: ")
    job = world.run(spot_request("flights-1a2b3c4d-02", RetryStrategy={"MaximumRetryAttempts": 2}))
    assert statuses(job) == [
        "Starting", "Restarting", "Starting", "Restarting", "Starting", "Downloading", "Training", "Uploading",
        "Completed",
    ]  # fmt: skip


def test_a_held_trainer_is_released_when_the_rule_was_taken_elsewhere(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="kill", at_step=5))
    world.code(STEPS.replace('print(f"from', 'time.sleep(0.5)\nprint(f"from'))
    world.engine.create_training_job(spot_request())
    world.until(NAME, lambda job: job["SecondaryStatus"] == "Training")
    world.faults.replace([])
    assert world.ended(NAME)["TrainingJobStatus"] == "Completed"


def test_no_hold_without_a_fault(world: World, tmp_path: Path) -> None:
    world.code("import os; print('SLIPSTREAM_HOLD' in os.environ)")
    world.run(training_request())
    assert world.logs.text() == ["False"]


def test_endless_jobs_end_when_interrupted_for_good(make_world: Callable[..., World]) -> None:
    world = make_world(Fault(do="interrupt", after_s=0.5))
    world.code(ENDLESS)
    job = world.run(spot_request())
    assert job["TrainingJobStatus"] == "Completed"
    assert [line for line in world.logs.text() if line.startswith("restored")] == [
        "restored []", "restored ['last']",
    ]  # fmt: skip
