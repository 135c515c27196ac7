"""Evaluates an expression file on its own, without a state machine."""

from __future__ import annotations

from functools import cache
from typing import Any

from infra.offline.states.functions import Frame, execution_frame
from infra.offline.states.jsonata import Expression
from infra.offline.states.values import inward, outward
from infra.workflow import expression

NOW = 1_800_000_000.0
"""The time at which every table stands still."""


def evaluate(name: str, **variables: Any) -> Any:
    """The value of `expressions/<name>.jsonata` with these variables, at `NOW`."""
    scope = Frame(execution_frame(lambda: NOW))
    scope.bindings.update({key: inward(value) for key, value in variables.items()})
    return outward(_compiled(name).evaluate(scope))


@cache
def _compiled(name: str) -> Expression:
    return Expression(expression(name), name)
