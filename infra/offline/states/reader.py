"""Reads one object of a definition field by field, noting what is missing, wrong or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from infra.offline.states.errors import Problem
from infra.offline.states.jsonata import Expression, ExpressionSyntaxError
from infra.offline.states.template import Constant, Template, compile_template
from infra.offline.states.values import inward, json_type

__all__ = ["IN_CATCHER", "IN_RESULT", "Fields", "Report"]

_EVERYWHERE: Final = frozenset({"input", "context"})
IN_RESULT: Final = _EVERYWHERE | {"result"}
IN_CATCHER: Final = _EVERYWHERE | {"errorOutput"}
_STATES_MEMBERS: Final = IN_RESULT | IN_CATCHER
_MAX_VARIABLE_CHARS: Final = 80


class Report:
    """The problems found so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, code: str, message: str, location: str) -> None:
        self.problems.append(Problem(code, message, location))

    def schema(self, message: str, location: str) -> None:
        self.add("SCHEMA_VALIDATION_FAILED", message, location)

    def target(self, field: str, target: str, location: str) -> None:
        self.add("MISSING_TRANSITION_TARGET", f"Missing '{field}' target: {target}", location)


class Fields:
    """The fields of one JSON object; each is taken once, and `refuse_rest` reports those nobody took.

    Args:
        document: the object; anything else is a problem and reads as an empty one.
        location: JSON pointer to it.
        outer: variables that may be read but not assigned here.
        last: whether it is the last entry of its list.
    """

    def __init__(
        self, document: Any, location: str, report: Report, *, outer: frozenset[str] = frozenset(), last: bool = True
    ) -> None:
        self.location = location
        self.report = report
        self.last = last
        self._outer = outer
        self._taken: set[str] = set()
        if not isinstance(document, Mapping):
            report.schema("must be an object", location)
            document = {}
        self._document: Mapping[str, Any] = document

    def _take(self, name: str, required: bool = False) -> Any:
        self._taken.add(name)
        if required and name not in self._document:
            self.report.schema(f"Field '{name}' is required", self.location)
        return self._document.get(name)

    def _wrong(self, name: str, expected: str) -> None:
        self.report.schema(f"Field '{name}' must be {expected}", f"{self.location}/{name}")

    def text(self, name: str, *, required: bool = False, default: str | None = None) -> str | None:
        value = self._take(name, required)
        if value is None:
            return default
        if not isinstance(value, str):
            self._wrong(name, "a string")
            return default
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._take(name, required=True)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._wrong(name, "a list of strings")
            return ()
        return tuple(value)

    def number(self, name: str, low: float, high: float, *, whole: bool = False) -> float | None:
        value = self._take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            self._wrong(name, f"a number from {low:g} to {high:g}")
            return None
        if whole and value != int(value):
            self._wrong(name, "a whole number")
        return value

    def mapping(self, name: str, *, required: bool = False) -> Mapping[str, Any]:
        value = self._take(name, required)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or (required and not value):
            self._wrong(name, "an object" + (" with at least one member" if required else ""))
            return {}
        return value

    def child(self, name: str) -> Fields:
        value = self._take(name, required=True)
        return Fields({} if value is None else value, f"{self.location}/{name}", self.report, outer=self._outer)

    def items(self, name: str, *, required: bool = False) -> list[Fields]:
        value = self._take(name, required)
        if value is None:
            return []
        if not isinstance(value, list):
            self._wrong(name, "a list")
            return []
        return [
            Fields(
                item, f"{self.location}/{name}/{index}", self.report, outer=self._outer, last=index == len(value) - 1
            )
            for index, item in enumerate(value)
        ]

    def next(self) -> str | None:
        """`Next`, or None for `End: true`; exactly one of the two is needed."""
        target = self.text("Next")
        end = self._take("End")
        if end is not None and not isinstance(end, bool):
            self._wrong("End", "true or false")
        if (target is not None) == (end is True):
            self.report.schema("exactly one of Next and End is needed", self.location)
        return target

    def template(
        self, name: str, *, kind: str | None = None, available: frozenset[str] = _EVERYWHERE
    ) -> Template | None:
        """A field that may hold expressions.

        Args:
            kind: the JSON type it must have where it holds none.
            available: members of `$states` that exist where it is evaluated.
        """
        self._taken.add(name)
        if name not in self._document:
            return None
        return self._compile(self._document[name], name, kind, available)

    def required_template(self, name: str, *, kind: str) -> Template:
        template = self.template(name, kind=kind)
        if template is None:
            self.report.schema(f"Field '{name}' is required", self.location)
            return Constant(None, name)
        return template

    def assign(self, name: str, available: frozenset[str] = _EVERYWHERE) -> dict[str, Template]:
        """`Assign`: a template for each variable."""
        variables = self.mapping(name)
        for variable in variables:
            where = f"{self.location}/{name}/{variable}"
            if not variable.isidentifier() or len(variable) > _MAX_VARIABLE_CHARS:
                self.report.schema(f"'{variable}' is not a variable name of at most {_MAX_VARIABLE_CHARS}", where)
            if variable == "states":
                self.report.schema("'states' is reserved", where)
            if variable in self._outer:
                self.report.schema(f"'{variable}' belongs to an outer scope and can only be read here", where)
        return {
            variable: self._compile(value, f"{name}/{variable}", None, available)
            for variable, value in variables.items()
        }

    def refuse_rest(self) -> None:
        """Report the fields that nobody took: JSONPath's, another state's, misspelt ones."""
        for name in self._document:
            if name not in self._taken:
                self.report.schema(f"Field '{name}' is not supported", f"{self.location}/{name}")

    def _compile(self, value: Any, field: str, kind: str | None, available: frozenset[str]) -> Template:
        where = f"{self.location}/{field}"
        expressions: list[Expression] = []
        try:
            template = compile_template(value, field, expressions)
        except ExpressionSyntaxError as error:
            self.report.schema(f"The JSONata expression is not valid: {error}", where)
            return Constant(inward(value), field)
        for expression in expressions:
            self._check(expression, where, available)
        if kind is not None and not expressions and (actual := json_type(inward(value))) != kind:
            self.report.schema(f"must be of type {kind} or a JSONata string, but is {actual}", where)
        return template

    def _check(self, expression: Expression, where: str, available: frozenset[str]) -> None:
        for variable, names in expression.variables():
            if variable == "eval":
                self.report.schema("The function $eval is not supported", where)
            elif variable == "$":
                self.report.schema("$$ is not supported: use $states.input", where)
            elif variable == "states" and names and names[0] in _STATES_MEMBERS - available:
                self.report.schema(f"$states.{names[0]} is not available in this field", where)
