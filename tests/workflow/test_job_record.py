"""DescribeTrainingJob, in every form it can take, becomes the verdict that design and AWS's documents ask for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflow.evaluate import NOW, evaluate

THIS = "arn:aws:states:us-east-1:111122223333:execution:slipstream-toy:this"
OTHER = "arn:aws:states:us-east-1:111122223333:execution:slipstream-toy:before"

TOOLKIT = 'AlgorithmError: ExecuteUserScriptError:\nExitCode {}\nErrorMessage ""\nCommand "python3 train.py"'
PLATFORM = "AlgorithmError: , exit code: {}"
CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)
QUOTA = (
    "ResourceLimitExceeded: The account-level service limit 'ml.p3dn.24xlarge for training job usage' is 0 Instances, "
    "with current utilization of 0 Instances and a request delta of 1 Instances"
)


def transition(status: str, start: float, end: float | None = None) -> dict[str, Any]:
    times = {"StartTime": iso(start)} | ({} if end is None else {"EndTime": iso(end)})
    return {"Status": status, "StatusMessage": "", **times}


def iso(offset: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(NOW + offset, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def record(
    status: str, secondary: str, failure: str = "", *, attempt: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    description = {
        "TrainingJobName": "toy-0a1b2c3d-01",
        "TrainingJobStatus": status,
        "SecondaryStatus": secondary,
        "CreationTime": iso(-1000),
        "LastModifiedTime": iso(-10),
        **({"FailureReason": failure} if failure else {}),
        **fields,
    }
    open_attempt = {
        "number": 1,
        "execution": THIS,
        "verdict": "waiting",
        "reason": "Spot while slack lasts",
        "usd_per_hour": 0.25,
        "on_demand_usd_per_hour": 1.0,
        "closed": False,
    }
    return dict(
        evaluate(
            "job_record",
            states={"result": description},
            attempts=[{**open_attempt, **(attempt or {})}],
            execution=THIS,
        )
    )


@pytest.mark.parametrize(
    ("status", "secondary", "failure", "verdict"),
    [
        # still at it: a status nobody has heard of is no work
        ("InProgress", "Starting", "", "waiting"),
        ("InProgress", "Pending", "", "waiting"),
        ("InProgress", "LaunchingMLInstances", "", "waiting"),
        ("InProgress", "Interrupted", "", "waiting"),
        ("InProgress", "Restarting", "", "waiting"),
        ("InProgress", "Rehearsing", "", "waiting"),
        ("InProgress", "Downloading", "", "running"),
        ("InProgress", "Training", "", "running"),
        ("InProgress", "Uploading", "", "running"),
        ("Stopping", "Stopping", "", "running"),
        # our own line comes first, whatever the status says
        ("Failed", "Failed", TOOLKIT.format(1) + "\nslipstream exit=75 step=1200 interrupted", "interrupted"),
        ("Failed", "Failed", "slipstream exit=75 step=0 nothing learned yet", "interrupted"),
        ("Stopped", "Stopped", "AlgorithmError: slipstream exit=75 step=40 interrupted", "interrupted"),
        ("Completed", "Completed", "slipstream exit=75 step=40 interrupted", "interrupted"),
        ("Failed", "Failed", "AlgorithmError: slipstream exit=76 step=3 out of memory", "out_of_memory"),
        ("Failed", "Failed", "AlgorithmError: slipstream exit=77 step=90 loss is nan", "diverged"),
        ("Failed", "Failed", "AlgorithmError: slipstream exit=1 step=0 KeyError: 'late'", "code"),
        # exit codes, as the toolkit and as the platform write them
        ("Failed", "Failed", TOOLKIT.format(75), "interrupted"),
        ("Failed", "Failed", PLATFORM.format(75), "interrupted"),
        ("Failed", "Failed", TOOLKIT.format(76), "out_of_memory"),
        ("Failed", "Failed", TOOLKIT.format(77), "diverged"),
        ("Failed", "Failed", TOOLKIT.format(1), "code"),
        ("Failed", "Failed", PLATFORM.format(2), "code"),
        ("Failed", "Failed", PLATFORM.format(143), "interrupted"),
        # 137 is what any SIGKILL leaves
        ("Failed", "Failed", TOOLKIT.format(137), "interrupted"),
        ("Failed", "Failed", TOOLKIT.format(137) + "\nKilled: Out of memory", "out_of_memory"),
        ("Failed", "Failed", PLATFORM.format(137) + " OOMKilled", "out_of_memory"),
        # a script that caught its own lack of memory and exited 1 has to be looked at by a person
        ("Failed", "Failed", TOOLKIT.format(1) + "\nOSError: Disk quota exceeded", "code"),
        # documented prefixes
        ("Failed", "Failed", "AlgorithmError: see the log", "code"),
        ("Failed", "Failed", CAPACITY, "capacity"),
        ("Failed", "Failed", "ClientError: insufficient capacity for ml.g5.2xlarge", "capacity"),
        ("Failed", "Failed", QUOTA, "quota"),
        ("Failed", "Failed", "InternalServerError: We encountered an internal error. Please try again.", "service"),
        ("Failed", "Failed", "ThrottlingException: Rate exceeded", "throttled"),
        ("Failed", "Failed", "ClientError: Data download failed: no objects under s3://data", "invalid"),
        (
            "Failed",
            "Failed",
            "ClientError: Please use an instance type with more memory, or reduce the size of training data",
            "out_of_memory",
        ),
        ("Failed", "Failed", "", "service"),
        # ends without a failure
        ("Completed", "Completed", "", "completed"),
        ("Stopped", "MaxRuntimeExceeded", "", "timeout"),
        ("Failed", "MaxRuntimeExceeded", "", "timeout"),
        ("Stopped", "Stopped", "", "stopped_by_user"),
    ],
)  # fmt: skip
def test_verdict(status: str, secondary: str, failure: str, verdict: str) -> None:
    assert record(status, secondary, failure)["verdict"] == verdict


def test_waiting_for_spot_until_the_end_is_lack_of_capacity_but_after_training_it_is_a_timeout() -> None:
    assert record("Stopped", "MaxWaitTimeExceeded")["verdict"] == "capacity"
    assert record("Stopped", "MaxWaitTimeExceeded", TrainingTimeInSeconds=700)["verdict"] == "timeout"


def test_stops_that_are_not_the_users() -> None:
    planned = {"stopping": {"reason": "no slack left to wait for Spot", "verdict": "capacity"}}
    assert record("Stopped", "Stopped", attempt=planned)["verdict"] == "capacity"
    assert record("Stopped", "Stopped", attempt={"execution": OTHER})["verdict"] == "interrupted"


def test_spot_that_took_the_job_and_gave_it_up_is_an_interruption_counted_once() -> None:
    history = [
        transition("Starting", -900, -800),
        transition("Training", -800, -100),
        transition("Interrupted", -100, -50),
    ]
    seen = record("Stopped", "Stopped", SecondaryStatusTransitions=[*history, transition("Stopped", -50)])
    assert (seen["verdict"], seen["interruptions"]) == ("interrupted", 1)


def test_interruptions_are_those_inside_the_job_and_the_one_that_ended_it() -> None:
    history = [
        transition("Starting", -900, -800),
        transition("Training", -800, -700),
        transition("Interrupted", -700, -690),
        transition("Restarting", -690, -600),
        transition("Training", -600, -100),
        transition("Failed", -100),
    ]
    assert record("InProgress", "Training", SecondaryStatusTransitions=history[:-1])["interruptions"] == 1
    seen = record("Failed", "Failed", PLATFORM.format(75), SecondaryStatusTransitions=history)
    assert seen["interruptions"] == 2


def test_one_transition_alone_is_still_a_list() -> None:
    seen = record("InProgress", "Starting", SecondaryStatusTransitions=[transition("Starting", -1000)])
    assert (seen["interruptions"], seen["since"]) == (0, NOW - 1000)


def test_waiting_counts_from_the_moment_the_instance_was_taken_away() -> None:
    history = [
        transition("Starting", -900, -800),
        transition("Training", -800, -300),
        transition("Interrupted", -300, -290),
        transition("Restarting", -290, -280),
        transition("Starting", -280),
    ]
    seen = record("InProgress", "Starting", SecondaryStatusTransitions=history)
    assert (seen["verdict"], seen["since"]) == ("waiting", NOW - 300)


@pytest.mark.parametrize(
    ("fields", "billable", "trained"),
    [
        ({"BillableTimeInSeconds": 30, "TrainingTimeInSeconds": 100}, 30, 100),
        ({"BillableTimeInSeconds": 0, "TrainingTimeInSeconds": 100}, 0, 100),
        ({"TrainingTimeInSeconds": 100}, 25, 100),  # missing: at the discount of the price list
        ({}, 0, 0),
        ({"TrainingStartTime": iso(-500), "TrainingEndTime": iso(-200)}, 75, 300),
        ({"TrainingStartTime": (NOW - 500) * 1000, "TrainingEndTime": (NOW - 200) * 1000}, 75, 300),  # milliseconds
    ],
)  # fmt: skip
def test_seconds_billed_and_trained(fields: dict[str, Any], billable: float, trained: float) -> None:
    seen = record("Failed", "Failed", CAPACITY, **fields)
    assert (seen["billable_s"], seen["training_s"]) == (billable, trained)


def test_a_running_job_costs_from_its_start_on() -> None:
    seen = record("InProgress", "Training", TrainingStartTime=iso(-120))
    assert (seen["billable_s"], seen["training_s"]) == (30, 120)
    assert "ended" not in seen


def test_a_completed_job_names_its_model_and_its_end() -> None:
    seen = record(
        "Completed",
        "Completed",
        ModelArtifacts={"S3ModelArtifacts": "s3://artifacts-bucket/toy/0a1b2c3d/model/x/output/model.tar.gz"},
        TrainingEndTime=iso(-5),
    )
    assert seen["model"].endswith("model.tar.gz")
    assert seen["ended"] == NOW - 5


def test_the_reason_holds_the_beginning_of_the_failure() -> None:
    """Two hundred attempts have to fit into one payload."""
    seen = record("Failed", "Failed", "CapacityError: " + "x" * 1000)
    assert seen["reason"].startswith("CapacityError: xxx")
    assert len(seen["reason"]) == 300


def test_the_last_lines_of_a_script_that_fails_are_kept() -> None:
    failure = "AlgorithmError: slipstream exit=1 KeyError\n" + "x" * 900 + "\nKeyError: 'tailwind'"
    assert record("Failed", "Failed", failure)["reason"] == failure
