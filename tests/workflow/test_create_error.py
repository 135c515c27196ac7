"""Refusals of Create, and failures of a `.sync` job, in every form that has been seen or documented."""

from __future__ import annotations

import json

import pytest

from tests.workflow.evaluate import evaluate

QUOTA = (
    "The account-level service limit 'ml.p3dn.24xlarge for training job usage' is 0 Instances, with current "
    "utilization of 0 Instances and a request delta of 1 Instances. Please use AWS Service Quotas to ask for more."
)
CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)


def v1(text: str, code: str, status: int = 400) -> str:
    """As optimized integrations word it."""
    return f"{text} (Service: AmazonSageMaker; Status Code: {status}; Error Code: {code}; Request ID: 1-2; Proxy: null)"


def v2(text: str, status: int = 400) -> str:
    """As AWS SDK integrations word it: without a code."""
    return f"{text} (Service: SageMaker, Status Code: {status}, Request ID: 1-2, Extended Request ID: null)"


def ended(failure: str, status: str = "Failed") -> str:
    return json.dumps({"ProcessingJobName": "toy", "ProcessingJobStatus": status, "FailureReason": failure})


@pytest.mark.parametrize(
    ("error", "cause", "verdict"),
    [
        # quota
        ("SageMaker.ResourceLimitExceeded", v1(QUOTA, "ResourceLimitExceeded"), "quota"),
        ("SageMaker.ResourceLimitExceededException", v2(QUOTA), "quota"),
        ("SageMaker.AmazonSageMakerException", v1(QUOTA, "ResourceLimitExceeded"), "quota"),
        ("SageMaker.SageMakerException", v2(QUOTA), "quota"),
        # throttling
        ("SageMaker.ThrottlingException", v1("Rate exceeded", "ThrottlingException"), "throttled"),
        ("ThrottlingException", v1("Rate exceeded", "ThrottlingException"), "throttled"),
        ("SageMaker.AmazonSageMakerException", v1("Rate exceeded", "ThrottlingException"), "throttled"),
        ("SageMaker.SageMakerException", v2("Rate exceeded"), "throttled"),
        # the same error name, a wrong request: trying again would never end
        ("SageMaker.AmazonSageMakerException", v1("1 validation error detected", "ValidationException"), "invalid"),
        ("SageMaker.SageMakerException", v2("Could not assume role arn:aws:iam::1:role/x"), "invalid"),
        ("SageMaker.SageMakerException", v2("No S3 objects found under S3 URL s3://data/"), "invalid"),
        ("SageMaker.AmazonSageMakerException", v1("User is not authorized", "AccessDeniedException"), "invalid"),
        # a validation error whose text speaks of limits is a validation error
        ("SageMaker.AmazonSageMakerException", v1("the account-level service limit", "ValidationException"), "invalid"),
        # the service
        ("SageMaker.AmazonSageMakerException", v1("We hit an error", "InternalFailure", 500), "service"),
        ("SageMaker.SageMakerException", v2("We hit an error", 503), "service"),
        ("SageMaker.SomethingNew", "", "service"),
        # capacity, should Create ever say so itself
        ("SageMaker.SageMakerException", v2("InsufficientInstanceCapacity: no ml.g5.xlarge left"), "capacity"),
        # the job may exist: look before anything else
        ("SageMaker.ResourceInUseException", v2("Training job names must be unique"), "waiting"),
        ("SageMaker.AmazonSageMakerException", v1("toy-1-01 already exists", "ResourceInUse"), "waiting"),
        ("States.Timeout", "", "waiting"),
        ("SageMaker.SdkClientException", "Unable to execute HTTP request: connect timed out", "waiting"),
        # .sync: Cause is the job's description
        ("States.TaskFailed", ended("AlgorithmError: , exit code: 1"), "code"),
        ("States.TaskFailed", ended(CAPACITY), "capacity"),
        ("States.TaskFailed", ended("InternalServerError: We encountered an internal error."), "service"),
        ("States.TaskFailed", ended("ClientError: Data download failed"), "invalid"),
        ("States.TaskFailed", json.dumps({"ProcessingJobStatus": "Stopped"}), "stopped_by_user"),
        ("States.TaskFailed", "{cut off in the midd", "service"),
    ],
)  # fmt: skip
def test_verdict(error: str, cause: str, verdict: str) -> None:
    assert evaluate("create_error", states={"errorOutput": {"Error": error, "Cause": cause}})["verdict"] == verdict


def test_a_refusal_keeps_the_words_of_the_service() -> None:
    refusal = evaluate(
        "create_error",
        states={"errorOutput": {"Error": "SageMaker.ResourceLimitExceededException", "Cause": v2(QUOTA)}},
    )
    assert refusal["status"] == "Refused"
    assert refusal["reason"].startswith("The account-level service limit 'ml.p3dn.24xlarge")


def test_a_failed_job_gives_its_reason_not_its_description() -> None:
    description = json.loads(ended("AlgorithmError: See job logs")) | {"ExitMessage": "column 'late' is missing"}
    states = {"errorOutput": {"Error": "States.TaskFailed", "Cause": json.dumps(description)}}
    assert evaluate("create_error", states=states)["reason"] == (
        "AlgorithmError: See job logs; column 'late' is missing; Failed"
    )


def test_an_error_without_a_cause_is_its_own_reason() -> None:
    assert evaluate("create_error", states={"errorOutput": {"Error": "States.Timeout"}})["reason"] == "States.Timeout"
