"""The spelling of Step Functions: names, values, errors."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.response import StreamingBody
from botocore.session import get_session

from infra.offline.states.aws_names import (
    client_name,
    error_name,
    error_prefix,
    iso_instant,
    milliseconds,
    to_answer,
    to_request,
)

MOMENT = datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)


def operation(service: str, name: str) -> Any:
    return get_session().get_service_model(service).operation_model(name)


@pytest.mark.parametrize(
    ("service", "client", "prefix"),
    [
        ("s3", "s3", "S3"),
        ("sagemaker", "sagemaker", "SageMaker"),
        ("sfn", "stepfunctions", "Sfn"),
        ("states", "stepfunctions", "StepFunctions"),
        ("ssm", "ssm", "Ssm"),
        ("sns", "sns", "Sns"),
        ("dynamodb", "dynamodb", "DynamoDb"),
        ("cloudwatchlogs", "logs", "CloudWatchLogs"),
    ],
)
def test_services(service: str, client: str, prefix: str) -> None:
    assert (client_name(service), error_prefix(service)) == (client, prefix)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("NoSuchKey", "NoSuchKeyException"),
        ("ResourceLimitExceeded", "ResourceLimitExceededException"),
        ("ConflictException", "ConflictException"),
        ("ServerFault", "ServerException"),
        ("ValidationException", "S3Exception"),
    ],
)
def test_errors(code: str, name: str) -> None:
    modelled = {code: code for code in ("NoSuchKey", "ResourceLimitExceeded", "ConflictException", "ServerFault")}
    assert error_name(code, modelled, "S3Exception") == name


def test_requests_are_respelled_through_structures_lists_and_maps() -> None:
    shape = operation("stepfunctions", "CreateStateMachine").input_shape
    given = {"Name": "m", "Tags": [{"Key": "k", "Value": "v"}], "LoggingConfiguration": {"Level": "ALL"}, "Odd": 1}
    assert to_request(shape, given) == {
        "name": "m",
        "tags": [{"key": "k", "value": "v"}],
        "loggingConfiguration": {"level": "ALL"},
        "Odd": 1,
    }


def test_map_keys_are_the_user_s() -> None:
    shape = operation("sagemaker", "CreateTrainingJob").input_shape
    given = {"HyperParameters": {"learning_rate": "0.1"}, "Environment": {"A": "b"}}
    assert to_request(shape, given) == given


def test_a_body_may_be_JSON() -> None:  # noqa: N802
    shape = operation("s3", "PutObject").input_shape
    assert to_request(shape, {"Body": {"a": [1, None]}}) == {"Body": '{"a":[1,null]}'}
    assert to_request(shape, {"Body": "as it is"}) == {"Body": "as it is"}


def test_answers() -> None:
    shape = operation("s3", "GetObject").output_shape
    body = StreamingBody(io.BytesIO("é".encode()), 2)
    answer = {"Body": body, "ETag": '"abc"', "LastModified": MOMENT, "ResponseMetadata": {"HTTPStatusCode": 200}}
    assert to_answer(shape, answer, iso_instant) == {
        "Body": "é",
        "ETag": '"abc"',
        "LastModified": "2026-01-31T12:00:00.250Z",
    }


def test_answers_are_respelled() -> None:
    shape = operation("stepfunctions", "ListExecutions").output_shape
    answer = {"executions": [{"executionArn": "a", "startDate": MOMENT}], "nextToken": "t"}
    assert to_answer(shape, answer, milliseconds) == {
        "Executions": [{"ExecutionArn": "a", "StartDate": 1_769_860_800_250}],
        "NextToken": "t",
    }


def test_whole_seconds_have_no_fraction() -> None:
    assert iso_instant(MOMENT.replace(microsecond=0)) == "2026-01-31T12:00:00Z"
