"""What AWS refuses after its model has let a request pass, with AWS's texts, and the defaults that it fills in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import validation
from .objects import S3Uri
from .shapes import check_request

__all__ = ["accept_processing_job", "accept_training_job"]

_DAY_S = 86_400
_MAX_RUNTIME_S = 28 * _DAY_S
_NOT_OFFLINE = "The offline account cannot do this: "
_CODE_BY_ENTRYPOINT = (
    _NOT_OFFLINE + "{field} is missing, and there is no container image here whose own entry point could run. "
    "Name the command, as in ['python3', '/opt/ml/input/data/code/<hash>.zip']."
)


def accept_training_job(request: Mapping[str, Any]) -> dict[str, Any]:
    """Check a CreateTrainingJob request. Returns it with defaults; raises `SageMakerError`."""
    check_request("CreateTrainingJob", dict(request))
    for name in ("AlgorithmSpecification", "ResourceConfig", "StoppingCondition"):
        if name not in request:  # the model lets serverless jobs leave them out
            raise _null(name[0].lower() + name[1:])
    accepted = {"EnableNetworkIsolation": False, "EnableInterContainerTrafficEncryption": False,
                "EnableManagedSpotTraining": False, **request}  # fmt: skip
    accepted["StoppingCondition"] = _stopping_condition(accepted)
    _check_cluster(accepted["ResourceConfig"], spot=accepted["EnableManagedSpotTraining"])
    algorithm = accepted["AlgorithmSpecification"]
    if "TrainingImage" not in algorithm and "AlgorithmName" not in algorithm:
        raise validation("You must specify either an algorithm name or a training image, but neither was given")
    if not algorithm.get("ContainerEntrypoint"):
        raise validation(_CODE_BY_ENTRYPOINT.format(field="AlgorithmSpecification.ContainerEntrypoint"))
    _check_metrics(algorithm.get("MetricDefinitions", []))
    _check_channels(accepted.get("InputDataConfig", []), algorithm["TrainingInputMode"])
    _check_uri(accepted["OutputDataConfig"]["S3OutputPath"])
    if "CheckpointConfig" in accepted:
        _check_uri(accepted["CheckpointConfig"]["S3Uri"])
        accepted["CheckpointConfig"] = {"LocalPath": "/opt/ml/checkpoints", **accepted["CheckpointConfig"]}
    return accepted


def accept_processing_job(request: Mapping[str, Any]) -> dict[str, Any]:
    """Check a CreateProcessingJob request. Returns it with defaults; raises `SageMakerError`."""
    check_request("CreateProcessingJob", dict(request))
    for name in ("AppSpecification", "ProcessingResources"):
        if name not in request:
            raise _null(name[0].lower() + name[1:])
    if not request["AppSpecification"].get("ContainerEntrypoint"):
        raise validation(_CODE_BY_ENTRYPOINT.format(field="AppSpecification.ContainerEntrypoint"))
    for item in request.get("ProcessingInputs", []):
        if "S3Input" not in item:
            raise validation(f"{_NOT_OFFLINE}ProcessingInputs '{item['InputName']}' is not an S3Input")
        _check_uri(item["S3Input"]["S3Uri"])
    for item in request.get("ProcessingOutputConfig", {}).get("Outputs", []):
        if "S3Output" not in item:
            raise validation(f"{_NOT_OFFLINE}the output '{item['OutputName']}' is not an S3Output")
        _check_uri(item["S3Output"]["S3Uri"])
    return {"StoppingCondition": {"MaxRuntimeInSeconds": _DAY_S}, **request}


def _stopping_condition(request: Mapping[str, Any]) -> dict[str, Any]:
    condition = {"MaxRuntimeInSeconds": _DAY_S, **request["StoppingCondition"]}
    runtime_s, wait_s = condition["MaxRuntimeInSeconds"], condition.get("MaxWaitTimeInSeconds")
    if runtime_s > _MAX_RUNTIME_S:
        raise validation(f"MaxRuntimeInSeconds must be less than or equal to {_MAX_RUNTIME_S}")
    if not request["EnableManagedSpotTraining"]:
        if wait_s is not None:
            raise validation(
                "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true"
            )
    elif wait_s is None or wait_s < runtime_s:
        raise validation(
            "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to MaxRuntimeInSeconds"
        )
    return condition


def _check_cluster(resources: Mapping[str, Any], *, spot: bool) -> None:
    for name in ("InstanceType", "InstanceCount"):
        if name not in resources:
            raise validation(f"{_NOT_OFFLINE}ResourceConfig has no {name}; instance groups are not supported")
    if spot and resources.get("KeepAlivePeriodInSeconds"):
        raise validation("KeepAlivePeriodInSeconds is not supported when EnableManagedSpotTraining is set to true")


def _check_metrics(definitions: Iterable[Mapping[str, str]]) -> None:
    for definition in definitions:
        try:
            pattern = re.compile(definition["Regex"])
        except re.error as error:
            raise validation(f"Invalid regex for metric '{definition['Name']}': {error}") from error
        if pattern.groups < 1:
            raise validation(f"Regex of metric '{definition['Name']}' must have a group that captures the value")


def _check_channels(channels: list[Mapping[str, Any]], input_mode: str) -> None:
    names = [channel["ChannelName"] for channel in channels]
    if len(set(names)) < len(names):
        raise validation(f"Input channel names must be unique, got: {', '.join(names)}")
    for channel in channels:
        name = channel["ChannelName"]
        source = channel["DataSource"].get("S3DataSource")
        if source is None or source["S3DataType"] != "S3Prefix":
            raise validation(f"{_NOT_OFFLINE}channel '{name}' is not an S3Prefix")
        if channel.get("InputMode", input_mode) == "Pipe":
            raise validation(f"{_NOT_OFFLINE}channel '{name}' is in Pipe mode")
        _check_uri(source["S3Uri"])


def _check_uri(uri: str) -> None:
    try:
        S3Uri.parse(uri)
    except ValueError as error:
        raise validation(f"Invalid S3 URI: {error}") from error


def _null(path: str) -> Exception:
    return validation(
        f"1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
    )
