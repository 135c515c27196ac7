"""Requests that AWS refuses, in AWS's words."""

from __future__ import annotations

from typing import Any

import pytest

from infra.offline.sagemaker import SageMakerError
from infra.offline.sagemaker.rules import accept_processing_job, accept_training_job

from .requests import channel, processing_request, spot_request, training_request

RESOURCES = {"InstanceType": "ml.m5.2xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}


def algorithm(**changes: Any) -> dict[str, Any]:
    specification: dict[str, Any] = training_request()["AlgorithmSpecification"] | changes
    return {name: value for name, value in specification.items() if value is not None}


def refusal(request: dict[str, Any]) -> str:
    with pytest.raises(SageMakerError) as refused:
        accept_training_job(request)
    assert refused.value.code == "ValidationException"
    return refused.value.message


def test_good_requests_pass_and_get_defaults() -> None:
    accepted = accept_training_job(spot_request(StoppingCondition={"MaxWaitTimeInSeconds": 90_000}))
    assert accepted["StoppingCondition"]["MaxRuntimeInSeconds"] == 86_400
    assert accepted["CheckpointConfig"]["LocalPath"] == "/opt/ml/checkpoints"
    assert accept_training_job(training_request())["EnableManagedSpotTraining"] is False


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("-flights", "Member must satisfy regular expression pattern"),
        ("flights_1", "Member must satisfy regular expression pattern"),
    ],
)
def test_names(name: str, words: str) -> None:
    message = refusal(training_request(name))
    assert message.startswith(f"1 validation error detected: Value '{name}' at 'trainingJobName' failed")
    assert words in message


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 20}},
         "It is only supported when EnableManagedSpotTraining is set to true"),
        ({"StoppingCondition": {"MaxRuntimeInSeconds": 29 * 86_400}}, "less than or equal to 2419200"),
        ({"ResourceConfig": RESOURCES | {"InstanceType": "ml.nothing"}}, "Member must satisfy enum value set"),
        ({"ResourceConfig": RESOURCES | {"InstanceCount": "1"}}, "must be of type integer"),
        ({"ResourceConfig": RESOURCES | {"InstanceCount": -1}}, "greater than or equal to"),
        ({"ResourceConfig": {"InstanceType": "ml.m5.large"}}, "ResourceConfig has no InstanceCount"),
        ({"HyperParameters": {"a": "x" * 2501}}, "less than or equal to 2500"),
        ({"HyperParameters": {"a": 1}}, "must be of type string"),
        ({"Invented": 1}, "Unknown parameter 'Invented'"),
        ({"AlgorithmSpecification": algorithm(TrainingImage=None)}, "neither was given"),
        ({"AlgorithmSpecification": algorithm(ContainerEntrypoint=None)}, "ContainerEntrypoint is missing"),
        ({"AlgorithmSpecification": algorithm(MetricDefinitions=[{"Name": "a", "Regex": "a=("}])}, "Invalid regex"),
        ({"AlgorithmSpecification": algorithm(MetricDefinitions=[{"Name": "a", "Regex": "a=1"}])}, "must have a group"),
        ({"InputDataConfig": [channel("a", "s3://b/c"), channel("a", "s3://b/d")]}, "must be unique"),
        ({"InputDataConfig": [channel("a", "s3://b/c") | {"InputMode": "Pipe"}]}, "Pipe mode"),
        ({"InputDataConfig": [channel("a", "s3://b/c", S3DataType="ManifestFile")]}, "not an S3Prefix"),
        ({"InputDataConfig": [channel("a", "https://example.com/b/c")]}, "is not an S3 URI"),
        ({"OutputDataConfig": {"S3OutputPath": "s3:///x"}}, "regular expression pattern"),
    ],
)  # fmt: skip
def test_refusals(changes: dict[str, Any], words: str) -> None:
    assert words in refusal(training_request(**changes))


@pytest.mark.parametrize("condition", [{"MaxRuntimeInSeconds": 20, "MaxWaitTimeInSeconds": 10}, {}])
def test_spot_needs_a_wait_as_long_as_its_runtime(condition: dict[str, int]) -> None:
    assert refusal(spot_request(StoppingCondition=condition)) == (
        "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to MaxRuntimeInSeconds"
    )


def test_spot_excludes_warm_pools() -> None:
    message = refusal(spot_request(ResourceConfig=RESOURCES | {"KeepAlivePeriodInSeconds": 60}))
    assert "KeepAlivePeriodInSeconds" in message


@pytest.mark.parametrize("name", ["AlgorithmSpecification", "ResourceConfig", "StoppingCondition", "RoleArn"])
def test_members_that_must_be_there(name: str) -> None:
    request = training_request()
    del request[name]
    assert f"Value null at '{name[0].lower() + name[1:]}'" in refusal(request)


def test_every_violation_is_named() -> None:
    message = refusal(training_request("a" * 64))
    assert "Member must have length less than or equal to 63; Value" in message
    message = refusal(training_request("-", ResourceConfig=RESOURCES | {"InstanceType": "ml.nothing"}))
    assert message.startswith("2 validation errors detected: ")


def test_processing_jobs() -> None:
    assert accept_processing_job(processing_request())["StoppingCondition"] == {"MaxRuntimeInSeconds": 86_400}
    with pytest.raises(SageMakerError, match="ContainerEntrypoint is missing"):
        accept_processing_job(processing_request(AppSpecification={"ImageUri": "image"}))
    broken = processing_request()
    broken["ProcessingInputs"][0]["S3Input"]["S3Uri"] = "https://x/y"
    with pytest.raises(SageMakerError, match="is not an S3 URI"):
        accept_processing_job(broken)
