"""The whole state machine, run by the interpreter in virtual time against a scripted account."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.workflow.conftest import MACHINE, START, World
from tests.workflow.fake_aws import CHECKPOINT_STEPS, Fate

HOUR = 3600.0
CAPACITY = "CapacityError: Unable to provision requested ML compute capacity."
CODE = "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nKeyError: 'late'"
THROTTLED = ("SageMaker.SageMakerException", "Rate exceeded (Service: SageMaker, Status Code: 400, Request ID: 1)")
QUOTA = ("SageMaker.ResourceLimitExceededException", "The account-level service limit 'ml.m5.2xlarge for spot' is 0")

Script = Callable[..., None]

no_capacity = Fate(trains_s=0, failure=CAPACITY)


def test_happy_path(world: World) -> None:
    run = world.run()
    assert run.result.status == "SUCCEEDED"
    assert run.result.output["status"] == "SUCCEEDED"
    assert run.result.output["ledger"] == f"s3://artifacts-bucket/toy/{run.id}/ledger.json"
    assert run.column("verdict") == ["completed"]
    assert run.ledger["metrics"] == {"validation:auc": 0.7}
    assert run.ledger["saving"] == pytest.approx(0.65)
    assert run.ledger["model"].startswith(f"s3://artifacts-bucket/toy/{run.id}/model/")
    assert world.aws.document(f"toy/{run.id}/attempts/01.json")["closed"] is True
    assert world.aws.messages[0]["Subject"] == f"Slipstream toy {run.id}: SUCCEEDED"


def test_a_turn_leaves_eighteen_events(world: World) -> None:
    world.aws.total_steps = 36_000
    run = world.run(limits="{max_runtime: 12h}")
    turns = world.aws.count("describeTrainingJob")
    assert turns > 100
    assert len(run.history.events) / turns < 19


def test_hours_of_looking_every_second_stay_within_an_executions_history(world: World) -> None:
    world.aws.total_steps = 4 * 3600
    run = world.run({"look_s": 1})
    assert run.result.status == "SUCCEEDED"
    assert len(run.history.events) < 20_000


# -- faults ------------------------------------------------------------------------------------------------------------


def test_an_interruption_inside_the_job_is_left_to_sagemaker(world: World, fates: Script) -> None:
    fates(Fate(interrupted_after_s=1000, waits_s=600))
    run = world.run()
    assert (run.column("verdict"), run.column("interruptions")) == (["completed"], [1])
    assert "interrupted; SageMaker restarts it" in run.reasons


def test_an_interruption_between_two_looks_is_told_at_the_next(world: World, fates: Script) -> None:
    fates(Fate(interrupted_after_s=1010, waits_s=1))
    decisions = world.run().ledger["decisions"]
    assert [(d["reason"], d["interruptions"]) for d in decisions if d["do"] == "wait"][-2:] == [
        ("learning", 0),
        ("learning", 1),
    ]


def test_an_interruption_that_ends_the_job_goes_on_from_the_checkpoint_on_the_same_pool(
    world: World, fates: Script
) -> None:
    fates(Fate(trains_s=1010, failure="slipstream exit=75 step=1010 interrupted"))
    run = world.run()
    assert run.column("verdict") == ["interrupted", "completed"]
    assert run.column("pool") == [0, 0]
    assert run.column("start_step") == [0, 1010]
    assert run.column("fence") == [1, 2]


def test_a_kill_loses_no_more_than_since_the_last_checkpoint(world: World, fates: Script) -> None:
    fates(Fate(trains_s=1010, failure="AlgorithmError: ExecuteUserScriptError:\nExitCode 137"))
    run = world.run()
    assert run.column("verdict") == ["interrupted", "completed"]
    assert run.column("start_step") == [0, 1010 - 1010 % CHECKPOINT_STEPS]


def test_completed_with_work_left_is_an_interruption(world: World, fates: Script) -> None:
    fates(Fate(trains_s=500, status="Completed", secondary="Completed", failure=""))
    run = world.run()
    assert run.column("verdict") == ["interrupted", "completed"]
    assert run.ledger["attempts"][0]["reason"] == "Completed at step 500 of 3600"


def test_capacity_moves_down_the_ladder_and_costs_nothing(world: World, fates: Script) -> None:
    fates(no_capacity, no_capacity)
    run = world.run()
    assert run.column("verdict") == ["capacity", "capacity", "completed"]
    assert run.column("market") == ["spot", "spot", "on_demand"]
    assert run.column("instance") == ["ml.m5.2xlarge", "ml.c5.2xlarge", "ml.m5.2xlarge"]
    assert run.ledger["attempts"][0]["start_step"] is None
    assert run.ledger["attempts"][0]["cost_usd"] == 0


def test_when_every_pool_refuses_it_comes_back_later(world: World, fates: Script) -> None:
    fates(*[no_capacity] * 7)
    run = world.run()
    assert run.column("pool") == [0, 1, 2, 0, 1, 2, 0, 1]
    assert run.result.status == "SUCCEEDED"
    assert "every pool refused; pausing" in run.reasons


def test_quota_moves_down_too(world: World, fates: Script) -> None:
    fates(Fate(refusal=QUOTA))
    run = world.run()
    assert (run.column("verdict"), run.column("pool")) == (["quota", "completed"], [0, 1])
    refused = run.ledger["attempts"][0]
    assert (refused["billable_s"], refused["start_step"], refused["end_step"]) == (0, None, None)


def test_throttled_creates_back_off_each_under_a_new_name(world: World, fates: Script) -> None:
    fates(Fate(refusal=THROTTLED), Fate(refusal=THROTTLED))
    run = world.run()
    assert run.column("verdict") == ["throttled", "throttled", "completed"]
    assert [name[-2:] for name in run.column("training_job")] == ["01", "02", "03"]
    assert run.column("pool") == [0, 0, 0]
    assert "the service is at fault; pausing" in run.reasons


def test_a_code_error_fails_at_once(world: World, fates: Script) -> None:
    fates(Fate(trains_s=30, failure=CODE))
    run = world.run()
    assert (run.result.status, run.result.error) == ("FAILED", "CodeError")
    assert world.aws.count("createTrainingJob") == 1
    cause = json.loads(run.result.cause or "")
    assert "KeyError: 'late'" in cause["cause"]
    assert cause["attempts"][0]["verdict"] == "code"
    assert run.ledger["status"] == "FAILED"
    assert world.aws.messages[0]["Subject"].endswith("FAILED")


def test_a_request_that_is_refused_as_wrong_fails_at_once(world: World, fates: Script) -> None:
    fates(Fate(refusal=("SageMaker.SageMakerException", "1 validation error detected (Status Code: 400)")))
    run = world.run()
    assert run.result.error == "Invalid"
    assert world.aws.count("createTrainingJob") == 1


def test_no_progress_gives_up(world: World, fates: Script) -> None:
    fates(*[Fate(trains_s=10, failure="AlgorithmError: , exit code: 137")] * 9)
    run = world.run()
    assert run.result.error == "NoProgress"
    assert run.column("verdict") == ["interrupted"] * 3


def test_out_of_memory_halves_the_micro_batch(world: World, fates: Script) -> None:
    fates(Fate(trains_s=10, failure="slipstream exit=76 step=0 out of memory"))
    run = world.run()
    assert run.column("verdict") == ["out_of_memory", "completed"]
    environments = [job.request["Environment"] for job in world.aws.jobs.values()]
    assert [e["SLIPSTREAM_MICRO_BATCH_DIVISOR"] for e in environments] == ["1", "2"]


def test_a_lost_answer_to_create_makes_no_second_job(world: World, fates: Script) -> None:
    lost = ("SageMaker.SdkClientException", "Unable to execute HTTP request: Read timed out")
    fates(Fate(refusal=lost, made_all_the_same=True))
    run = world.run()
    assert run.result.status == "SUCCEEDED"
    assert (world.aws.count("createTrainingJob"), run.column("verdict")) == (1, ["completed"])


def test_a_create_that_was_lost_altogether_is_made_again(world: World, fates: Script) -> None:
    fates(Fate(refusal=("States.Timeout", "")))
    run = world.run()
    assert run.column("verdict") == ["service", "completed"]
    assert run.column("status")[0] == "Absent"


def test_an_hour_without_describe_neither_ends_nor_doubles_the_job(world: World) -> None:
    world.aws.outages["describeTrainingJob"] = (START + 600, START + 600 + HOUR)
    run = world.run()
    assert run.result.status == "SUCCEEDED"
    assert world.aws.count("createTrainingJob") == 1


# -- deadline and budget -----------------------------------------------------------------------------------------------


def test_without_slack_the_work_is_done_on_demand(world: World) -> None:
    run = world.run(limits="{deadline: 65m, max_runtime: 70m}")
    assert run.result.status == "SUCCEEDED"
    assert run.column("market") == ["on_demand"]


def test_spot_that_does_not_come_is_given_up_when_slack_ends(world: World, fates: Script) -> None:
    fates(Fate(waits_s=1e9))
    run = world.run(limits="{deadline: 90m, max_runtime: 70m}")
    assert run.column("market") == ["spot", "on_demand"]
    assert run.column("verdict") == ["capacity", "completed"]
    assert run.ledger["updated"] <= START + 90 * 60
    assert "no slack left to wait for Spot" in run.reasons


def test_a_request_that_waits_too_long_moves_down_with_slack_left(world: World, fates: Script) -> None:
    fates(Fate(waits_s=1e9))
    run = world.run(limits="{max_runtime: 4h}")
    assert run.column("pool") == [0, 1]
    assert run.column("verdict") == ["capacity", "completed"]


def test_the_deadline_stops_the_job_and_ends_the_run(world: World) -> None:
    world.aws.steps_per_s = 0.01
    run = world.run(limits="{deadline: 2h, max_runtime: 2h}")
    assert run.result.error == "DeadlineExceeded"
    assert world.aws.running() == []
    assert run.column("closed") == [True]


def test_the_budget_stops_the_job_and_is_not_overspent(world: World) -> None:
    run = world.run(limits="{deadline: 10h, max_runtime: 4h, max_cost_usd: 0.1}")
    assert run.result.error == "BudgetExceeded"
    assert world.aws.running() == []
    assert run.ledger["cost_usd"] <= 0.1 + 0.16135 * 300 / HOUR


def test_limits_of_the_input_take_the_place_of_the_job_files(world: World) -> None:
    run = world.run({"limits": {"deadline": 4500}})
    assert run.ledger["deadline"] == START + 4500
    run = world.run({"deadline_at": "2027-01-15T10:00:00+02:00"}, name="second")
    assert run.ledger["deadline"] == START


# -- stops -------------------------------------------------------------------------------------------------------------


def test_a_persons_stop_ends_the_run_as_stopped(world: World) -> None:
    async def person() -> None:
        await asyncio.sleep(900)
        world.aws.stop(next(iter(world.aws.jobs)))

    run = world.run(meanwhile=person)
    assert run.result.error == "Stopped"
    assert run.ledger["status"] == "STOPPED"
    assert world.aws.count("createTrainingJob") == 1


def test_a_missed_gate_fails_the_run_and_keeps_the_model(world: World) -> None:
    world.aws.metrics = {"validation:auc": 0.61}
    run = world.run()
    assert run.result.error == "QualityGateMissed"
    assert "validation:auc is 0.61; the gate asks for at least 0.66" in json.loads(run.result.cause or "")["cause"]
    assert run.ledger["model"] is not None


# -- one run, one writer -----------------------------------------------------------------------------------------------


def test_a_run_that_is_held_by_a_running_execution_is_left_alone(world: World) -> None:
    world.aws.executions[MACHINE + "holder"] = "RUNNING"
    world.aws.objects["artifacts-bucket/toy/0a1b2c3d/lock.json"] = {"execution": MACHINE + "holder"}
    run = world.run({"run": "0a1b2c3d"})
    assert run.result.error == "RunLocked"
    assert world.aws.count("createTrainingJob") + world.aws.count("listTrainingJobs") == 0


@pytest.mark.parametrize("status", ["ABORTED", "FAILED", "TIMED_OUT", "SUCCEEDED", None])
def test_a_lock_whose_holder_is_gone_is_taken_over(world: World, status: str | None) -> None:
    if status is not None:
        world.aws.executions[MACHINE + "holder"] = status
    world.aws.objects["artifacts-bucket/toy/0a1b2c3d/lock.json"] = {"execution": MACHINE + "holder"}
    world.aws._tags["artifacts-bucket/toy/0a1b2c3d/lock.json"] = '"before"'
    run = world.run({"run": "0a1b2c3d"})
    assert run.result.status == "SUCCEEDED"
    assert world.aws.document("toy/0a1b2c3d/lock.json")["execution"] == run.arn


def test_of_two_that_take_over_one_gets_the_lock(world: World) -> None:
    world.aws.objects["artifacts-bucket/toy/0a1b2c3d/lock.json"] = {"execution": MACHINE + "gone"}
    world.aws._tags["artifacts-bucket/toy/0a1b2c3d/lock.json"] = '"before"'
    describe = world.aws._describeExecution

    def beaten(request: dict[str, Any]) -> dict[str, Any]:
        world.aws._tags["artifacts-bucket/toy/0a1b2c3d/lock.json"] = '"somebody was faster"'
        return describe(request)

    world.aws._describeExecution = beaten  # type: ignore[method-assign]
    assert world.run({"run": "0a1b2c3d"}).result.error == "RunLocked"


def test_resume_counts_on_from_the_ledger(world: World, fates: Script) -> None:
    fates(Fate(trains_s=1010), Fate(trains_s=10, failure=CODE))
    first = world.run()
    assert first.result.error == "CodeError"
    resumed = world.run({"resume": first.id, "data_version": None}, name="second")
    assert resumed.result.status == "SUCCEEDED"
    assert resumed.column("number") == [1, 2, 3]
    assert resumed.column("verdict") == ["interrupted", "code", "completed"]
    assert resumed.column("execution") == [first.arn, first.arn, resumed.arn]
    assert resumed.ledger["data_version"] == "v1"
    assert resumed.ledger["cost_usd"] == pytest.approx(sum(resumed.column("cost_usd")))


def test_resume_adopts_a_job_that_still_runs(world: World) -> None:
    first = world.run()
    ledger = first.ledger
    job = next(iter(world.aws.jobs.values()))
    job.created = world.clock.now()  # as if the machine had been lost just after its Create
    ledger["attempts"][0] |= {"closed": False, "verdict": "waiting", "created": job.created}
    resumed = world.run({"resume": first.id}, name="second")
    assert resumed.result.status == "SUCCEEDED"
    assert len(world.aws.jobs) == 1
    assert resumed.column("verdict") == ["completed"]


def test_resume_of_a_run_that_never_was(world: World) -> None:
    run = world.run({"resume": "deadbeef"})
    assert run.result.error == "Invalid"
    assert "no run deadbeef" in json.loads(run.result.cause or "")["cause"]


# -- data --------------------------------------------------------------------------------------------------------------


def test_data_are_prepared_once_for_a_version_and_recipe(world: World) -> None:
    world.run()
    world.run(name="second")
    assert len(world.aws.processing) == 1
    world.run({"data_version": "v2"}, name="third")
    assert len(world.aws.processing) == 2


def test_without_a_data_version_the_last_published_one_is_read(world: World) -> None:
    world.aws.parameters["/slipstream/toy/data_version"] = "v7"
    assert world.run({"data_version": None}).ledger["data_version"] == "v7"


def test_without_any_data_version_the_run_says_so(world: World) -> None:
    run = world.run({"data_version": None})
    assert run.result.error == "NoDataVersion"
    assert world.aws.count("createTrainingJob") == 0


def test_bad_data_fail_at_once(world: World) -> None:
    failure = {"ProcessingJobStatus": "Failed", "FailureReason": "AlgorithmError: column 'late' is missing"}
    world.aws.prepare_failures = [("States.TaskFailed", json.dumps(failure))]
    run = world.run()
    assert run.result.error == "PrepareFailed"
    assert "column 'late' is missing" in json.loads(run.result.cause or "")["cause"]
    assert len(world.aws.processing) == 1


def test_preparing_outlives_a_fault_of_the_service_under_another_name(world: World) -> None:
    failure = {"ProcessingJobStatus": "Failed", "FailureReason": "InternalServerError: please try again"}
    world.aws.prepare_failures = [("States.TaskFailed", json.dumps(failure))]
    assert world.run().result.status == "SUCCEEDED"
    first, second = (request["ProcessingJobName"] for request in world.aws.processing)
    assert second == f"{first}-2"


def test_preparing_gives_up_after_three(world: World) -> None:
    failure = {"ProcessingJobStatus": "Failed", "FailureReason": CAPACITY}
    world.aws.prepare_failures = [("States.TaskFailed", json.dumps(failure))] * 5
    assert world.run().result.error == "PrepareFailed"
    assert len(world.aws.processing) == 3


# -- what should not happen --------------------------------------------------------------------------------------------


def test_an_expression_that_fails_stops_the_jobs_and_never_spins(world: World) -> None:
    world.aws.objects["artifacts-bucket/toy/0a1b2c3d/progress.json"] = "torn"

    def torn(request: dict[str, Any]) -> dict[str, Any]:
        return {"Body": "{" if request["Key"].endswith("progress.json") else json.dumps({}), "ETag": '"1"'}

    world.aws._getObject = torn  # type: ignore[method-assign]
    world.aws.objects.pop("artifacts-bucket/toy/0a1b2c3d/progress.json")
    run = world.run()
    assert run.result.error == "InternalError"
    assert "States.QueryEvaluationError" in (run.result.cause or "")
    assert world.aws.running() == []


def test_a_ledger_that_cannot_be_written_stops_the_run_before_a_job_is_hidden(world: World) -> None:
    put = world.aws._putObject

    def refuse(request: dict[str, Any]) -> dict[str, Any]:
        if request["Key"].endswith("ledger.json"):
            from infra.offline.states import StatesError

            raise StatesError("S3.S3Exception", "Access Denied (Status Code: 403)")
        return put(request)

    world.aws._putObject = refuse  # type: ignore[method-assign]
    run = world.run()
    assert run.result.error == "InternalError"
    assert world.aws.count("createTrainingJob") == 0


def test_a_lost_message_is_no_failure(world: World) -> None:
    world.aws.outages["publish"] = (0, float("inf"))
    assert world.run().result.status == "SUCCEEDED"


def test_a_stopped_processing_job_is_not_taken_for_prepared_data(world: World) -> None:
    """Whether `.sync` answers a stopped job with success or failure is not documented: only the manifest counts."""
    world.aws.prepares_stopped = 1
    run = world.run()
    assert run.result.status == "SUCCEEDED"
    assert [job["ProcessingJobName"].partition("-prepare")[2] for job in world.aws.processing] == ["", "-2"]


def test_processing_jobs_that_never_prepare_end_the_run(world: World) -> None:
    world.aws.prepares_stopped = 99
    run = world.run()
    assert run.result.error == "PrepareFailed"
    assert "without having prepared the data" in str(run.result.cause)
    assert world.aws.jobs == {}
