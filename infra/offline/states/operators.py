"""JSONata's binary operators on values; the usual kinds of operands here, everything else by the library.

Each takes both sides; None is undefined.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

from jsonata import Jsonata

__all__ = ["OPERATORS", "truth"]

_LIBRARY: Final = Jsonata("null")


def truth(value: Any) -> bool:
    """The value as a condition sees it."""
    if value is True or value is False:
        return bool(value)
    return bool(Jsonata.boolize(value))


def _arithmetic(symbol: str, compute: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) in _NUMBERS and type(right) in _NUMBERS:
            result = compute(float(left), float(right))
            if math.isfinite(result):
                return int(result) if result.is_integer() else result
        return _LIBRARY.evaluate_numeric_expression(left, right, symbol)

    return apply


def _comparison(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is type(right) and type(left) in _COMPARABLE:
            return compare(left, right)
        return _LIBRARY.evaluate_comparison_expression(left, right, symbol)

    return apply


def _equality(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if type(left) is type(right) and type(left) in _COMPARABLE:
            return compare(left, right)
        return _LIBRARY.evaluate_equality_expression(left, right, symbol)

    return apply


def _concatenation(left: Any, right: Any) -> Any:
    if type(left) is str and type(right) is str:
        return left + right
    return _LIBRARY.evaluate_string_concat(left, right)


_NUMBERS: Final = frozenset({int, float})
_COMPARABLE: Final = frozenset({int, float, str})
OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": _arithmetic("+", operator.add),
    "-": _arithmetic("-", operator.sub),
    "*": _arithmetic("*", operator.mul),
    "/": _arithmetic("/", operator.truediv),
    "%": lambda left, right: _LIBRARY.evaluate_numeric_expression(left, right, "%"),
    "=": _equality("=", operator.eq),
    "!=": _equality("!=", operator.ne),
    "<": _comparison("<", operator.lt),
    "<=": _comparison("<=", operator.le),
    ">": _comparison(">", operator.gt),
    ">=": _comparison(">=", operator.ge),
    "&": _concatenation,
    "..": _LIBRARY.evaluate_range_expression,
    "in": _LIBRARY.evaluate_includes_expression,
}
