"""Paths and predicates: what comes of applying one expression to each of the items that another gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from jsonata import Utils

from infra.offline.states.operators import truth

__all__ = ["Code", "filter_code", "path_code", "sequence", "single"]

Code = Callable[[Any, Any], Any]
"""Input and frame to value; None is undefined."""

_JList: Final = Utils.JList


def single(result: Any) -> Any:
    """A sequence of one is that one, an empty one is undefined."""
    if type(result) is _JList and result.sequence and not result.tuple_stream:
        if not result:
            return None
        if len(result) == 1 and not result.keep_singleton:
            return result[0]
    return result


def sequence(*items: Any) -> Any:
    """A list that paths flatten and that `single` may dissolve."""
    made = _JList(items)
    made.sequence = True
    return made


def path_code(expr: Any, code_of: Callable[[Any], Code], library: Any) -> Code:
    """The closure of a path."""
    steps = expr.steps
    if expr.tuple is not None or any(step.tuple is not None or step.type == "sort" for step in steps):
        return lambda input, frame: single(library.evaluate_path(expr, input, frame))
    general = _steps(expr, code_of, library)
    first, *rest = steps
    plain = first.type == "variable" and first.value not in ("", "$") and all(step.type == "name" for step in rest)
    if not plain or expr.keep_singleton_array or expr.group is not None or any(map(_has_extras, steps)):
        return general
    variable, names = str(first.value), [str(step.value) for step in rest]

    def value(input: Any, frame: Any) -> Any:
        found = frame.lookup(variable)
        for name in names:
            if type(found) is not dict:
                return general(input, frame)
            found = found.get(name)
        return found if type(found) in _PLAIN else general(input, frame)

    return value


_PLAIN: Final = frozenset({str, int, float, bool, dict, list})
_EXTRAS: Final = ("predicate", "stages", "group", "focus", "index", "keep_array", "consarray", "ancestor")


def _has_extras(step: Any) -> bool:
    return any(getattr(step, extra) for extra in _EXTRAS)


def _steps(expr: Any, code_of: Callable[[Any], Code], library: Any) -> Code:
    """A path without joins: each step is applied to each item that the one before it gave."""
    absolute = expr.steps[0].type == "variable"
    steps = [
        (code_of(step), [filter_code(stage.expr, code_of, library) for stage in step.stages or ()], step.focus is None)
        for step in expr.steps
    ]
    constructed, last = expr.steps[0].consarray, len(steps) - 1
    keep_singleton, group = expr.keep_singleton_array, expr.group

    def value(input: Any, frame: Any) -> Any:
        items = input if isinstance(input, list) and not absolute else sequence(input)
        result: Any = None
        for index, (code, filters, moves_on) in enumerate(steps):
            if index == 0 and constructed:
                result = code(items, frame)
            else:
                result = _step(code, filters, items, frame, index == last)
            if result is None or not result:
                break
            if moves_on:
                items = result
        if keep_singleton:
            if type(result) is not _JList:
                result = _JList(result or ())
            if result.cons and not result.sequence:
                result = sequence(result)
            result.keep_singleton = True
        return single(result if group is None else library.evaluate_group_expression(group, result, frame))

    return value


def _step(code: Code, filters: list[Code], items: Any, frame: Any, last: bool) -> Any:
    results: list[Any] = []
    for item in items:
        value = code(item, frame)
        for apply in filters:
            value = apply(value, frame)
        if value is not None:
            results.append(value)
    if last and len(results) == 1 and isinstance(results[0], list) and not Utils.is_sequence(results[0]):
        return results[0]
    flat = sequence()
    for value in results:
        if not isinstance(value, list) or getattr(value, "cons", False):
            flat.append(value)
        else:
            flat.extend(value)
    return flat


def filter_code(predicate: Any, code_of: Callable[[Any], Code], library: Any) -> Code:
    """A predicate in brackets: takes the items and the frame, gives those it lets through."""
    if predicate.type == "number":
        return lambda items, frame: library.evaluate_filter(predicate, items, frame)
    code = code_of(predicate)

    def apply(items: Any, frame: Any) -> Any:
        if type(items) is _JList and items.tuple_stream:
            return library.evaluate_filter(predicate, items, frame)
        results = sequence()
        if items is None:
            return results
        if not isinstance(items, list):
            items = [items]
        for index, item in enumerate(items):
            value = code(item, frame)
            if value is True:
                results.append(item)
            elif value is not False:
                results.extend(item for _ in range(_hits(value, index, len(items))))
        return results

    return apply


def _hits(value: Any, index: int, length: int) -> int:
    """How often a predicate that is no boolean lets the item at `index` through: a number is a position."""
    if Utils.is_numeric(value):
        value = [value]
    if Utils.is_array_of_numbers(value):
        return sum(1 for number in value if (int(number) if number >= 0 else length + int(number)) == index)
    return int(truth(value))
