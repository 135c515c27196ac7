"""JSONata expressions, parsed once and evaluated many times with bound variables.

jsonata-python (a port of the Java library that Step Functions uses) knows the language.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonata import JException, Jsonata, Parser

from infra.offline.states.errors import QueryEvaluationError
from infra.offline.states.evaluator import evaluate
from infra.offline.states.values import dumps, json_type, normalize

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

    def evaluate(self, scope: Any) -> Any:
        """The expression's value with the variables of `scope` (a frame), free of JSONata's own types.

        Raises:
            QueryEvaluationError: it failed, returned nothing, or returned what JSON cannot hold.
        """
        try:
            value = evaluate(self._ast, scope)
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
