"""moto's services as the account mends them, over HTTP."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from infra.offline.account import Account
from infra.offline.faults import Fault

from .conftest import Clients
from .sagemaker.requests import processing_request, training_request
from .waiting import until

ROLE = "arn:aws:iam::123456789012:role/states"
LOG_GROUP = "/aws/sagemaker/TrainingJobs"


def together(work: Callable[[int], Any], times: int) -> list[Any]:
    """Results (or errors) of `work` in as many threads, started at once."""
    results: list[Any] = [None] * times
    gate = threading.Barrier(times)

    def one(number: int) -> None:
        gate.wait()
        try:
            results[number] = work(number)
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=one, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.fixture(scope="module")
def bucket(client: Clients) -> str:
    client("s3").create_bucket(Bucket="bucket")
    return "bucket"


class TestConditionalPut:
    """A run's lock rests on this."""

    def test_only_one_of_many_creates_an_object(self, client: Clients, bucket: str) -> None:
        s3 = client("s3")
        results = together(
            lambda number: s3.put_object(Bucket=bucket, Key="lock.json", Body=str(number), IfNoneMatch="*"), 16
        )
        errors = [result for result in results if isinstance(result, Exception)]
        assert len(errors) == 15
        assert {error.response["Error"]["Code"] for error in errors} == {"PreconditionFailed"}
        (winner,) = [number for number, result in enumerate(results) if not isinstance(result, Exception)]
        assert s3.get_object(Bucket=bucket, Key="lock.json")["Body"].read() == str(winner).encode()

    def test_only_one_of_many_takes_a_lock_over(self, client: Clients, bucket: str) -> None:
        s3 = client("s3")
        etag = s3.put_object(Bucket=bucket, Key="stale.json", Body=b"old")["ETag"]
        results = together(
            lambda number: s3.put_object(Bucket=bucket, Key="stale.json", Body=str(number), IfMatch=etag), 16
        )
        errors = [result for result in results if isinstance(result, Exception)]
        assert len(errors) == 15
        assert {error.response["ResponseMetadata"]["HTTPStatusCode"] for error in errors} == {412}


class TestObjects:
    def test_listing_while_others_upload(self, client: Clients, bucket: str) -> None:
        s3 = client("s3")

        def work(number: int) -> int:
            for step in range(20):
                if number % 2:
                    s3.put_object(Bucket=bucket, Key=f"busy/{number}/{step}", Body=b"x" * 1000)
                else:
                    s3.list_objects_v2(Bucket=bucket, Prefix="busy/")
            return number

        assert together(work, 8) == list(range(8))
        assert s3.list_objects_v2(Bucket=bucket, Prefix="busy/")["KeyCount"] == 80

    def test_an_etag_is_that_of_the_bytes(self, client: Clients, bucket: str) -> None:
        s3 = client("s3")
        first = s3.put_object(Bucket=bucket, Key="progress.json", Body=b"one")["ETag"]
        second = s3.put_object(Bucket=bucket, Key="progress.json", Body=b"two")["ETag"]
        assert first != second
        assert s3.head_object(Bucket=bucket, Key="progress.json")["ETag"] == second

    def test_multipart_uploads_copies_and_metadata(self, client: Clients, bucket: str) -> None:
        s3 = client("s3")
        part = b"p" * (5 << 20)
        upload = s3.create_multipart_upload(Bucket=bucket, Key="big", Metadata={"made": "by-parts"})["UploadId"]
        parts = [
            {
                "PartNumber": number,
                "ETag": s3.upload_part(Bucket=bucket, Key="big", UploadId=upload, PartNumber=number, Body=part)["ETag"],
            }
            for number in (1, 2)
        ]
        s3.complete_multipart_upload(Bucket=bucket, Key="big", UploadId=upload, MultipartUpload={"Parts": parts})
        s3.copy_object(Bucket=bucket, Key="copy", CopySource={"Bucket": bucket, "Key": "big"})
        copy = s3.get_object(Bucket=bucket, Key="copy")
        assert copy["Metadata"] == {"made": "by-parts"}
        assert copy["Body"].read() == part * 2
        ranged = s3.get_object(Bucket=bucket, Key="big", Range="bytes=5242878-5242881")
        assert ranged["Body"].read() == b"pppp"

    def test_deleted_objects_are_gone_from_the_folder(self, client: Clients, bucket: str, shared: Account) -> None:
        s3 = client("s3")
        s3.put_object(Bucket=bucket, Key="gone/one", Body=b"1")
        file = shared.folder / "s3" / bucket / "gone" / "one"
        assert file.read_bytes() == b"1"
        s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "gone/one"}]})
        assert not file.exists()


class TestSageMaker:
    def test_a_job_through_the_api_its_logs_and_tags(self, client: Clients, bucket: str) -> None:
        client("s3").put_object(
            Bucket=bucket,
            Key="code/main.py",
            Body=b"import boto3\n"
            b"boto3.client('s3').put_object(Bucket='bucket', Key='progress/flights', Body=b'{}')\n"
            b"print('validation:auc=0.67')\n",
        )
        sagemaker, name = client("sagemaker"), "flights-aaaaaaaa-01"
        arn = sagemaker.create_training_job(**training_request(name, Tags=[{"Key": "a", "Value": "1"}]))[
            "TrainingJobArn"
        ]
        job = until(
            lambda: (
                (job := sagemaker.describe_training_job(TrainingJobName=name))["TrainingJobStatus"] != "InProgress"
                and job
            )
        )
        assert (job["TrainingJobStatus"], job.get("FailureReason")) == ("Completed", None)
        assert client("s3").head_object(Bucket=bucket, Key="progress/flights")["ContentLength"] == 2
        logs = client("logs")
        (stream,) = logs.describe_log_streams(logGroupName=LOG_GROUP, logStreamNamePrefix=f"{name}/")["logStreams"]
        events = logs.get_log_events(logGroupName=LOG_GROUP, logStreamName=stream["logStreamName"])["events"]
        assert [event["message"] for event in events] == ["validation:auc=0.67"]
        sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "b", "Value": "2"}])
        sagemaker.delete_tags(ResourceArn=arn, TagKeys=["a"])
        assert sagemaker.list_tags(ResourceArn=arn)["Tags"] == [{"Key": "b", "Value": "2"}]

    def test_refusals_have_aws_s_codes(self, client: Clients) -> None:
        sagemaker = client("sagemaker")
        with pytest.raises(sagemaker.exceptions.ClientError) as refused:
            sagemaker.describe_training_job(TrainingJobName="nothing")
        assert refused.value.response["Error"] == {
            "Code": "ValidationException",
            "Message": "Requested resource not found.",
        }
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400

    def test_a_taken_name_is_a_modelled_error(self, client: Clients, bucket: str) -> None:
        sagemaker = client("sagemaker")
        client("s3").put_object(Bucket=bucket, Key="code/main.py", Body=b"")
        request = training_request("flights-bbbbbbbb-01")
        sagemaker.create_training_job(**request)
        with pytest.raises(sagemaker.exceptions.ResourceInUse):
            sagemaker.create_training_job(**request)

    def test_faults_meet_create(self, client: Clients, shared: Account) -> None:
        shared.set_faults([Fault(do="throttle"), Fault(do="quota")])
        sagemaker = client("sagemaker")
        codes = []
        for _ in range(2):
            with pytest.raises(sagemaker.exceptions.ClientError) as refused:
                sagemaker.create_training_job(**training_request("flights-cccccccc-01"))
            codes.append(refused.value.response["Error"]["Code"])
        assert codes == ["ThrottlingException", "ResourceLimitExceeded"]

    def test_processing_jobs_are_there_too(self, client: Clients, bucket: str) -> None:
        client("s3").put_object(Bucket=bucket, Key="code/main.py", Body=b"print('prepared')")
        sagemaker = client("sagemaker")
        sagemaker.create_processing_job(**processing_request("prepare-aaaaaaaa"))
        job = until(
            lambda: (
                (job := sagemaker.describe_processing_job(ProcessingJobName="prepare-aaaaaaaa"))["ProcessingJobStatus"]
                != "InProgress"
                and job
            )
        )
        assert job["ProcessingJobStatus"] == "Completed"


@pytest.fixture(scope="module")
def heard(client: Clients) -> Callable[[], list[dict[str, Any]]]:
    """Inputs of the executions of a machine that two rules start."""
    listener = client("stepfunctions").create_state_machine(
        name="listener",
        roleArn=ROLE,
        definition=json.dumps({"QueryLanguage": "JSONata", "StartAt": "P", "States": {"P": {"Type": "Succeed"}}}),
    )["stateMachineArn"]
    events = client("events")
    pattern = {
        "source": ["aws.states"],
        "detail-type": ["Step Functions Execution Status Change"],
        "detail": {
            "status": ["ABORTED"],
            "stateMachineArn": [{"prefix": listener[: -len("listener")] + "waiting"}],
        },
    }
    events.put_rule(Name="aborted", EventPattern=json.dumps(pattern))
    transformer = {
        "InputPathsMap": {"execution": "$.detail.executionArn", "input": "$.detail.input"},
        "InputTemplate": '{"execution": <execution>, "input": <input>}',
    }
    target = {"Id": "1", "Arn": listener, "RoleArn": ROLE}
    events.put_targets(Rule="aborted", Targets=[target | {"InputTransformer": transformer}])
    jobs = {"source": ["aws.sagemaker"], "detail": {"TrainingJobStatus": ["Completed"]}}
    events.put_rule(Name="jobs", EventPattern=json.dumps(jobs))
    events.put_targets(Rule="jobs", Targets=[target | {"InputPath": "$.detail"}])

    def inputs() -> list[dict[str, Any]]:
        states = client("stepfunctions")
        found = states.list_executions(stateMachineArn=listener)["executions"]
        return [json.loads(states.describe_execution(executionArn=item["executionArn"])["input"]) for item in found]

    return inputs


class TestEvents:
    """EventBridge between executions, jobs and the machines that rules start."""

    def test_an_aborted_execution_reaches_the_rule_s_machine(
        self, client: Clients, heard: Callable[[], list[dict[str, Any]]]
    ) -> None:
        states = client("stepfunctions")
        waiting = states.create_state_machine(
            name="waiting",
            roleArn=ROLE,
            definition=json.dumps(
                {
                    "QueryLanguage": "JSONata",
                    "StartAt": "W",
                    "States": {"W": {"Type": "Wait", "Seconds": 600, "End": True}},
                }
            ),
        )["stateMachineArn"]
        arn = states.start_execution(stateMachineArn=waiting, input='{"run": "say \\"hi\\""}')["executionArn"]
        states.stop_execution(executionArn=arn)
        expected = {"execution": arn, "input": '{"run": "say \\"hi\\""}'}
        until(lambda: expected in heard())

    def test_a_job_s_end_reaches_the_rule_s_machine(
        self, client: Clients, bucket: str, heard: Callable[[], list[dict[str, Any]]]
    ) -> None:
        client("s3").put_object(Bucket=bucket, Key="code/main.py", Body=b"")
        client("sagemaker").create_training_job(**training_request("flights-dddddddd-01"))
        until(lambda: "flights-dddddddd-01" in [detail.get("TrainingJobName") for detail in heard()])


def test_own_routes_answer_in_json(shared: Account) -> None:
    info = shared.status()
    assert info is not None
    for path, body, status in [
        ("nothing", None, 404),
        ("faults", b"not json", 400),
        ("faults", b'[{"do": "explode"}]', 400),
    ]:
        request = urllib.request.Request(f"http://127.0.0.1:{info.port}/_slipstream/{path}", data=body)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        assert refused.value.code == status
        assert "error" in json.load(refused.value)
