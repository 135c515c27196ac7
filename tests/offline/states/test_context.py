"""`$states.context`, the clock in expressions, and what a task is told of its execution."""

from __future__ import annotations

from infra.offline.states import StatesError
from tests.offline.states.running import EXECUTION_ARN, MACHINE_ARN, ROLE_ARN, Toy, run, task

CONTEXT = "{% $states.context %}"


def test_the_context_object() -> None:
    states = {"W": {"Type": "Wait", "Seconds": 90, "Next": "A"}, "A": {"Type": "Pass", "Output": CONTEXT}}
    assert run(states, {"k": None}).output == {
        "Execution": {
            "Id": EXECUTION_ARN,
            "Input": {"k": None},
            "Name": "run",
            "RoleArn": ROLE_ARN,
            "StartTime": "2023-11-14T22:13:20.000Z",
            "RedriveCount": 0,
        },
        "State": {"EnteredTime": "2023-11-14T22:14:50.000Z", "Name": "A", "RetryCount": 0},
        "StateMachine": {"Id": MACHINE_ARN, "Name": "machine"},
    }


def test_retry_count_starts_again_when_the_state_is_entered_again() -> None:
    count = "{% $states.context.State.RetryCount %}"
    retry = [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}]
    services = Toy(act=[StatesError("E"), StatesError("E"), lambda given: given])
    again = {"Condition": "{% $turn = 1 %}", "Next": "A"}
    states = {
        "A": task(Arguments=count, Retry=retry, Assign={"turn": "{% $exists($turn) ? 2 : 1 %}"}, Next="B"),
        "B": {"Type": "Choice", "Choices": [again], "Default": "C"},
        "C": {"Type": "Pass"},
    }
    run(states, services=services)
    assert [arguments for _, arguments in services.calls] == [0, 1, 2, 0]


def test_map_item_is_seen_inside_the_processor_and_not_outside() -> None:
    inside = {
        "StartAt": "I",
        "States": {"I": {"Type": "Pass", "Output": "{% $states.context.Map.Item %}", "End": True}},
    }
    states = {
        "M": {
            "Type": "Map",
            "Items": ["a", None],
            "ItemProcessor": inside,
            "Assign": {"m": "{% $states.result %}"},
            "Next": "A",
        },
        "A": {"Type": "Pass", "Output": "{% [$m, $exists($states.context.Map)] %}"},
    }
    assert run(states).output == [{"Index": 0, "Value": "a"}, {"Index": 1, "Value": None}, False]


def test_now_and_millis_follow_the_clock() -> None:
    states = {
        "W": {"Type": "Wait", "Seconds": 3600, "Next": "A"},
        "A": {"Type": "Pass", "Output": "{% [$now(), $string($millis()), $now('[H01]:[m01]')] %}"},
    }
    assert run(states).output == ["2023-11-14T23:13:20.000Z", "1700003600000", "23:13"]


def test_a_task_knows_where_it_belongs() -> None:
    services = Toy()
    run({"Call": task()}, services=services)
    (context,) = services.contexts
    assert (context.execution_arn, context.state_name, context.role_arn) == (EXECUTION_ARN, "Call", ROLE_ARN)
