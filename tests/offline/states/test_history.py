"""Histories as GetExecutionHistory shows them."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.session import get_session

from infra.offline.states import StatesError
from tests.offline.states.running import START, Toy, run, task
from tests.offline.states.test_conformance import FAILS, SUCCEEDS, toy

EVENT = get_session().get_service_model("stepfunctions").shape_for("HistoryEvent")


def test_a_task_in_full() -> None:
    states = {"A": task("go", Arguments={"a": 1}, TimeoutSeconds=9, Assign={"v": "{% $states.result.b %}"}, Output="o")}
    came = run(states, {"in": 1}, services=Toy(go=[{"b": [2]}]))
    names = {"resourceType": "aws-sdk:toy", "resource": "go"}
    whole = {"truncated": False}
    assert came.history.events == [
        {
            "timestamp": START,
            "type": "ExecutionStarted",
            "id": 1,
            "previousEventId": 0,
            "executionStartedEventDetails": {
                "input": '{"in":1}',
                "inputDetails": whole,
                "roleArn": "arn:aws:iam::123456789012:role/machine",
            },
        },
        {
            "timestamp": START,
            "type": "TaskStateEntered",
            "id": 2,
            "previousEventId": 1,
            "stateEnteredEventDetails": {"name": "A", "input": '{"in":1}', "inputDetails": whole},
        },
        {
            "timestamp": START,
            "type": "TaskScheduled",
            "id": 3,
            "previousEventId": 2,
            "taskScheduledEventDetails": {
                **names,
                "region": "us-east-1",
                "parameters": '{"a":1}',
                "timeoutInSeconds": 9,
            },
        },
        {"timestamp": START, "type": "TaskStarted", "id": 4, "previousEventId": 3, "taskStartedEventDetails": names},
        {
            "timestamp": START,
            "type": "TaskSucceeded",
            "id": 5,
            "previousEventId": 4,
            "taskSucceededEventDetails": {**names, "output": '{"b":[2]}', "outputDetails": whole},
        },
        {
            "timestamp": START,
            "type": "TaskStateExited",
            "id": 6,
            "previousEventId": 5,
            "stateExitedEventDetails": {
                "name": "A",
                "output": '"o"',
                "outputDetails": whole,
                "assignedVariables": {"v": "[2]"},
                "assignedVariablesDetails": whole,
            },
        },
        {
            "timestamp": START,
            "type": "ExecutionSucceeded",
            "id": 7,
            "previousEventId": 6,
            "executionSucceededEventDetails": {"output": '"o"', "outputDetails": whole},
        },
    ]


def test_a_retried_task_is_scheduled_again_without_being_entered_again() -> None:
    services = Toy(act=[StatesError("E", "c"), "done"])
    came = run({"A": task(Retry=[{"ErrorEquals": ["E"]}])}, services=services)
    attempt = ["TaskScheduled", "TaskStarted"]
    assert came.kinds == [
        "ExecutionStarted",
        "TaskStateEntered",
        *attempt,
        "TaskFailed",
        *attempt,
        "TaskSucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ]
    assert came.history.events[4]["taskFailedEventDetails"]["error"] == "E"


def test_a_failed_expression_is_an_event_of_its_own() -> None:
    came = run({"A": {"Type": "Pass", "Output": {"v": "{% $gone %}"}}})
    assert came.kinds == ["ExecutionStarted", "PassStateEntered", "EvaluationFailed", "ExecutionFailed"]
    details = came.history.events[2]["evaluationFailedEventDetails"]
    assert (details["state"], details["location"], details["error"]) == ("A", "Output/v", "States.QueryEvaluationError")


def test_branches_hang_on_the_state_that_started_them() -> None:
    body = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
    came = run({"M": {"Type": "Map", "Items": [1, 2], "ItemProcessor": body}})
    started = next(event["id"] for event in came.history.events if event["type"] == "MapStateStarted")
    roots = [event["previousEventId"] for event in came.history.events if event["type"] == "MapIterationStarted"]
    assert roots == [started, started]
    assert came.kinds[-3:] == ["MapStateSucceeded", "MapStateExited", "ExecutionSucceeded"]


def test_the_history_ends_at_its_limit() -> None:
    states = {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}, "C": {"Type": "Succeed"}}
    states["B"] = {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "A"}], "Default": "C"}
    came = run(states, max_events=100)
    assert (came.error, len(came.history.events), came.kinds[-1]) == ("States.Runtime", 100, "ExecutionFailed")
    assert "maximum number of history events (100)" in came.cause


@pytest.mark.parametrize("name", [*SUCCEEDS, *FAILS])
def test_every_event_fits_the_api_s_model(name: str) -> None:
    states, given, *_ = {**SUCCEEDS, **FAILS}[name]
    services = Toy(
        fail=[StatesError("Toy.Error", "broken")], runtime=[StatesError("States.Runtime")], large=["é" * 131_072]
    )
    events = run(states, given, services=services if name in FAILS else toy()).history.events
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    for event in events:
        assert 0 <= event["previousEventId"] < event["id"]
        _fits(EVENT, event)


def _fits(shape: Any, value: Any) -> None:
    if shape.type_name == "structure":
        assert set(value) <= set(shape.members)
        assert set(shape.required_members) <= set(value)
        for name, item in value.items():
            _fits(shape.members[name], item)
    elif shape.type_name == "map":
        for item in value.values():
            _fits(shape.value, item)
    elif enum := getattr(shape, "enum", None):
        assert value in enum
    else:
        kinds = {"string": str, "boolean": bool, "timestamp": float}
        assert isinstance(value, kinds.get(shape.type_name, int))
