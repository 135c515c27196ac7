"""Map and Parallel: how much runs at once, and what becomes of the others when one fails."""

from __future__ import annotations

from typing import Any

import pytest

from infra.offline.states import StatesError
from tests.offline.states.running import Toy, run, task

FAILING = StatesError("Toy.Error", "broken")


def sleepers(concurrency: Any, count: int) -> dict[str, Any]:
    body = {"StartAt": "T", "States": {"T": task(Arguments={"sleep": 10}, Output="{% $states.input %}", End=True)}}
    return {"M": {"Type": "Map", "MaxConcurrency": concurrency, "Items": list(range(count)), "ItemProcessor": body}}


@pytest.mark.parametrize(
    ("concurrency", "count", "seconds"),
    [(1, 6, 60), (2, 6, 30), ("{% 1 + 2 %}", 6, 20), (0, 40, 10), (0, 41, 20), (1000, 41, 20)],
)
def test_concurrency(concurrency: Any, count: int, seconds: float) -> None:
    came = run(sleepers(concurrency, count))
    assert came.seconds == seconds
    assert came.output == list(range(count))


def test_a_failing_branch_cancels_the_others() -> None:
    services = Toy(fail=[FAILING])
    states = {
        "P": {
            "Type": "Parallel",
            "Branches": [
                {"StartAt": "Slow", "States": {"Slow": task(Arguments={"sleep": 1000}, End=True)}},
                {
                    "StartAt": "W",
                    "States": {"W": {"Type": "Wait", "Seconds": 5, "Next": "F"}, "F": task("fail", End=True)},
                },
            ],
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "After"}],
        },
        "After": {"Type": "Pass"},
    }
    came = run(states, services=services)
    assert came.output == {"Error": "Toy.Error", "Cause": "broken"}
    assert (came.seconds, services.cancelled) == (5, 1)
    assert "ParallelStateFailed" in came.kinds


def test_a_failing_item_aborts_the_others_and_starts_no_more() -> None:
    body = {"StartAt": "T", "States": {"T": task("some", Arguments="{% {'sleep': $states.input} %}", End=True)}}
    services = Toy(some=[lambda given: given if given["sleep"] != 5 else (_ for _ in ()).throw(FAILING)])
    states = {"M": {"Type": "Map", "MaxConcurrency": 2, "Items": [100, 5, 1, 1], "ItemProcessor": body}}
    came = run(states, services=services)
    assert (came.error, came.seconds) == ("Toy.Error", 5)
    iterations = [
        (event["type"], event[key]["index"])
        for event in came.history.events
        for key in event
        if key.startswith("mapIteration")
    ]
    assert iterations == [
        ("MapIterationStarted", 0),
        ("MapIterationStarted", 1),
        ("MapIterationFailed", 1),
        ("MapIterationAborted", 0),
    ]


def test_blocks_nest() -> None:
    double = {"StartAt": "D", "States": {"D": {"Type": "Pass", "Output": "{% $states.input * $factor %}", "End": True}}}
    row = {
        "StartAt": "Factor",
        "States": {
            "Factor": {"Type": "Pass", "Assign": {"factor": "{% $base + 1 %}"}, "Next": "Row"},
            "Row": {"Type": "Map", "ItemProcessor": double, "End": True},
        },
    }
    states = {
        "Base": {"Type": "Pass", "Assign": {"base": 1}, "Next": "Table"},
        "Table": {"Type": "Map", "Items": [[1, 2], [3]], "ItemProcessor": row},
    }
    assert run(states).output == [[2, 4], [6]]


def test_tolerated_percentage_and_count_whichever_is_larger() -> None:
    body = {"StartAt": "T", "States": {"T": task("fail", End=True)}}
    tolerance = {"ToleratedFailureCount": 1, "ToleratedFailurePercentage": "{% 100 %}"}
    states = {"M": {"Type": "Map", "Items": [1, 2, 3], "ItemProcessor": body, **tolerance}}
    assert run(states, services=Toy(fail=[FAILING])).output == []
