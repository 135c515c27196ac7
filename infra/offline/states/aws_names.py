"""How Step Functions spells AWS: services, members, values and errors.

Requests and answers of service integrations are written in the AWS SDK for Java's spelling (`StateMachineArn` where the
API has `stateMachineArn`), and errors carry its class names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from botocore.model import ListShape, MapShape, Shape, StructureShape

__all__ = ["client_name", "error_name", "error_prefix", "iso_instant", "milliseconds", "to_answer", "to_request"]

_CLIENTS: Final = {"sfn": "stepfunctions", "states": "stepfunctions", "cloudwatchlogs": "logs", "eventbridge": "events"}
_PREFIXES: Final = {
    "sagemaker": "SageMaker",
    "dynamodb": "DynamoDb",
    "cloudwatchlogs": "CloudWatchLogs",
    "eventbridge": "EventBridge",
    "states": "StepFunctions",
}


def client_name(service: str) -> str:
    """boto3's name of a service that a resource ARN names."""
    return _CLIENTS.get(service, service)


def error_prefix(service: str) -> str:
    """What a service's error names begin with: `SageMaker`, `S3`, `Sfn`."""
    return _PREFIXES.get(service, service.capitalize())


def error_name(code: str, modelled: Mapping[str, str], fallback: str) -> str:
    """The SDK's exception class for an error code.

    Args:
        modelled: shape names of the service's exceptions by error code.
        fallback: the service's general exception, for codes without a shape (S3's PreconditionFailed, throttling).
    """
    shape = modelled.get(code)
    if shape is None:
        return fallback
    if shape.endswith("Fault"):
        return shape.removesuffix("Fault") + "Exception"
    return shape if shape.endswith("Exception") else shape + "Exception"


def to_request(shape: Shape, value: Any) -> Any:
    """Arguments as boto3 takes them."""
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        members = {_upper_first(name): name for name in shape.members}
        return {
            members.get(name, name): to_request(shape.members[members[name]], item) if name in members else item
            for name, item in value.items()
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [to_request(shape.member, item) for item in value]
    if isinstance(shape, MapShape) and isinstance(value, Mapping):
        return {key: to_request(shape.value, item) for key, item in value.items()}
    if shape.type_name == "blob" and not isinstance(value, str):
        return json.dumps(value, separators=(",", ":"))  # S3's Body may be given as JSON
    return value


def to_answer(shape: Shape, value: Any, time: Callable[[datetime], Any]) -> Any:
    """An answer of boto3 as JSON.

    Args:
        time: how a timestamp is written.
    """
    if isinstance(shape, StructureShape):
        return {
            _upper_first(name): to_answer(shape.members[name], item, time)
            for name, item in value.items()
            if name in shape.members
        }
    if isinstance(shape, ListShape):
        return [to_answer(shape.member, item, time) for item in value]
    if isinstance(shape, MapShape):
        return {key: to_answer(shape.value, item, time) for key, item in value.items()}
    if isinstance(value, datetime):
        return time(value)
    if shape.type_name == "blob":
        content = value.read() if hasattr(value, "read") else value
        return content.decode("utf-8", errors="replace")
    return value


def iso_instant(moment: datetime) -> str:
    """As SDK integrations write a timestamp: `2026-01-31T12:00:00Z`, with milliseconds where there are some."""
    moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds" if moment.microsecond >= 1000 else "seconds")[:-6] + "Z"


def milliseconds(moment: datetime) -> int:
    """As optimized integrations write a timestamp."""
    return round(moment.timestamp() * 1000)


def _upper_first(name: str) -> str:
    return name[:1].upper() + name[1:]
