"""Machines, their logs, the reaper, and what the command line finds by its name."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture
def training(templates: dict[str, Any]) -> dict[str, Any]:
    return dict(templates["slipstream-training"])


def of_type(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {
        name: resource["Properties"] for name, resource in template["Resources"].items() if resource["Type"] == kind
    }


def machine(training: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    machines = of_type(training, "AWS::StepFunctions::StateMachine")
    return next((key, properties) for key, properties in machines.items() if properties["StateMachineName"] == name)


@pytest.mark.parametrize("name", ["slipstream-flights", "slipstream-reaper"])
def test_machines_are_standard_logged_and_traced(training: dict[str, Any], name: str) -> None:
    _, properties = machine(training, name)
    assert properties["StateMachineType"] == "STANDARD"
    assert properties["LoggingConfiguration"]["Level"] == "ALL"
    assert properties["TracingConfiguration"] == {"Enabled": True}


def test_the_reaper_hears_of_deaths_of_our_machines_only(training: dict[str, Any]) -> None:
    flights, _ = machine(training, "slipstream-flights")
    (rule,) = of_type(training, "AWS::Events::Rule").values()
    assert rule["EventPattern"]["detail"] == {
        "status": ["ABORTED", "FAILED", "TIMED_OUT"],
        "stateMachineArn": [{"Ref": flights}],
    }
    reaper, _ = machine(training, "slipstream-reaper")
    assert [target["Arn"] for target in rule["Targets"]] == [{"Ref": reaper}]


def test_images_come_from_the_regions_account(training: dict[str, Any]) -> None:
    (mapping,) = training["Mappings"].values()
    assert mapping["us-east-1"]["Account"] == "763104351884"
    _, properties = machine(training, "slipstream-flights")
    definition = json.dumps(properties["DefinitionString"])
    assert '{"Fn::FindInMap": ["ImageAccountsFlights", {"Ref": "AWS::Region"}, "Account"]}' in definition
    assert ":2.6.0-cpu-py312" in definition


def test_the_machine_names_the_bundle_that_is_uploaded(templates: dict[str, Any], training: dict[str, Any]) -> None:
    access = json.dumps(templates["slipstream-access"])
    _, properties = machine(training, "slipstream-flights")
    text = json.dumps(properties["DefinitionString"])
    start = text.index(".zip") - 64
    assert text[start : start + 68] in access


def test_outputs_that_the_command_line_and_people_read(training: dict[str, Any]) -> None:
    assert training["Outputs"]["StateMachineArnFlights"]["Description"] == "flights"
    assert training["Outputs"]["NotificationTopicFlights"]["Description"] == "flights"


def test_messages_are_encrypted_and_travel_by_tls(training: dict[str, Any]) -> None:
    (topic,) = of_type(training, "AWS::SNS::Topic").values()
    assert "KmsMasterKeyId" in topic
    (policy,) = of_type(training, "AWS::SNS::TopicPolicy").values()
    assert "aws:SecureTransport" in json.dumps(policy)
