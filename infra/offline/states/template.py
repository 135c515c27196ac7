"""JSON with `{% expressions %}` inside, compiled once: what `Arguments`, `Output`, `Assign` and their like hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from infra.offline.states.errors import QueryEvaluationError
from infra.offline.states.jsonata import Expression, ExpressionSyntaxError
from infra.offline.states.values import dumps, inward, json_type

__all__ = ["Constant", "Template", "compile_template", "whole_number"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value without expressions."""

    value: Any
    field: str

    def evaluate(self, scope: Any) -> Any:
        return self.value

    def evaluate_as(self, scope: Any, expected: str) -> Any:
        actual = json_type(self.value)
        if actual != expected:
            cause = f"The field '{self.field}' must be of type '{expected}', but is '{actual}': {dumps(self.value)}"
            raise QueryEvaluationError(cause, self.field)
        return self.value


@dataclass(frozen=True, slots=True)
class _Object:
    members: dict[str, Template]
    field: str

    def evaluate(self, scope: Any) -> Any:
        return {key: template.evaluate(scope) for key, template in self.members.items()}

    def evaluate_as(self, scope: Any, expected: str) -> Any:
        return Constant(self.evaluate(scope), self.field).evaluate_as(scope, expected)


@dataclass(frozen=True, slots=True)
class _Array:
    items: tuple[Template, ...]
    field: str

    def evaluate(self, scope: Any) -> Any:
        return [template.evaluate(scope) for template in self.items]

    def evaluate_as(self, scope: Any, expected: str) -> Any:
        return Constant(self.evaluate(scope), self.field).evaluate_as(scope, expected)


Template: TypeAlias = Constant | Expression | _Object | _Array
"""`evaluate(scope)` gives the value, `evaluate_as(scope, type)` one of a JSON type; both raise QueryEvaluationError."""


def compile_template(value: Any, field: str, expressions: list[Expression]) -> Template:
    """Compile a JSON value.

    Args:
        value: the field's value in the definition.
        field: its name in the state; errors name it with the path inside, such as `Arguments/Tags/0`.
        expressions: takes every expression found, for checks.

    Raises:
        ExpressionSyntaxError: an expression does not parse; the message names its field.
    """
    if isinstance(value, str) and (value.startswith("{%") or value.endswith("%}")):
        if not (value.startswith("{%") and value.endswith("%}") and len(value) >= 4):
            raise ExpressionSyntaxError(f"{field}: a JSONata string starts with '{{%' and ends with '%}}'")
        try:
            expression = Expression(value[2:-2].strip(), field)
        except ExpressionSyntaxError as error:
            raise ExpressionSyntaxError(f"{field}: {error}") from None
        expressions.append(expression)
        return expression
    found = len(expressions)
    if isinstance(value, dict):
        members = {key: compile_template(item, f"{field}/{key}", expressions) for key, item in value.items()}
        return Constant(inward(value), field) if len(expressions) == found else _Object(members, field)
    if isinstance(value, list):
        items = tuple(compile_template(item, f"{field}/{index}", expressions) for index, item in enumerate(value))
        return Constant(inward(value), field) if len(expressions) == found else _Array(items, field)
    return Constant(inward(value), field)


def whole_number(template: Template, scope: Any, low: int, high: int) -> int:
    """The value of a field that takes a whole number from `low` to `high`.

    Raises:
        QueryEvaluationError: it is something else.
    """
    number = template.evaluate_as(scope, "number")
    if number != int(number) or not low <= number <= high:
        cause = f"The field '{template.field}' must be a whole number from {low} to {high}, but is {number}."
        raise QueryEvaluationError(cause, template.field)
    return int(number)
