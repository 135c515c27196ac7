"""The States Language, rule by rule: a small machine, its input, and what must come of it."""

from __future__ import annotations

from typing import Any

import pytest
from statelint.linter import Linter

from infra.offline.states import StatesError
from tests.offline.states.running import Toy, machine, run, task

INNER = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Output": "{% $states.input * 2 %}", "End": True}}}

SUCCEEDS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "pass hands on its input": ({"A": {"Type": "Pass"}}, {"x": [1, None]}, {"x": [1, None]}),
    "output replaces it": ({"A": {"Type": "Pass", "Output": {"y": "{% $states.input.x + 1 %}"}}}, {"x": 1}, {"y": 2}),
    "output may be any JSON": ({"A": {"Type": "Pass", "Output": [1, "a", None, True]}}, {}, [1, "a", None, True]),
    "output may be one expression": ({"A": {"Type": "Pass", "Output": "{% $states.input.x %}"}}, {"x": "é"}, "é"),
    "null stays null everywhere": (
        {"A": {"Type": "Pass", "Output": {"l": None, "e": "{% null %}", "i": "{% $states.input.n %}", "a": [None]}}},
        {"n": None},
        {"l": None, "e": None, "i": None, "a": [None]},
    ),
    "text without the marks is text": ({"A": {"Type": "Pass", "Output": "$states.input"}}, {}, "$states.input"),
    "assigned variables are there in the next state": (
        {
            "A": {"Type": "Pass", "Assign": {"x": 1, "y": {"z": "{% $states.input.k %}"}}, "Next": "B"},
            "B": {"Type": "Pass", "Output": "{% $x + $y.z %}"},
        },
        {"k": 2},
        3,
    ),
    "assign and output see the variables as they were": (
        {
            "A": {"Type": "Pass", "Assign": {"x": 1, "y": 10}, "Next": "B"},
            "B": {"Type": "Pass", "Assign": {"x": "{% $y %}", "y": "{% $x %}"}, "Output": "{% $x %}", "Next": "C"},
            "C": {"Type": "Pass", "Output": "{% [$states.input, $x, $y] %}"},
        },
        {},
        [1, 10, 1],
    ),
    "choice takes the first rule that holds": (
        {
            "A": {
                "Type": "Choice",
                "Choices": [
                    {"Condition": "{% $states.input.n > 10 %}", "Next": "Big"},
                    {"Condition": "{% $states.input.n > 5 %}", "Next": "Mid", "Output": "mid", "Assign": {"v": 7}},
                    {"Condition": "{% true %}", "Next": "Big"},
                ],
            },
            "Big": {"Type": "Succeed", "Output": "big"},
            "Mid": {"Type": "Succeed", "Output": "{% $states.input & $string($v) %}"},
        },
        {"n": 6},
        "mid7",
    ),
    "choice's own assign and output go with the default": (
        {
            "A": {
                "Type": "Choice",
                "Choices": [{"Condition": "{% false %}", "Next": "B", "Output": "rule"}],
                "Default": "B",
                "Assign": {"v": 1},
                "Output": "default",
            },
            "B": {"Type": "Succeed", "Output": "{% [$states.input, $v] %}"},
        },
        {},
        ["default", 1],
    ),
    "succeed ends with its output": ({"A": {"Type": "Succeed", "Output": {"n": "{% 1 + 1 %}"}}}, {}, {"n": 2}),
    "task's result is its output": ({"A": task(Arguments={"a": "{% $states.input.x %}"})}, {"x": 1}, {"a": 1}),
    "task without arguments gets the input": ({"A": task()}, {"x": 1}, {"x": 1}),
    "task's output sees input and result": (
        {"A": task(Arguments={"a": 1}, Output="{% $states.input.x + $states.result.a %}")},
        {"x": 41},
        42,
    ),
    "map runs on each item": ({"A": {"Type": "Map", "ItemProcessor": INNER}}, [1, 2, 3], [2, 4, 6]),
    "map takes items from an expression": (
        {"A": {"Type": "Map", "Items": "{% $states.input.l[] %}", "ItemProcessor": INNER}},
        {"l": [5]},
        [10],
    ),
    "map of literal items": ({"A": {"Type": "Map", "Items": [1, "{% 1 + 1 %}"], "ItemProcessor": INNER}}, {}, [2, 4]),
    "map of nothing": ({"A": {"Type": "Map", "Items": [], "ItemProcessor": INNER}}, {}, []),
    "map's item selector sees item, input and variables": (
        {
            "S": {"Type": "Pass", "Assign": {"k": 100}, "Next": "A"},
            "A": {
                "Type": "Map",
                "Items": ["a", "b"],
                "ItemSelector": {
                    "v": "{% $states.context.Map.Item.Value %}",
                    "n": "{% $states.context.Map.Item.Index + $k + $states.input.x %}",
                },
                "ItemProcessor": {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}},
            },
        },
        {"x": 1000},
        [{"v": "a", "n": 1100}, {"v": "b", "n": 1101}],
    ),
    "parallel gathers its branches in order": (
        {
            "A": {
                "Type": "Parallel",
                "Branches": [
                    {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 9, "Output": "slow", "End": True}}},
                    {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}},
                ],
                "Arguments": {"x": "{% $states.input.x + 1 %}"},
                "Output": "{% $states.result %}",
            }
        },
        {"x": 1},
        ["slow", {"x": 2}],
    ),
    "branches read outer variables, and what they set vanishes": (
        {
            "S": {"Type": "Pass", "Assign": {"outer": 1}, "Next": "A"},
            "A": {
                "Type": "Parallel",
                "Branches": [
                    {
                        "StartAt": "P",
                        "States": {
                            "P": {"Type": "Pass", "Assign": {"inner": "{% $outer + 1 %}"}, "Next": "Q"},
                            "Q": {"Type": "Pass", "Output": "{% $inner %}", "End": True},
                        },
                    }
                ],
                "Next": "B",
            },
            "B": {"Type": "Pass", "Output": "{% [$states.input, $exists($inner)] %}"},
        },
        {},
        [2, False],
    ),
    "the last failed attempt's error is the catcher's output": (
        {"A": task("fail", Catch=[{"ErrorEquals": ["Toy.Error"], "Next": "B"}]), "B": {"Type": "Pass"}},
        {},
        {"Error": "Toy.Error", "Cause": "broken"},
    ),
    "a catcher assigns and forms the output": (
        {
            "A": task(
                "fail",
                Catch=[
                    {
                        "ErrorEquals": ["States.ALL"],
                        "Assign": {"why": "{% $states.errorOutput.Cause %}"},
                        "Output": {"was": "{% $states.input.x %}"},
                        "Next": "B",
                    }
                ],
            ),
            "B": {"Type": "Pass", "Output": "{% [$states.input.was, $why] %}"},
        },
        {"x": 1},
        [1, "broken"],
    ),
    "the first matching catcher wins": (
        {
            "A": task(
                "fail",
                Catch=[
                    {"ErrorEquals": ["Other"], "Next": "B", "Output": "other"},
                    {"ErrorEquals": ["States.TaskFailed"], "Next": "B", "Output": "task failed"},
                    {"ErrorEquals": ["States.ALL"], "Next": "B", "Output": "all"},
                ],
            ),
            "B": {"Type": "Pass"},
        },
        {},
        "task failed",
    ),
    "a failed output of a task can be caught": (
        {
            "A": task(
                Output="{% $states.input.missing %}",
                Catch=[{"ErrorEquals": ["States.QueryEvaluationError"], "Next": "B", "Output": "caught"}],
            ),
            "B": {"Type": "Pass"},
        },
        {},
        "caught",
    ),
    "the error of a branch can be caught": (
        {
            "A": {
                "Type": "Parallel",
                "Branches": [{"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Mine", "Cause": "no"}}}],
                "Catch": [{"ErrorEquals": ["Mine"], "Next": "B"}],
            },
            "B": {"Type": "Pass"},
        },
        {},
        {"Error": "Mine", "Cause": "no"},
    ),
    "items that fail within the tolerance are left out": (
        {
            "A": {
                "Type": "Map",
                "ItemProcessor": INNER,
                "ToleratedFailureCount": 1,
            }
        },
        [1, "x", 3],
        [2, 6],
    ),
}


def toy() -> Toy:
    return Toy(fail=[StatesError("Toy.Error", "broken")])


@pytest.mark.parametrize("name", SUCCEEDS)
def test_succeeds(name: str) -> None:
    states, given, expected = SUCCEEDS[name]
    assert run(states, given, services=toy()).output == expected


@pytest.mark.parametrize("name", SUCCEEDS)
def test_statelint_finds_nothing(name: str) -> None:
    assert Linter.validate(machine(SUCCEEDS[name][0])) == []


UNDEFINED = "returned nothing (undefined)."
FAILS: dict[str, tuple[dict[str, Any], Any, str, str]] = {
    "fail state": ({"A": {"Type": "Fail", "Error": "E", "Cause": "{% 'c' & '!' %}"}}, {}, "E", "c!"),
    "fail state without a word": ({"A": {"Type": "Fail"}}, {}, "", ""),
    "no choice": (
        {"A": {"Type": "Choice", "Choices": [{"Condition": False, "Next": "B"}]}, "B": {"Type": "Succeed"}},
        {},
        "States.NoChoiceMatched",
        "the state 'A'",
    ),
    "undefined in output": (
        {"A": {"Type": "Pass", "Output": {"v": "{% $states.input.missing %}"}}},
        {},
        "States.QueryEvaluationError",
        "An error occurred while executing the state 'A' (entered at the event id #2). The JSONata expression "
        f"'$states.input.missing' specified for the field 'Output/v' {UNDEFINED}",
    ),
    "undefined in assign": (
        {"A": {"Type": "Pass", "Assign": {"v": "{% $missing %}"}}},
        {},
        "States.QueryEvaluationError",
        f"the field 'Assign/v' {UNDEFINED}",
    ),
    "undefined in a condition": (
        {
            "A": {"Type": "Choice", "Choices": [{"Condition": "{% $states.input.x %}", "Next": "B"}]},
            "B": {"Type": "Succeed"},
        },
        {},
        "States.QueryEvaluationError",
        UNDEFINED,
    ),
    "condition that is no boolean": (
        {
            "A": {"Type": "Choice", "Choices": [{"Condition": "{% 'yes' %}", "Next": "B"}]},
            "B": {"Type": "Succeed"},
        },
        {},
        "States.QueryEvaluationError",
        "Expected 'boolean', but was 'string' for value: \"yes\"",
    ),
    "type error": (
        {"A": {"Type": "Pass", "Output": "{% 1 + 'a' %}"}},
        {},
        "States.QueryEvaluationError",
        "threw an error during evaluation. T2002",
    ),
    "division by zero": ({"A": {"Type": "Pass", "Output": "{% 1 / 0 %}"}}, {}, "States.QueryEvaluationError", "D1001"),
    "function as output": (
        {"A": {"Type": "Pass", "Output": "{% function($x) { $x } %}"}},
        {},
        "States.QueryEvaluationError",
        "not a JSON value",
    ),
    "runaway recursion": (
        {"A": {"Type": "Pass", "Output": "{% ($f := function($n) { 1 + $f($n) }; $f(1)) %}"}},
        {},
        "States.QueryEvaluationError",
        "D1011",
    ),
    "own error": ({"A": {"Type": "Pass", "Output": "{% $error('mine') %}"}}, {}, "States.QueryEvaluationError", "mine"),
    "one item is not an array": (
        {"A": {"Type": "Map", "Items": "{% $states.input.l %}", "ItemProcessor": INNER}},
        {"l": 5},
        "States.QueryEvaluationError",
        "Expected 'array', but was 'number' for value: 5",
    ),
    "map over an object": (
        {"A": {"Type": "Map", "ItemProcessor": INNER}},
        {"l": 5},
        "States.QueryEvaluationError",
        "must be an array",
    ),
    "wait for half a second": (
        {"A": {"Type": "Wait", "Seconds": "{% 0.5 %}"}},
        {},
        "States.QueryEvaluationError",
        "whole number from 0",
    ),
    "wait until nonsense": (
        {"A": {"Type": "Wait", "Timestamp": "{% 'noon' %}"}},
        {},
        "States.QueryEvaluationError",
        "'noon'",
    ),
    "an error nobody catches": ({"A": task("fail")}, {}, "Toy.Error", "broken"),
    "an error nobody catches by name": (
        {"A": task("fail", Catch=[{"ErrorEquals": ["Other"], "Next": "B"}]), "B": {"Type": "Pass"}},
        {},
        "Toy.Error",
        "broken",
    ),
    "runtime errors are not caught": (
        {"A": task("runtime", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}]), "B": {"Type": "Pass"}},
        {},
        "States.Runtime",
        "",
    ),
    "too much output": (
        {"A": {"Type": "Pass", "Output": "{% $pad('x', 262144, 'x') %}"}},
        {},
        "States.DataLimitExceeded",
        "the maximum number of bytes service limit",
    ),
    "too much in one assign": (
        {"A": {"Type": "Pass", "Assign": {"a": "{% $pad('', 150000, 'x') %}", "b": "{% $pad('', 150000, 'x') %}"}}},
        {},
        "States.DataLimitExceeded",
        "'A'",
    ),
    "too large a result, not caught by States.ALL": (
        {"A": task("large", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "B"}]), "B": {"Type": "Pass"}},
        {},
        "States.DataLimitExceeded",
        "'A'",
    ),
    "more failures than tolerated": (
        {"A": {"Type": "Map", "ItemProcessor": INNER, "ToleratedFailurePercentage": 50}},
        ["a", "b", 3],
        "States.ExceedToleratedFailureThreshold",
        "2 of 3 items failed",
    ),
    "one failure is too many without tolerance": (
        {"A": {"Type": "Map", "ItemProcessor": INNER}},
        [1, "b"],
        "States.QueryEvaluationError",
        "the state 'I'",
    ),
}


@pytest.mark.parametrize("name", FAILS)
def test_fails(name: str) -> None:
    states, given, error, cause = FAILS[name]
    services = Toy(
        fail=[StatesError("Toy.Error", "broken")], runtime=[StatesError("States.Runtime")], large=["é" * 131_072]
    )
    came = run(states, given, services=services)
    assert came.error == error
    assert cause in came.cause


def test_the_payload_limit_counts_bytes_of_utf_8() -> None:
    exactly = {"A": {"Type": "Pass", "Output": "{% $pad('', 131071, 'é') %}"}}  # with its two quotes: 262,144 bytes
    assert run(exactly).output == "é" * 131_071
    assert run({"A": {"Type": "Pass", "Output": "{% $pad('', 131072, 'é') %}"}}).error == "States.DataLimitExceeded"


def test_a_long_cause_is_cut() -> None:
    came = run({"A": {"Type": "Fail", "Error": "E", "Cause": "{% $pad('', 40000, 'c') %}"}})
    assert came.cause == "c" * 32_768
