"""A quick look at a function call's arguments, before the library's validation, which is slow.

Most calls give each parameter a value of its kind. Then there is nothing to wrap, to complete or to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jsonata import Jsonata, Parser

__all__ = ["fits"]

_KINDS: Final = {str: "s", bool: "b", int: "n", float: "n", dict: "o"}
_MISSING: Final = "m"  # undefined, and null too
_ANYTHING: Final = {"x": "sbnoaf", "j": "sbnoa"}


class _Parameter(NamedTuple):
    kinds: str
    items: str | None
    optional: bool


def fits(signature: Any, values: Sequence[Any]) -> bool:
    """Whether the library's validation would let these values pass unchanged."""
    parameters = getattr(signature, "parameters", None)
    if parameters is None:
        parameters = signature.parameters = [_parameter(parameter) for parameter in signature._params]
    if len(values) > len(parameters):
        return False
    for parameter, value in zip(parameters, values, strict=False):
        if not _takes(parameter, value):
            return False
    return all(parameter.optional for parameter in parameters[len(values) :])


def _takes(parameter: _Parameter, value: Any) -> bool:
    kind = _kind(value)
    if kind == _MISSING:
        return parameter.kinds != "f"
    if kind != "a" or not parameter.items:
        return kind in parameter.kinds
    return "a" in parameter.kinds and all(_kind(item) == parameter.items for item in value)


def _parameter(parameter: Any) -> _Parameter:
    kinds = _ANYTHING.get(parameter.type, parameter.type.strip("()"))
    # A parameter that may be left out for the context (`-`) or repeated (`+`) is the library's business.
    optional = parameter.regex.endswith("?") and not parameter.context
    items = parameter.subtype[0] if parameter.type == "a" and parameter.subtype else None
    return _Parameter("" if parameter.regex.endswith("+") else kinds, items, optional)


def _kind(value: Any) -> str:
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, list):
        return "a"
    if isinstance(value, Jsonata.JFunctionCallable) or (isinstance(value, Parser.Symbol) and value._jsonata_lambda):
        return "f"
    return _MISSING
