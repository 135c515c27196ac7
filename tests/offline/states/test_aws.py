"""Service integrations against an emulated account."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from infra.offline.clock import RealClock
from infra.offline.states import StatesError, TaskContext
from infra.offline.states.aws import BotoServices
from tests.offline.states.conftest import Account
from tests.offline.states.running import machine

SDK = "arn:aws:states:::aws-sdk:"


def call(account: Account, resource: str, **arguments: Any) -> Any:
    context = TaskContext("arn", "State", "role", RealClock(), lambda _: None, lambda: None)
    return asyncio.run(account.services.call(resource, arguments, context))


def refusal(account: Account, resource: str, **arguments: Any) -> StatesError:
    with pytest.raises(StatesError) as refused:
        call(account, resource, **arguments)
    return refused.value


@pytest.fixture
def bucket(account: Account) -> str:
    account.client("s3").create_bucket(Bucket="bucket")
    return "bucket"


def test_an_object_comes_back_as_text_with_its_etag_in_quotes(account: Account, bucket: str) -> None:
    put = call(account, f"{SDK}s3:putObject", Bucket=bucket, Key="k", Body={"a": [1, "é"]})
    got = call(account, f"{SDK}s3:getObject", Bucket=bucket, Key="k")
    assert json.loads(got["Body"]) == {"a": [1, "é"]}
    assert got["ETag"] == put["ETag"]
    assert got["ETag"].startswith('"')
    assert got["LastModified"].endswith("Z")
    assert "ResponseMetadata" not in got


def test_a_conditional_put_is_refused_with_the_service_s_general_exception(account: Account, bucket: str) -> None:
    call(account, f"{SDK}s3:putObject", Bucket=bucket, Key="lock", Body="1", IfNoneMatch="*")
    error = refusal(account, f"{SDK}s3:putObject", Bucket=bucket, Key="lock", Body="2", IfNoneMatch="*")
    assert error.error == "S3.S3Exception"
    assert "Status Code: 412" in error.cause


def test_a_missing_key_is_a_modelled_exception(account: Account, bucket: str) -> None:
    error = refusal(account, f"{SDK}s3:getObject", Bucket=bucket, Key="gone")
    assert error.error == "S3.NoSuchKeyException"
    assert "(Service: S3, Status Code: 404, Request ID: " in error.cause


def test_a_missing_parameter_of_ssm(account: Account) -> None:
    assert refusal(account, f"{SDK}ssm:getParameter", Name="/gone").error == "Ssm.ParameterNotFoundException"


def test_no_keys_in_a_listing(account: Account, bucket: str) -> None:
    assert call(account, f"{SDK}s3:listObjectsV2", Bucket=bucket, Prefix="none/")["KeyCount"] == 0


@pytest.mark.parametrize(
    ("resource", "arguments", "cause"),
    [
        (f"{SDK}s3:getObject", {"Bucket": "b"}, "Missing required parameter"),
        (f"{SDK}s3:getObject", {"Bucket": "b", "Key": 1}, "Invalid type for parameter Key"),
        (f"{SDK}s3:getObject", {"Bucket": "b", "Key": "k", "Kee": 1}, "Unknown parameter"),
        (f"{SDK}s3:takeObject", {}, "has no action 'takeObject'"),
        (f"{SDK}nowhere:getObject", {}, "There is no service 'nowhere'"),
        ("arn:aws:states:::lambda:invoke", {}, "is not emulated"),
        ("arn:aws:states:::sns:publish.sync", {}, "is not emulated"),
    ],
)
def test_what_no_retry_can_mend_is_a_runtime_error(
    account: Account, resource: str, arguments: dict[str, Any], cause: str
) -> None:
    error = refusal(account, resource, **arguments)
    assert error.error == "States.Runtime"
    assert cause in error.cause


def test_a_service_out_of_reach() -> None:
    services = BotoServices(endpoint_url="http://127.0.0.1:9", region="us-east-1")
    context = TaskContext("arn", "State", "role", RealClock(), lambda _: None, lambda: None)
    with pytest.raises(StatesError) as refused:
        asyncio.run(services.call(f"{SDK}s3:getObject", {"Bucket": "b", "Key": "k"}, context))
    services.close()
    assert refused.value.error == "S3.SdkClientException"


def test_optimized_integrations_speak_the_older_dialect(account: Account) -> None:
    arn = account.create("child", json.dumps(machine({"A": {"Type": "Pass"}})))
    answer = call(account, "arn:aws:states:::states:startExecution", StateMachineArn=arn, Name="n", Input={"a": 1})
    assert isinstance(answer["StartDate"], int)
    assert account.executions.join(answer["ExecutionArn"], 10).output == '{"a":1}'
    error = refusal(account, "arn:aws:states:::states:startExecution", StateMachineArn=arn, Name="n", Input={"a": 2})
    assert error.error == "StepFunctions.ExecutionAlreadyExistsException"
    assert "Error Code: ExecutionAlreadyExists; Request ID:" in error.cause


def test_a_message_may_be_JSON(account: Account) -> None:  # noqa: N802
    topic = account.client("sns").create_topic(Name="news")["TopicArn"]
    assert call(account, "arn:aws:states:::sns:publish", TopicArn=topic, Message={"a": 1})["MessageId"]


def test_many_calls_at_once_share_the_clients(account: Account, bucket: str) -> None:
    context = TaskContext("arn", "State", "role", RealClock(), lambda _: None, lambda: None)

    async def put(index: int) -> Any:
        arguments = {"Bucket": bucket, "Key": f"k{index}", "Body": "x"}
        return await account.services.call(f"{SDK}s3:putObject", arguments, context)

    async def main() -> list[Any]:
        return await asyncio.gather(*(put(index) for index in range(40)))

    assert len(asyncio.run(main())) == 40
    assert call(account, f"{SDK}s3:listObjectsV2", Bucket=bucket)["KeyCount"] == 40


def test_a_sync_job_runs_to_its_end(account: Account) -> None:
    """moto's training jobs are born completed; the engine's are followed in the engine's own tests."""
    request = {
        "TrainingJobName": "job",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/r",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }
    answer = call(account, "arn:aws:states:::sagemaker:createTrainingJob.sync", **request)
    assert answer["TrainingJobStatus"] == "Completed"
    assert isinstance(answer["CreationTime"], int)
