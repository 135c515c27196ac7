"""Change sets over HTTP: what the CDK CLI does by default, and what goes wrong with stacks."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from infra.offline.account import Account

from .conftest import FAST, Clients, clients_of

NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."


def template(topic: str, *, display: str = "a", **outputs: Any) -> dict[str, Any]:
    properties = {"TopicName": topic, "DisplayName": display}
    return {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": properties}}, "Outputs": outputs}


def exporting(stack: str) -> dict[str, Any]:
    return {"Value": {"Ref": "Topic"}, "Export": {"Name": f"{stack}:Topic"}}


def importing(stack: str, name: str) -> dict[str, Any]:
    value = {"Fn::ImportValue": f"{stack}:Topic"}
    parameter = {"Type": "AWS::SSM::Parameter", "Properties": {"Name": name, "Type": "String", "Value": value}}
    return {"Resources": {"Parameter": parameter}}


def broken(name: str) -> dict[str, Any]:
    properties = {"Name": name, "Type": "String", "Value": "v", "Tags": "none"}
    return {"Resources": {"Broken": {"Type": "AWS::SSM::Parameter", "Properties": properties}}}


@pytest.fixture(scope="module")
def formation(client: Clients) -> Any:
    return client("cloudformation")


@pytest.fixture
def name() -> str:
    """A stack's, for the account is the module's."""
    return f"s{uuid4().hex[:8]}"


def create(formation: Any, stack: str, body: dict[str, Any], kind: str = "CREATE", **options: Any) -> dict[str, Any]:
    """The change set's description."""
    options = {"ChangeSetName": "changes", "StackName": stack} | options
    made = formation.create_change_set(ChangeSetType=kind, TemplateBody=json.dumps(body), **options)
    described: dict[str, Any] = formation.describe_change_set(ChangeSetName=made["Id"])
    assert described["StackId"] == made["StackId"]
    return described


def deploy(formation: Any, stack: str, body: dict[str, Any], kind: str = "CREATE", **options: Any) -> dict[str, Any]:
    """The stack afterwards."""
    formation.delete_change_set(ChangeSetName="changes", StackName=stack) if kind == "UPDATE" else None
    made = create(formation, stack, body, kind, **options)
    formation.execute_change_set(ChangeSetName="changes", StackName=stack)
    described: dict[str, Any] = formation.describe_stacks(StackName=made["StackId"])["Stacks"][0]
    return described


def refusal(call: Any, **arguments: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as refused:
        call(**arguments)
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


class TestDeployment:
    def test_a_stack_is_in_review_until_its_change_set_is_executed(self, formation: Any, name: str) -> None:
        made = create(formation, name, template(name), Tags=[{"Key": "project", "Value": "p"}])
        assert (made["Status"], made["ExecutionStatus"]) == ("CREATE_COMPLETE", "AVAILABLE")
        (change,) = made["Changes"]
        assert change["ResourceChange"] == {
            "Action": "Add",
            "LogicalResourceId": "Topic",
            "ResourceType": "AWS::SNS::Topic",
        }
        (stack,) = formation.describe_stacks(StackName=name)["Stacks"]
        assert stack["StackStatus"] == "REVIEW_IN_PROGRESS"

        formation.execute_change_set(ChangeSetName=made["ChangeSetId"])
        (stack,) = formation.describe_stacks(StackName=made["StackId"])["Stacks"]
        assert (stack["StackStatus"], stack["Tags"]) == ("CREATE_COMPLETE", [{"Key": "project", "Value": "p"}])
        events = [event["ResourceStatus"] for event in formation.describe_stack_events(StackName=name)["StackEvents"]]
        assert (events[0], events[-1]) == ("CREATE_COMPLETE", "REVIEW_IN_PROGRESS")
        (summary,) = formation.list_change_sets(StackName=name)["Summaries"]
        assert summary["ExecutionStatus"] == "EXECUTE_COMPLETE"

    def test_one_stack_s_exports_reach_another(self, formation: Any, client: Clients, name: str) -> None:
        stack = deploy(formation, name, template(name, Topic=exporting(name)))
        assert stack["Outputs"][0]["ExportName"] == f"{name}:Topic"
        deploy(formation, f"{name}-two", importing(name, f"/{name}"))
        value = client("ssm").get_parameter(Name=f"/{name}")["Parameter"]["Value"]
        assert value == stack["Outputs"][0]["OutputValue"]

    @pytest.mark.parametrize("method", ["change set", "direct"])
    def test_an_update_s_exports_too(self, formation: Any, client: Clients, name: str, method: str) -> None:
        deploy(formation, name, template(name))
        deploy(formation, f"{name}-two", template(f"{name}-two"))
        if method == "direct":
            formation.update_stack(StackName=name, TemplateBody=json.dumps(template(name, Topic=exporting(name))))
        else:
            deploy(formation, name, template(name, Topic=exporting(name)), "UPDATE")
        both = template(f"{name}-two")
        both["Resources"] |= importing(name, f"/{name}")["Resources"]
        assert deploy(formation, f"{name}-two", both, "UPDATE")["StackStatus"] == "UPDATE_COMPLETE"
        assert client("ssm").get_parameter(Name=f"/{name}")["Parameter"]["Value"].endswith(f":{name}")
        for each in (f"{name}-two", name):
            formation.delete_stack(StackName=each)
        assert f"{name}:Topic" not in [export["Name"] for export in formation.list_exports()["Exports"]]

    def test_a_resource_that_moto_cannot_update_stays(self, formation: Any, name: str) -> None:
        def keyed(description: str) -> dict[str, Any]:
            key = {"Type": "AWS::KMS::Key", "Properties": {"Description": description, "KeyPolicy": {}}}
            return {"Resources": {"Key": key}, "Outputs": {"Key": {"Value": {"Fn::GetAtt": ["Key", "Arn"]}}}}

        stack = deploy(formation, name, keyed("one"))
        for description in ("two", "three"):
            assert deploy(formation, name, keyed(description), "UPDATE")["Outputs"] == stack["Outputs"]

    def test_an_update_says_what_it_replaces(self, formation: Any, name: str) -> None:
        deploy(formation, name, template(name))
        shown = create(formation, name, template(name, display="b"), "UPDATE", ChangeSetName="update")
        change = shown["Changes"][0]["ResourceChange"]
        assert (change["Action"], change["Replacement"], change["Scope"]) == ("Modify", "False", ["Properties"])
        assert change["PhysicalResourceId"].endswith(f":{name}")
        target = {"Attribute": "Properties", "Name": "DisplayName", "RequiresRecreation": "Never"}
        (detail,) = change["Details"]
        assert detail == {"Target": target, "Evaluation": "Static", "ChangeSource": "DirectModification"}

        shown = create(formation, name, template(f"{name}-new"), "UPDATE", ChangeSetName="replacement")
        assert shown["Changes"][0]["ResourceChange"]["Replacement"] == "True"
        formation.execute_change_set(ChangeSetName="update", StackName=name)
        assert [item["ChangeSetName"] for item in formation.list_change_sets(StackName=name)["Summaries"]] == ["update"]

    def test_nothing_to_change(self, formation: Any, name: str) -> None:
        tags = [{"Key": "project", "Value": "p"}]
        parameters = [{"ParameterKey": "Display", "ParameterValue": "x"}]
        body = template(name, display={"Ref": "Display"}) | {"Parameters": {"Display": {"Type": "String"}}}  # type: ignore[arg-type]
        deploy(formation, name, body, Parameters=parameters, Tags=tags)
        kept = [{"ParameterKey": "Display", "UsePreviousValue": True}]
        same = create(formation, name, body, "UPDATE", ChangeSetName="same", Parameters=kept, Tags=tags)
        assert (same["Status"], same["ExecutionStatus"], same["Changes"]) == ("FAILED", "UNAVAILABLE", [])
        assert same["StatusReason"] == NO_CHANGES
        code, text = refusal(formation.execute_change_set, ChangeSetName="same", StackName=name)
        assert code == "InvalidChangeSetStatus"
        assert text == f"ChangeSet [{same['ChangeSetId']}] cannot be executed in its current status of [FAILED]"

        parameters = [{"ParameterKey": "Display", "ParameterValue": "y"}]
        other = create(formation, name, body, "UPDATE", ChangeSetName="other", Parameters=parameters, Tags=tags)
        assert other["Changes"][0]["ResourceChange"]["Details"][0]["CausingEntity"] == "Display"
        tags = [{"Key": "project", "Value": "q"}]
        retagged = create(formation, name, body, "UPDATE", ChangeSetName="tags", Parameters=kept, Tags=tags)
        assert (retagged["Status"], retagged["Changes"]) == ("CREATE_COMPLETE", [])

    def test_a_direct_update_makes_it_obsolete(self, formation: Any, name: str) -> None:
        deploy(formation, name, template(name))
        create(formation, name, template(name, display="b"), "UPDATE", ChangeSetName="late")
        formation.update_stack(StackName=name, TemplateBody=json.dumps(template(name, display="c")))
        code, text = refusal(formation.execute_change_set, ChangeSetName="late", StackName=name)
        assert code == "InvalidChangeSetStatus"
        assert text.endswith("cannot be executed in its current execution status of [OBSOLETE]")

    def test_a_deleted_stack_takes_its_change_sets_along(self, formation: Any, name: str) -> None:
        made = create(formation, name, template(name))
        formation.delete_stack(StackName=name)
        assert refusal(formation.describe_change_set, ChangeSetName=made["ChangeSetId"])[0] == "ChangeSetNotFound"


def test_what_a_change_set_made_survives_and_the_change_set_does_not(account: Account) -> None:
    formation = clients_of(account, account.up(settings=FAST))("cloudformation")
    deploy(formation, "kept", template("one", Topic=exporting("kept")))
    deploy(formation, "kept", template("two", Topic=exporting("kept")), "UPDATE")
    create(formation, "reviewed", template("three"))
    account.down()
    formation = clients_of(account, account.up(settings=FAST))("cloudformation")
    (stack,) = formation.describe_stacks()["Stacks"]
    assert (stack["StackName"], stack["Outputs"][0]["OutputValue"].rpartition(":")[2]) == ("kept", "two")
    assert formation.list_change_sets(StackName="kept")["Summaries"] == []


class TestErrors:
    def test_no_such_stack(self, formation: Any, name: str) -> None:
        missing = ("ValidationError", f"Stack [{name}] does not exist")
        for call in (formation.describe_change_set, formation.delete_change_set, formation.execute_change_set):
            assert refusal(call, ChangeSetName="changes", StackName=name) == missing
        assert refusal(formation.list_change_sets, StackName=name) == missing
        body = json.dumps(template(name))
        update = {"StackName": name, "ChangeSetName": "changes", "ChangeSetType": "UPDATE", "TemplateBody": body}
        assert refusal(formation.create_change_set, **update) == missing

    def test_no_such_change_set(self, formation: Any, name: str) -> None:
        create(formation, name, template(name))
        missing = ("ChangeSetNotFound", "ChangeSet [other] does not exist")
        assert refusal(formation.describe_change_set, ChangeSetName="other", StackName=name) == missing
        assert refusal(formation.execute_change_set, ChangeSetName="other", StackName=name) == missing
        formation.delete_change_set(ChangeSetName="other", StackName=name)
        code, text = refusal(formation.describe_change_set, ChangeSetName="other")
        assert (code, text.startswith("StackName must be specified")) == ("ValidationError", True)

    def test_types_that_do_not_fit(self, formation: Any, name: str) -> None:
        create(formation, name, template(name))
        body = {"ChangeSetName": "more", "StackName": name, "TemplateBody": json.dumps(template(name))}
        code, text = refusal(formation.create_change_set, ChangeSetType="UPDATE", **body)
        assert (code, text.endswith("is in REVIEW_IN_PROGRESS state and can not be updated.")) == (
            "ValidationError",
            True,
        )
        again = body | {"ChangeSetName": "changes", "ChangeSetType": "CREATE"}
        assert refusal(formation.create_change_set, **again)[0] == "AlreadyExistsException"
        formation.execute_change_set(ChangeSetName="changes", StackName=name)
        code, text = refusal(formation.create_change_set, ChangeSetType="CREATE", **body)
        assert text == f"Stack [{name}] already exists and cannot be created again with the changeSet [more]."

    def test_a_parameter_without_a_value(self, formation: Any, name: str) -> None:
        body = template(name) | {"Parameters": {"Needed": {"Type": "String"}}}
        options = {"StackName": name, "ChangeSetName": "changes", "ChangeSetType": "CREATE"}
        missing = ("ValidationError", "Parameters: [Needed] must have values")
        assert refusal(formation.create_change_set, TemplateBody=json.dumps(body), **options) == missing
        assert name not in [stack["StackName"] for stack in formation.describe_stacks()["Stacks"]]


class TestFailure:
    """It is said in XML, which clients understand, and the stack is what it was before."""

    def test_of_a_creation(self, formation: Any, name: str) -> None:
        both = template(name, Topic=exporting(name))
        both["Resources"] |= broken(f"/{name}")["Resources"]
        for _ in range(2):
            create(formation, name, both)
            code, text = refusal(formation.execute_change_set, ChangeSetName="changes", StackName=name)
            assert (code, f"cannot create stack {name}" in text) == ("ValidationError", True)
        assert deploy(formation, name, template(name, Topic=exporting(name)))["StackStatus"] == "CREATE_COMPLETE"

    @pytest.mark.parametrize("method", ["change set", "direct"])
    def test_of_an_update(self, formation: Any, client: Clients, name: str, method: str) -> None:
        deploy(formation, name, template(name))
        both = template(name, display="b")
        both["Resources"] |= broken(f"/{name}")["Resources"]
        for _ in range(2):  # the second must not find that nothing changed
            if method == "direct":
                code, text = refusal(formation.update_stack, StackName=name, TemplateBody=json.dumps(both))
            else:
                formation.delete_change_set(ChangeSetName="changes", StackName=name)
                create(formation, name, both, "UPDATE")
                code, text = refusal(formation.execute_change_set, ChangeSetName="changes", StackName=name)
            assert (code, f"cannot update stack {name}" in text) == ("ValidationError", True)
        (stack,) = formation.describe_stacks(StackName=name)["Stacks"]
        assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
        assert formation.get_template(StackName=name)["TemplateBody"] == template(name)
        assert deploy(formation, name, template(name, display="c"), "UPDATE")["StackStatus"] == "UPDATE_COMPLETE"
        topic = client("sns").get_topic_attributes(TopicArn=f"arn:aws:sns:us-east-1:123456789012:{name}")
        assert topic["Attributes"]["DisplayName"] == "c"
        formation.delete_stack(StackName=name)

    def test_of_an_import(self, formation: Any, name: str) -> None:
        create(formation, name, importing("nobody", f"/{name}"))
        assert refusal(formation.execute_change_set, ChangeSetName="changes", StackName=name) == (
            "ValidationError",
            "No export named nobody:Topic found.",
        )

    def test_of_a_template_that_is_none(self, formation: Any, name: str) -> None:
        for body in ("[]", "{", json.dumps({"Resources": {"A": {}}})):
            assert refusal(formation.create_stack, StackName=name, TemplateBody=body)[0] == "ValidationError"
            options = {"ChangeSetName": "changes", "ChangeSetType": "CREATE", "TemplateBody": body}
            assert refusal(formation.create_change_set, StackName=name, **options)[0] == "ValidationError"

    def test_of_an_action_that_is_not_there(self, formation: Any, name: str) -> None:
        assert refusal(formation.list_imports, ExportName=name)[0] == "InvalidAction"
