"""JSONata expressions, compiled once and evaluated many times with bound variables.

jsonata-python (a port of the Java library that Step Functions uses) parses and knows the language. Two things are ours:
the evaluator leaves out what a state machine never needs (debugging, run-away callbacks, `$eval`'s bookkeeping), which
costs the library half of its time, and a plain path such as `$states.input.job.name` walks dictionaries directly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

from jsonata import JException, Jsonata, Parser, Utils  # type: ignore[import-untyped]

from infra.offline.states.errors import QueryEvaluationError
from infra.offline.states.functions import Frame
from infra.offline.states.values import NULL, dumps, json_type, normalize

__all__ = ["Expression", "ExpressionSyntaxError"]

Symbol = Parser.Symbol


class ExpressionSyntaxError(ValueError):
    """Text between `{%` and `%}` that is not JSONata."""


class Expression:
    """One compiled expression.

    Args:
        text: JSONata without the `{% %}` around it.
        field: where it stands in the state, such as `Output/total`; errors name it.

    Raises:
        ExpressionSyntaxError: it does not parse.
    """

    __slots__ = ("_ast", "field", "text")

    def __init__(self, text: str, field: str) -> None:
        self.text = text
        self.field = field
        try:
            self._ast = Jsonata(text).ast
        except JException as error:
            raise ExpressionSyntaxError(error.get_detailed_error_message()) from error
        except (ValueError, RecursionError, IndexError, AttributeError, TypeError) as error:
            raise ExpressionSyntaxError(f"{type(error).__name__}: {error}") from error
        for symbol in _walk(self._ast):
            symbol.plain_names = _plain_names(symbol)

    def evaluate(self, scope: Any) -> Any:
        """The expression's value with the variables of `scope` (a frame), free of JSONata's own types.

        Raises:
            QueryEvaluationError: it failed, returned nothing, or returned what JSON cannot hold.
        """
        try:
            value = _evaluator().eval(self._ast, None, Frame(scope))
            if value is not None:
                return normalize(value)
        except JException as error:
            raise self._failure(f"threw an error during evaluation. {error.error}: {error}") from error
        except ZeroDivisionError as error:  # JSONata's number is infinite then, which it refuses
            raise self._failure("threw an error during evaluation. D1001: Number out of range: Infinity") from error
        except RecursionError as error:
            raise self._failure("threw an error during evaluation. D1011: Stack overflow") from error
        except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError) as error:
            raise self._failure(f"threw an error during evaluation. {type(error).__name__}: {error}") from error
        raise self._failure("returned nothing (undefined).")

    def evaluate_as(self, scope: Any, expected: str) -> Any:
        """`evaluate`, and the value must be of the named JSON type.

        Raises:
            QueryEvaluationError: as for `evaluate`, or it is of another type.
        """
        value = self.evaluate(scope)
        actual = json_type(value)
        if actual != expected:
            types = f"Expected '{expected}', but was '{actual}' for value: {dumps(value)}"
            raise self._failure(f"returned an unexpected result type. {types}")
        return value

    def variables(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each variable the expression reads, with the names that follow it: `('states', ('input', 'job'))`."""
        for symbol in _walk(self._ast):
            if symbol.type == "path" and symbol.steps and symbol.steps[0].type == "variable":
                names = [str(step.value) for step in symbol.steps[1:] if step.type == "name"]
                yield str(symbol.steps[0].value), tuple(names)
            elif symbol.type == "variable":
                yield str(symbol.value), ()

    def _failure(self, what: str) -> QueryEvaluationError:
        cause = f"The JSONata expression '{self.text}' specified for the field '{self.field}' {what}"
        return QueryEvaluationError(cause, self.field)


class _Evaluator(Jsonata):  # type: ignore[misc]
    """The library's evaluator without its per-node overhead; `evaluate_...` methods are the library's own."""

    def __init__(self) -> None:
        super().__init__("null")
        self.steps = 0

    def eval(self, expr: Any, input: Any, environment: Any) -> Any:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise JException("D3137", -1, "Expression evaluation timed out: Check for an infinite loop")
        kind = expr.type
        if kind == "path":
            result = self._path(expr, input, environment)
        elif kind == "variable":
            result = self.evaluate_variable(expr, input, environment)
        elif kind in _LITERALS:
            result = NULL if expr.value is None else expr.value
        else:
            method = _METHODS.get(kind)
            result = None if method is None else method(self, expr, input, environment)
        if expr.predicate is not None:
            for item in expr.predicate:
                result = self.evaluate_filter(item.expr, result, environment)
        if expr.group is not None and kind != "path":
            result = self.evaluate_group_expression(expr.group, result, environment)
        if isinstance(result, _Sequence) and result.sequence and not result.tuple_stream:
            if expr.keep_array:
                result.keep_singleton = True
            if not result:
                return None
            if len(result) == 1 and not result.keep_singleton:
                return result[0]
        return result

    def _path(self, expr: Any, input: Any, environment: Any) -> Any:
        names = getattr(expr, "plain_names", None)  # symbols that the library makes while evaluating have none
        if names is None:
            return self.evaluate_path(expr, input, environment)
        value = environment.lookup(names[0])
        for name in names[1]:
            if type(value) is not dict or name not in value:
                return self.evaluate_path(expr, input, environment)
            value = value[name]
        if type(value) in _PLAIN_RESULTS:
            return value
        return self.evaluate_path(expr, input, environment)


_MAX_STEPS: Final = 5_000_000  # some ten seconds: an expression that loops must not stop every execution for good
_NONE: Final = Utils.NONE
_Sequence: Final = Utils.JList
_LITERALS: Final = frozenset({"string", "number", "value"})
_PLAIN_RESULTS: Final = frozenset({str, int, float, bool, dict, list})
_METHODS: Final[dict[str, Any]] = {
    "binary": Jsonata.evaluate_binary,
    "unary": Jsonata.evaluate_unary,
    "name": Jsonata.evaluate_name,
    "wildcard": lambda self, expr, input, _: self.evaluate_wildcard(expr, input),
    "descendant": lambda self, expr, input, _: self.evaluate_descendants(expr, input),
    "parent": lambda self, expr, _, environment: environment.lookup(expr.slot.label),
    "condition": Jsonata.evaluate_condition,
    "block": Jsonata.evaluate_block,
    "bind": Jsonata.evaluate_bind_expression,
    "regex": lambda self, expr, input, _: self.evaluate_regex(expr),
    "function": lambda self, expr, input, environment: self.evaluate_function(expr, input, environment, _NONE),
    "lambda": Jsonata.evaluate_lambda,
    "partial": Jsonata.evaluate_partial_application,
    "apply": Jsonata.evaluate_apply_expression,
    "transform": Jsonata.evaluate_transform_expression,
}
_THREAD = threading.local()


def _evaluator() -> _Evaluator:
    """This thread's evaluator, made the library's current one: `$map` and its like call back through that."""
    evaluator: _Evaluator | None = getattr(_THREAD, "evaluator", None)
    if evaluator is None:
        evaluator = _THREAD.evaluator = _Evaluator()
    Jsonata.CURRENT.jsonata = evaluator
    evaluator.steps = 0
    return evaluator


def _walk(root: Any) -> Iterator[Any]:
    """Every symbol of a parsed expression, once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list | tuple):
            stack.extend(node)
        elif isinstance(node, Symbol) and id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(value for name, value in vars(node).items() if name != "_outer_instance")


def _plain_names(symbol: Any) -> tuple[str, tuple[str, ...]] | None:
    """The variable and the names of a path that is nothing but those, else None."""
    if symbol.type != "path" or symbol.keep_singleton_array or symbol.tuple is not None or symbol.group is not None:
        return None
    first, *rest = symbol.steps
    if first.type != "variable" or first.value in ("", "$") or any(step.type != "name" for step in rest):
        return None
    for step in symbol.steps:
        if any(vars(step)[extra] for extra in _STEP_EXTRAS):
            return None
    return str(first.value), tuple(str(step.value) for step in rest)


_STEP_EXTRAS: Final = ("predicate", "stages", "group", "focus", "index", "tuple", "keep_array", "consarray", "ancestor")
