"""Step Functions as boto3 and CloudFormation see it: moto's API with the interpreter behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.offline.states.conftest import Account
from tests.offline.states.running import ROLE_ARN, machine, task

ECHO = json.dumps(machine({"Echo": {"Type": "Pass", "Output": "{% $states.input %}"}}))
ENDLESS = json.dumps(machine({"Wait": {"Type": "Wait", "Seconds": 1_000_000}}))
INVALID = json.dumps(machine({"A": {"Type": "Pass", "Next": "B"}}))


@pytest.fixture
def sfn(account: Account) -> Any:
    return account.client("stepfunctions")


def refusal(act: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        act(**arguments)
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


def test_start_describe_and_read_the_history(account: Account, sfn: Any) -> None:
    arn = account.create("echo", ECHO)
    execution = sfn.start_execution(stateMachineArn=arn, name="one", input='{"a": 1}')["executionArn"]
    account.executions.join(execution, 10)
    described = sfn.describe_execution(executionArn=execution)
    assert (described["status"], described["input"], described["output"]) == ("SUCCEEDED", '{"a": 1}', '{"a":1}')
    assert described["stateMachineArn"] == arn
    assert described["stopDate"] >= described["startDate"]
    events = sfn.get_paginator("get_execution_history").paginate(
        executionArn=execution, PaginationConfig={"PageSize": 2}
    )
    assert [event["type"] for page in events for event in page["events"]] == [
        "ExecutionStarted",
        "PassStateEntered",
        "PassStateExited",
        "ExecutionSucceeded",
    ]
    last = sfn.get_execution_history(executionArn=execution, reverseOrder=True, maxResults=1)["events"]
    assert last[0]["executionSucceededEventDetails"]["output"] == '{"a":1}'
    bare = sfn.get_execution_history(executionArn=execution, includeExecutionData=False)["events"]
    assert "input" not in bare[0]["executionStartedEventDetails"]


def test_a_machine_that_works_on_the_account(account: Account, sfn: Any) -> None:
    account.client("s3").create_bucket(Bucket="bucket")
    sdk = "arn:aws:states:::aws-sdk:s3:"
    states = {
        "Write": task(Arguments={"Bucket": "bucket", "Key": "k", "Body": {"n": "{% $states.input.n %}"}}, Next="Read"),
        "Read": task(
            Arguments={"Bucket": "bucket", "Key": "k"},
            Assign={"read": "{% $parse($states.result.Body) %}"},
            Next="Missing",
        ),
        "Missing": task(
            Arguments={"Bucket": "bucket", "Key": "missing"},
            Catch=[{"ErrorEquals": ["S3.NoSuchKeyException"], "Next": "Done"}],
            Next="Done",
        ),
        "Done": {"Type": "Succeed", "Output": {"n": "{% $read.n + 1 %}", "error": "{% $states.input.Error %}"}},
    }
    for name, action in (("Write", "putObject"), ("Read", "getObject"), ("Missing", "getObject")):
        states[name]["Resource"] = sdk + action
    arn = account.create("works", json.dumps(machine(states)))
    execution = sfn.start_execution(stateMachineArn=arn, input='{"n": 41}')["executionArn"]
    record = account.executions.join(execution, 10)
    assert json.loads(record.output or record.cause or "null") == {"n": 42, "error": "S3.NoSuchKeyException"}


def test_names_are_idempotent_while_running(account: Account, sfn: Any) -> None:
    arn = account.create("endless", ENDLESS)
    first = sfn.start_execution(stateMachineArn=arn, name="n", input="{}")
    again = sfn.start_execution(stateMachineArn=arn, name="n", input="{}")
    assert again == {**first, "ResponseMetadata": again["ResponseMetadata"]}
    code, message = refusal(sfn.start_execution, stateMachineArn=arn, name="n", input='{"a":1}')
    assert (code, message) == ("ExecutionAlreadyExists", f"Execution Already Exists: '{first['executionArn']}'")


def test_stop(account: Account, sfn: Any) -> None:
    arn = account.create("endless", ENDLESS)
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    assert sfn.stop_execution(executionArn=execution, error="E", cause="C")["stopDate"]
    described = sfn.describe_execution(executionArn=execution)
    assert (described["status"], described["error"], described["cause"]) == ("ABORTED", "E", "C")
    assert "output" not in described


def test_list(account: Account, sfn: Any) -> None:
    arn = account.create("echo", ECHO)
    for index in range(3):
        account.executions.join(sfn.start_execution(stateMachineArn=arn, name=f"e{index}")["executionArn"], 10)
    pages = sfn.get_paginator("list_executions").paginate(stateMachineArn=arn, PaginationConfig={"PageSize": 2})
    assert [item["name"] for page in pages for item in page["executions"]] == ["e2", "e1", "e0"]
    assert sfn.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"] == []


def test_refusals(account: Account, sfn: Any) -> None:
    arn = account.create("echo", ECHO)
    missing = arn.replace(":stateMachine:", ":execution:") + ":missing"
    assert refusal(sfn.start_execution, stateMachineArn=arn + "x")[0] == "StateMachineDoesNotExist"
    assert refusal(sfn.start_execution, stateMachineArn=arn, name="a b")[0] == "InvalidName"
    assert refusal(sfn.start_execution, stateMachineArn=arn, input="{")[0] == "InvalidExecutionInput"
    assert refusal(sfn.describe_execution, executionArn=missing)[0] == "ExecutionDoesNotExist"
    assert refusal(sfn.stop_execution, executionArn=missing)[0] == "ExecutionDoesNotExist"
    assert refusal(sfn.get_execution_history, executionArn=missing)[0] == "ExecutionDoesNotExist"
    assert refusal(sfn.list_executions, stateMachineArn=arn + "x")[0] == "StateMachineDoesNotExist"
    code, message = refusal(sfn.redrive_execution, executionArn=missing)
    assert (code, message) == ("ExecutionNotRedrivable", "Redrive is not emulated: start a new execution")


def test_invalid_definitions_are_refused_when_they_are_given(account: Account, sfn: Any) -> None:
    expected = (
        "InvalidDefinition",
        "Invalid State Machine Definition: 'MISSING_TRANSITION_TARGET: Missing 'Next' target: B at /States/A/Next, "
        "MISSING_END_STATE: No state ends the block at /States'",
    )
    assert refusal(sfn.create_state_machine, name="m", definition=INVALID, roleArn=ROLE_ARN) == expected
    arn = account.create("m", ECHO)
    assert refusal(sfn.update_state_machine, stateMachineArn=arn, definition=INVALID) == expected


def test_validate(sfn: Any) -> None:
    assert sfn.validate_state_machine_definition(definition=ECHO)["result"] == "OK"
    answer = sfn.validate_state_machine_definition(definition=INVALID, maxResults=1)
    assert (answer["result"], answer["truncated"]) == ("FAIL", True)
    assert answer["diagnostics"] == [
        {
            "severity": "ERROR",
            "code": "MISSING_TRANSITION_TARGET",
            "message": "Missing 'Next' target: B",
            "location": "/States/A/Next",
        }
    ]


def test_the_life_of_a_state_machine(account: Account, sfn: Any) -> None:
    arn = sfn.create_state_machine(name="m", definition=ECHO, roleArn=ROLE_ARN, tags=[{"key": "k", "value": "v"}])[
        "stateMachineArn"
    ]
    assert account.create("m", ECHO) == arn
    conflict = refusal(sfn.create_state_machine, name="m", definition=ENDLESS, roleArn=ROLE_ARN)
    assert conflict == ("StateMachineAlreadyExists", f"State Machine Already Exists: '{arn}'")
    running = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    sfn.update_state_machine(stateMachineArn=arn, definition=ENDLESS)
    assert sfn.describe_state_machine(stateMachineArn=arn)["definition"] == ENDLESS
    assert sfn.describe_state_machine_for_execution(executionArn=running)["definition"] == ECHO
    assert [item["name"] for item in sfn.list_state_machines()["stateMachines"]] == ["m"]
    assert sfn.list_tags_for_resource(resourceArn=arn)["tags"] == [{"key": "k", "value": "v"}]
    sfn.untag_resource(resourceArn=arn, tagKeys=["k"])
    assert sfn.list_tags_for_resource(resourceArn=arn)["tags"] == []
    sfn.delete_state_machine(stateMachineArn=arn)
    assert refusal(sfn.start_execution, stateMachineArn=arn)[0] == "StateMachineDoesNotExist"


def template(definition: str) -> str:
    properties = {"StateMachineName": "stacked", "DefinitionString": definition, "RoleArn": ROLE_ARN}
    resources = {"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}
    return json.dumps({"Resources": resources, "Outputs": {"Arn": {"Value": {"Ref": "Machine"}}}})


def test_machines_of_CloudFormation_run(account: Account, sfn: Any) -> None:  # noqa: N802
    cloudformation = account.client("cloudformation")
    cloudformation.create_stack(StackName="stack", TemplateBody=template(ECHO))
    arn = cloudformation.describe_stacks(StackName="stack")["Stacks"][0]["Outputs"][0]["OutputValue"]
    execution = sfn.start_execution(stateMachineArn=arn, input='"hello"')["executionArn"]
    assert account.executions.join(execution, 10).output == '"hello"'

    changed = json.dumps(machine({"New": {"Type": "Succeed", "Output": "new"}}))
    cloudformation.update_stack(StackName="stack", TemplateBody=template(changed))
    execution = sfn.start_execution(stateMachineArn=arn)["executionArn"]
    assert account.executions.join(execution, 10).output == '"new"'

    cloudformation.delete_stack(StackName="stack")
    assert sfn.list_state_machines()["stateMachines"] == []
