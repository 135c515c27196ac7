"""A quicker evaluator for expressions that jsonata-python has parsed.

The library walks the syntax tree and decides at every node, every time, what kind of node it is. Here each node becomes
a Python closure once. Kinds that are common in state machines have closures of their own; all others (sorting, joins,
transforms, regular expressions, partial application) and every unusual operand go to the library's methods, so that
there is one definition of what is right. A test holds both against each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from jsonata import Functions, JException, Jsonata, Parser, Utils

from infra.offline.states.functions import Frame
from infra.offline.states.operators import OPERATORS, truth
from infra.offline.states.paths import Code, filter_code, path_code, single
from infra.offline.states.signatures import fits
from infra.offline.states.values import NULL

__all__ = ["evaluate"]

_MAX_CALLS: Final = 2_000_000  # some seconds: an expression that loops must not stop every execution for good
_NONE: Final = Utils.NONE
_JList: Final = Utils.JList


def evaluate(ast: Any, scope: Any) -> Any:
    """The value of a parsed expression with the variables of `scope`.

    Raises:
        JException: it failed.
    """
    Jsonata.CURRENT.jsonata = _LIBRARY  # `$map` and its like call back through that
    _LIBRARY.calls = 0
    return code_of(ast)(None, Frame(scope))


def code_of(expr: Any) -> Code:
    """The closure of a node, made at its first use and kept on it."""
    code: Code | None = getattr(expr, "code", None)
    if code is None:
        make = _MAKERS.get(expr.type)
        code = expr.code = _finished(expr, _by_library(expr) if make is None else make(expr))
    return code


class _Library(Jsonata):  # type: ignore[misc]
    """The library's evaluator, calling back into closures."""

    def __init__(self) -> None:
        super().__init__("null")
        self.parser = Parser()  # not the thread's: another thread may be parsing with that
        self.calls = 0
        self._parsing = threading.Lock()

    def eval(self, expr: Any, input: Any, environment: Any) -> Any:
        return code_of(expr)(input, environment)

    def create_frame(self, enclosing_environment: Any = None) -> Any:
        return Frame(enclosing_environment)

    def evaluate_function(self, expr: Any, input: Any, environment: Any, applyto_context: Any) -> Any:
        return _call(expr)(input, environment, applyto_context)

    def apply(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:
        result = self.apply_inner(proc, args, input, environment)
        while isinstance(result, Parser.Symbol) and result.thunk and result._jsonata_lambda:  # a call in tail position
            inside, within = result.input, result.environment
            function = code_of(result.body.procedure)(inside, within)
            values = [code_of(item)(inside, within) for item in result.body.arguments]
            result = self.apply_inner(function, values, input, environment)
        return result

    def apply_inner(self, proc: Any, args: Any, input: Any, environment: Any) -> Any:
        if type(proc) is _Closure and proc.signature is None:
            return self.apply_procedure(proc, args)
        return super().apply_inner(proc, args, input, environment)

    def apply_procedure(self, proc: Any, args: Any) -> Any:
        self.calls += 1
        if self.calls > _MAX_CALLS:
            raise JException("D3137", -1, "Expression evaluation timed out: Check for an infinite loop")
        frame = Frame(proc.environment)
        frame.bindings.update(zip((parameter.value for parameter in proc.arguments), args, strict=False))
        return code_of(proc.body)(proc.input, frame)

    def partial_apply_native_function(self, native: Any, args: Any) -> Any:
        with self._parsing:
            return super().partial_apply_native_function(native, args)


_LIBRARY: Final = _Library()


# -- what holds for every kind -------------------------------------------------------------------------------------


def _finished(expr: Any, code: Code) -> Code:
    """Add the node's predicates and grouping, and let a sequence of one be that one, unless its kind has done so."""
    filters = [filter_code(item.expr, code_of, _LIBRARY) for item in expr.predicate or ()]
    group = expr.group if expr.type != "path" else None
    keep_array = expr.keep_array
    if not filters and group is None and not keep_array and expr.type in _SINGLE:
        return code

    def finished(input: Any, frame: Any) -> Any:
        result = code(input, frame)
        for apply in filters:
            result = apply(result, frame)
        if group is not None:
            result = _LIBRARY.evaluate_group_expression(group, result, frame)
        if keep_array and type(result) is _JList and result.sequence:
            result.keep_singleton = True
        return single(result)

    return finished


def _by_library(expr: Any) -> Code:
    method = _LIBRARY_METHODS.get(expr.type)
    if method is None:
        return lambda input, frame: None
    return lambda input, frame: method(expr, input, frame)


# -- values --------------------------------------------------------------------------------------------------------


def _literal(expr: Any) -> Code:
    value = NULL if expr.value is None else expr.value
    return lambda input, frame: value


def _variable(expr: Any) -> Code:
    name = expr.value
    if name == "":
        return lambda input, frame: input[0] if type(input) is _JList and input.outer_wrapper else input
    return lambda input, frame: frame.lookup(name)


def _name(expr: Any) -> Code:
    name = str(expr.value)

    def value(input: Any, frame: Any) -> Any:
        if type(input) is dict:
            found = input.get(name, _NONE)
            return None if found is _NONE else NULL if found is None else found
        return single(Functions.lookup(input, name))

    return value


def _array(expr: Any) -> Code:
    items = [(code_of(item), item.value == "[") for item in expr.expressions]
    consarray = expr.consarray

    def value(input: Any, frame: Any) -> Any:
        result = _JList()
        for code, nested in items:
            item = code(input, frame)
            if item is None:
                continue
            if nested or not isinstance(item, list):
                result.append(item)
            else:
                result.extend(item)
        result.cons = consarray
        return result

    return value


def _object(expr: Any) -> Code:
    keys = [key.value for key, _ in expr.lhs_object if key.type == "string" and not key.predicate]
    if len(keys) != len(expr.lhs_object) or len(set(keys)) != len(keys):
        return _by_library(expr)
    members = [(key, code_of(value)) for key, (_, value) in zip(keys, expr.lhs_object, strict=True)]

    def value(input: Any, frame: Any) -> Any:
        if isinstance(input, list):
            return _LIBRARY.evaluate_group_expression(expr, input, frame)
        items = ((key, code(input, frame)) for key, code in members)
        return {key: item for key, item in items if item is not None}

    return value


def _unary(expr: Any) -> Code:
    return {"[": _array, "{": _object}.get(expr.value, _by_library)(expr)


# -- operators and control -------------------------------------------------------------------------------------------


def _binary(expr: Any) -> Code:
    symbol = str(expr.value)
    left, right = code_of(expr.lhs), code_of(expr.rhs)
    if symbol == "and":
        return lambda input, frame: truth(left(input, frame)) and truth(right(input, frame))
    if symbol == "or":
        return lambda input, frame: truth(left(input, frame)) or truth(right(input, frame))
    apply = OPERATORS[symbol]
    return lambda input, frame: apply(left(input, frame), right(input, frame))


def _condition(expr: Any) -> Code:
    condition, then = code_of(expr.condition), code_of(expr.then)
    otherwise = (lambda input, frame: None) if expr._else is None else code_of(expr._else)
    return lambda input, frame: (then if truth(condition(input, frame)) else otherwise)(input, frame)


def _block(expr: Any) -> Code:
    codes = [code_of(item) for item in expr.expressions]

    def value(input: Any, frame: Any) -> Any:
        inner, result = Frame(frame), None
        for code in codes:
            result = code(input, inner)
        return result

    return value


def _bind(expr: Any) -> Code:
    name, code = str(expr.lhs.value), code_of(expr.rhs)

    def value(input: Any, frame: Any) -> Any:
        result = frame.bindings[name] = code(input, frame)
        return result

    return value


def _function(expr: Any) -> Code:
    call = _call(expr)
    return lambda input, frame: call(input, frame, _NONE)


def _call(expr: Any) -> Callable[[Any, Any, Any], Any]:
    """A function call; the third argument is the left side of `~>` where there is one."""
    call: Callable[[Any, Any, Any], Any] | None = getattr(expr, "call", None)
    if call is not None:
        return call
    procedure, arguments = code_of(expr.procedure), [code_of(item) for item in expr.arguments or ()]

    def value(input: Any, frame: Any, applied_to: Any) -> Any:
        function = procedure(input, frame)
        if function is None:  # the library knows what to say
            return Jsonata.evaluate_function(_LIBRARY, expr, input, frame, applied_to)
        values = [] if applied_to is _NONE else [applied_to]
        values += [code(input, frame) for code in arguments]
        try:
            if isinstance(function, Jsonata.JNativeFunction):
                if not fits(function.signature, values):
                    values = function.validate(values, input)
                return function.call(input, values)
            return _LIBRARY.apply(function, values, input, frame)
        except JException as error:
            if error.location < 0:
                error.location = expr.position
            raise

    expr.call = value
    return value


def _lambda(expr: Any) -> Code:
    return lambda input, frame: _Closure(expr, input, frame)


class _Closure(Parser.Symbol):  # type: ignore[misc]
    """A function value; the library's own is a symbol with forty members that are filled in each time."""

    _jsonata_lambda = True
    type = None
    token = None
    position = 0

    def __init__(self, expr: Any, input: Any, environment: Any) -> None:
        self.input = input
        self.environment = environment
        self.arguments = expr.arguments
        self.signature = expr.signature
        self.body = expr.body
        self.thunk = expr.thunk


_SINGLE: Final = frozenset(
    {"string", "number", "value", "variable", "name", "path", "binary", "condition", "block", "bind", "lambda"}
)
_MAKERS: Final[dict[str, Callable[[Any], Code]]] = {
    "string": _literal,
    "number": _literal,
    "value": _literal,
    "variable": _variable,
    "name": _name,
    "unary": _unary,
    "binary": _binary,
    "condition": _condition,
    "block": _block,
    "bind": _bind,
    "function": _function,
    "lambda": _lambda,
    "path": lambda expr: path_code(expr, code_of, _LIBRARY),
}
_LIBRARY_METHODS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "unary": _LIBRARY.evaluate_unary,
    "wildcard": lambda expr, input, frame: _LIBRARY.evaluate_wildcard(expr, input),
    "descendant": lambda expr, input, frame: _LIBRARY.evaluate_descendants(expr, input),
    "parent": lambda expr, input, frame: frame.lookup(expr.slot.label),
    "regex": lambda expr, input, frame: expr.value,
    "partial": _LIBRARY.evaluate_partial_application,
    "apply": _LIBRARY.evaluate_apply_expression,
    "transform": _LIBRARY.evaluate_transform_expression,
}
