"""What CreateStateMachine refuses: every problem, with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.offline.states import InvalidDefinition, StateMachine
from tests.offline.states.running import machine, task

PASS = {"Type": "Pass"}
BODY = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}


def problems(definition: Any) -> list[str]:
    with pytest.raises(InvalidDefinition) as refused:
        StateMachine.parse(definition)
    return [str(problem) for problem in refused.value.problems]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown type": ({"A": {"Type": "Go"}}, "Type must be one of Pass, Task"),
    "no type": ({"A": {}}, "Type must be one of Pass, Task"),
    "unknown field": ({"A": {**PASS, "Nxet": "B"}}, "Field 'Nxet' is not supported at /States/A/Nxet"),
    "a field of JSONPath": ({"A": {**PASS, "ResultPath": "$.x"}}, "Field 'ResultPath' is not supported"),
    "catch in a Pass": ({"A": {**PASS, "Catch": []}}, "Field 'Catch' is not supported"),
    "assign in a Succeed": ({"A": {"Type": "Succeed", "Assign": {"x": 1}}}, "Field 'Assign' is not supported"),
    "end in a Choice": (
        {"A": {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "B"}], "End": True}, "B": PASS},
        "Field 'End' is not supported",
    ),
    "JSONPath state": ({"A": {**PASS, "QueryLanguage": "JSONPath"}}, "JSONPath machines are not emulated"),
    "next and end": ({"A": {**PASS, "Next": "B", "End": True}, "B": PASS}, "exactly one of Next and End"),
    "missing target": (
        {"A": {**PASS, "Next": "B"}},
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: B at /States/A/Next",
    ),
    "missing target of a rule": (
        {"A": {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "X"}], "Default": "B"}, "B": PASS},
        "Missing 'Next' target: X at /States/A/Choices/0/Next",
    ),
    "missing target of a catcher": (
        {"A": task(Catch=[{"ErrorEquals": ["States.ALL"], "Next": "X"}])},
        "Missing 'Next' target: X at /States/A/Catch/0/Next",
    ),
    "unreachable": ({"A": {**PASS, "End": True}, "B": PASS}, "State 'B' is not reachable at /States/B"),
    "no end": ({"A": {**PASS, "Next": "A"}}, "MISSING_END_STATE"),
    "syntax": ({"A": {**PASS, "Output": "{% 1 + %}"}}, "not valid: Output: "),
    "open mark": ({"A": {**PASS, "Output": ["{% 1"]}}, "starts with '{%' and ends with '%}' at /States/A/Output"),
    "eval": ({"A": {**PASS, "Output": "{% $eval('1') %}"}}, "The function $eval is not supported"),
    "root": ({"A": {**PASS, "Output": "{% $$.a %}"}}, "$$ is not supported"),
    "result of no task": ({"A": {**PASS, "Output": "{% $states.result %}"}}, "$states.result is not available"),
    "result in arguments": (
        {"A": task(Arguments={"a": ["{% $states.result.x %}"]})},
        "$states.result is not available",
    ),
    "error outside a catcher": (
        {"A": task(Output="{% $states.errorOutput %}")},
        "$states.errorOutput is not available",
    ),
    "reserved variable": ({"A": {**PASS, "Assign": {"states": 1}}}, "'states' is reserved"),
    "variable that is no name": ({"A": {**PASS, "Assign": {"a-b": 1}}}, "'a-b' is not a variable name"),
    "long variable": ({"A": {**PASS, "Assign": {"v" * 81: 1}}}, "is not a variable name of at most 80"),
    "long state name": ({"A" * 81: PASS}, "1 to 80 characters"),
    "outer variable assigned inside": (
        {
            "A": {
                "Type": "Map",
                "ItemProcessor": {"StartAt": "I", "States": {"I": {**PASS, "Assign": {"x": 1}, "End": True}}},
                "Next": "B",
            },
            "B": {**PASS, "Assign": {"x": 1}},
        },
        "'x' belongs to an outer scope and can only be read here at /States/A/ItemProcessor/States/I/Assign/x",
    ),
    "name used twice": ({"I": {"Type": "Map", "ItemProcessor": BODY}}, "DUPLICATE_STATE_NAME"),
    "distributed map": (
        {"A": {"Type": "Map", "ItemProcessor": {**BODY, "ProcessorConfig": {"Mode": "DISTRIBUTED"}}}},
        "only Mode INLINE is emulated",
    ),
    "wait for nothing": ({"A": {"Type": "Wait"}}, "exactly one of Seconds and Timestamp"),
    "wait for text": ({"A": {"Type": "Wait", "Seconds": "5"}}, "must be of type number or a JSONata string"),
    "task without resource": ({"A": {"Type": "Task"}}, "Field 'Resource' is required"),
    "resource that is no ARN": ({"A": {"Type": "Task", "Resource": "s3"}}, "Resource must be an ARN"),
    "choices missing": ({"A": {"Type": "Choice"}}, "Field 'Choices' is required"),
    "no choices": ({"A": {"Type": "Choice", "Choices": []}}, "at least one rule"),
    "no branches": ({"A": {"Type": "Parallel", "Branches": []}}, "at least one branch"),
    "no condition": ({"A": {"Type": "Choice", "Choices": [{"Next": "A"}]}}, "Field 'Condition' is required"),
    "ALL with others": (
        {"A": task(Retry=[{"ErrorEquals": ["States.ALL", "X"]}])},
        "States.ALL must stand alone and in the last entry at /States/A/Retry/0/ErrorEquals",
    ),
    "ALL before others": (
        {"A": task(Retry=[{"ErrorEquals": ["States.ALL"]}, {"ErrorEquals": ["X"]}])},
        "States.ALL must stand alone",
    ),
    "no errors": ({"A": task(Retry=[{"ErrorEquals": []}])}, "must name at least one error"),
    "errors missing": ({"A": task(Retry=[{}])}, "Field 'ErrorEquals' is required"),
    "interval": ({"A": task(Retry=[{"ErrorEquals": ["X"], "IntervalSeconds": 0}])}, "a number from 1"),
    "half an attempt": ({"A": task(Retry=[{"ErrorEquals": ["X"], "MaxAttempts": 1.5}])}, "a whole number"),
    "backoff": ({"A": task(Retry=[{"ErrorEquals": ["X"], "BackoffRate": 0.5}])}, "a number from 1"),
    "jitter": ({"A": task(Retry=[{"ErrorEquals": ["X"], "JitterStrategy": "SOME"}])}, "'NONE' or 'FULL'"),
    "max delay": (
        {"A": task(Retry=[{"ErrorEquals": ["X"], "IntervalSeconds": 9, "MaxDelaySeconds": 9}])},
        "greater than IntervalSeconds",
    ),
    "list that is none": ({"A": task(Retry={"ErrorEquals": ["X"]})}, "Field 'Retry' must be a list"),
    "entry that is no object": ({"A": task(Catch=["X"])}, "must be an object at /States/A/Catch/0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    states, message = REFUSED[name]
    assert any(message in problem for problem in problems(machine(states))), problems(machine(states))


def test_every_problem_is_told_at_once() -> None:
    states = {"A": {**PASS, "Foo": 1, "Next": "X"}, "B": {"Type": "Wait"}}
    assert len(problems(machine(states))) == 4


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("{", "INVALID_JSON_DESCRIPTION"),
        ("[]", "must be an object"),
        ({"QueryLanguage": "JSONata"}, "Field 'StartAt' is required"),
        ({"QueryLanguage": "JSONata", "StartAt": "A", "States": {}}, "at least one member"),
        (
            {"QueryLanguage": "JSONata", "StartAt": "B", "States": {"A": {**PASS, "End": True}}},
            "Missing 'StartAt' target",
        ),
        ({"StartAt": "A", "States": {"A": {**PASS, "End": True}}}, "QueryLanguage must be 'JSONata'"),
        (machine({"A": PASS}, Version="2.0"), "Version must be '1.0'"),
        (machine({"A": PASS}, TimeoutSeconds=0), "a number from 1"),
        (machine({"A": PASS}, Extra=1), "Field 'Extra' is not supported"),
        (json.dumps(machine({"A": {**PASS, "Output": "x" * 1_048_576}})), "longer than 1048576 bytes"),
    ],
)
def test_a_machine_refused(definition: Any, message: str) -> None:
    assert any(message in problem for problem in problems(definition))


def test_text_and_mapping_read_alike() -> None:
    definition = machine({"A": {**PASS, "Comment": "a"}}, Comment="all", TimeoutSeconds=60)
    for given in (definition, json.dumps(definition)):
        parsed = StateMachine.parse(given)
        assert (parsed.comment, parsed.timeout_s, list(parsed.block.states)) == ("all", 60, ["A"])


def test_a_state_may_say_JSONata_for_itself() -> None:  # noqa: N802
    definition = machine({"A": {**PASS, "QueryLanguage": "JSONata"}})
    del definition["QueryLanguage"]
    assert list(StateMachine.parse(definition).block.states) == ["A"]
