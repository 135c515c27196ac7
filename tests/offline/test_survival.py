"""What the account knows after `down` and `up`."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from infra.offline.account import Account

from .conftest import FAST, Clients, clients_of
from .sagemaker.requests import training_request
from .test_services import LOG_GROUP, ROLE
from .waiting import until

TEMPLATE = {
    "Parameters": {"Version": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/bootstrap/version"}},
    "Resources": {
        "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": {"Fn::Sub": "data-${AWS::AccountId}"}}},
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {}},
        "Parameter": {
            "Type": "AWS::SSM::Parameter",
            "Properties": {"Name": "/flights", "Type": "String", "Value": "v", "Tags": {"job": "flights"}},
        },
        "Key": {
            "Type": "AWS::KMS::Key",
            "Properties": {"KeyPolicy": {"Statement": []}, "Tags": [{"Key": "job", "Value": "flights"}]},
        },
        "Machine": {
            "Type": "AWS::StepFunctions::StateMachine",
            "Properties": {
                "StateMachineName": "slipstream-flights",
                "RoleArn": ROLE,
                "DefinitionString": json.dumps(
                    {
                        "QueryLanguage": "JSONata",
                        "StartAt": "W",
                        "States": {"W": {"Type": "Wait", "Seconds": "{% $states.input.seconds %}", "End": True}},
                    }
                ),
            },
        },
        "Rule": {
            "Type": "AWS::Events::Rule",
            "Properties": {
                "EventPattern": {"source": ["aws.states"], "detail": {"status": ["ABORTED"]}},
                "Targets": [
                    {
                        "Id": "Reaper",
                        "Arn": {"Ref": "Machine"},
                        "RoleArn": ROLE,
                        "Input": '{"seconds": 0, "reaped": true}',
                    }
                ],
            },
        },
    },
    "Outputs": {"Bucket": {"Value": {"Ref": "Bucket"}}, "Key": {"Value": {"Fn::GetAtt": ["Key", "Arn"]}}},
}


def outputs(client: Clients) -> dict[str, str]:
    (stack,) = client("cloudformation").describe_stacks(StackName="slipstream")["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def next_life(account: Account) -> Clients:
    account.down()
    return clients_of(account, account.up(settings=FAST))


def test_everything_that_a_user_made_is_there_again(account: Account) -> None:
    client = clients_of(account, account.up(settings=FAST))
    client("ssm").put_parameter(Name="/bootstrap/version", Value="30", Type="String")
    client("cloudformation").create_stack(StackName="slipstream", TemplateBody=json.dumps(TEMPLATE))
    bucket = outputs(client)["Bucket"]
    s3 = client("s3")
    s3.put_object(Bucket=bucket, Key="flights/model", Body=b"m", Metadata={"run": "1"}, ContentType="text/html")
    s3.create_bucket(Bucket="own")
    s3.put_object(Bucket="own", Key="code/main.py", Body=b"print('trained')")
    client("sagemaker").create_training_job(**_training("own"))
    states = client("stepfunctions")
    machine = states.list_state_machines()["stateMachines"][0]["stateMachineArn"]
    done = states.start_execution(stateMachineArn=machine, name="done", input='{"seconds": 0}')["executionArn"]
    until(lambda: states.describe_execution(executionArn=done)["status"] == "SUCCEEDED")
    job = until(_ended(client))

    client = next_life(account)
    assert outputs(client)["Bucket"] == bucket
    assert client("ssm").get_parameter(Name="/bootstrap/version")["Parameter"]["Value"] == "30"
    again = client("s3").get_object(Bucket=bucket, Key="flights/model")
    assert (again["Body"].read(), again["Metadata"], again["ContentType"]) == (b"m", {"run": "1"}, "text/html")
    assert _ended(client)() == job
    stream = client("logs").describe_log_streams(logGroupName=LOG_GROUP)["logStreams"][0]["logStreamName"]
    events = client("logs").get_log_events(logGroupName=LOG_GROUP, logStreamName=stream)["events"]
    assert [event["message"] for event in events] == ["trained"]
    states = client("stepfunctions")
    assert states.describe_execution(executionArn=done)["status"] == "SUCCEEDED"
    history = states.get_execution_history(executionArn=done)["events"]
    assert [history[0]["type"], history[-1]["type"]] == ["ExecutionStarted", "ExecutionSucceeded"]


def test_an_execution_that_was_cut_off_is_aborted_and_reaped(account: Account) -> None:
    client = clients_of(account, account.up(settings=FAST))
    client("ssm").put_parameter(Name="/bootstrap/version", Value="30", Type="String")
    client("cloudformation").create_stack(StackName="slipstream", TemplateBody=json.dumps(TEMPLATE))
    machine = client("stepfunctions").list_state_machines()["stateMachines"][0]["stateMachineArn"]
    running = client("stepfunctions").start_execution(stateMachineArn=machine, input='{"seconds": 600}')["executionArn"]

    states = next_life(account)("stepfunctions")
    cut_off = states.describe_execution(executionArn=running)
    assert (cut_off["status"], cut_off["cause"]) == ("ABORTED", "The offline account ended while this execution ran.")
    until(
        lambda: any(
            json.loads(states.describe_execution(executionArn=item["executionArn"])["input"]).get("reaped")
            for item in states.list_executions(stateMachineArn=machine)["executions"]
        )
    )


def test_a_stack_that_cannot_be_created_says_why_and_leaves_nothing(account: Account) -> None:
    formation = clients_of(account, account.up(settings=FAST))("cloudformation")
    broken = {"Resources": {"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/p", "Tags": "none"}}}}
    for _ in range(2):
        with pytest.raises(formation.exceptions.ClientError, match="cannot create stack broken: ") as refused:
            formation.create_stack(StackName="broken", TemplateBody=json.dumps(broken))
        assert refused.value.response["Error"]["Code"] == "ValidationError"
    assert formation.describe_stacks()["Stacks"] == []


def test_updates_and_deletions_survive_too(account: Account) -> None:
    client = clients_of(account, account.up(settings=FAST))
    formation = client("cloudformation")
    small = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "one"}}}}
    for stack in ("kept", "dropped"):
        body = json.dumps(small | {"Outputs": {"Stack": {"Value": stack}}}).replace("one", f"one-{stack}")
        formation.create_stack(StackName=stack, TemplateBody=body)
    changed = json.dumps(small).replace("one", "two")
    formation.update_stack(StackName="kept", TemplateBody=changed)
    formation.delete_stack(StackName="dropped")
    client("ssm").put_parameter(Name="/a", Value="1", Type="String")
    client("ssm").put_parameter(Name="/a", Value="2", Overwrite=True)
    client("ssm").put_parameter(Name="/b", Value="1", Type="String")
    client("ssm").delete_parameters(Names=["/b"])

    client = next_life(account)
    assert [stack["StackName"] for stack in client("cloudformation").describe_stacks()["Stacks"]] == ["kept"]
    assert client("cloudformation").get_template(StackName="kept")["TemplateBody"] == json.loads(changed)
    assert [topic["TopicArn"].rpartition(":")[2] for topic in client("sns").list_topics()["Topics"]] == ["two"]
    parameters = client("ssm").describe_parameters()["Parameters"]
    assert [parameter["Name"] for parameter in parameters if parameter["Name"] in ("/a", "/b")] == ["/a"]
    assert client("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "2"


def _training(bucket: str) -> dict[str, object]:
    request = json.dumps(training_request()).replace("s3://bucket/", f"s3://{bucket}/")
    parsed: dict[str, object] = json.loads(request)
    return parsed


def _ended(client: Clients) -> Callable[[], object]:
    def job() -> object:
        described = client("sagemaker").describe_training_job(TrainingJobName="flights-1a2b3c4d-01")
        del described["ResponseMetadata"]
        return described if described["TrainingJobStatus"] != "InProgress" else None

    return job
