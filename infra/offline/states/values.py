"""JSON values as JSONata holds them.

JSONata tells null from undefined; Python has only `None`. Inside the interpreter null is `NULL` and `None` is
undefined, so values are brought in with `inward` and taken out with `outward` (or `dumps`, which writes `NULL` as
null).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

from jsonata import Utils

__all__ = ["NULL", "dumps", "inward", "iso_time", "json_type", "loads", "normalize", "outward"]

NULL: Final = Utils.NULL_VALUE


def inward(value: Any) -> Any:
    """A copy of a JSON value with every null spelled `NULL`."""
    if value is None:
        return NULL
    if isinstance(value, dict):
        return {key: inward(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [inward(item) for item in value]
    return value


def outward(value: Any) -> Any:
    """A copy of an interpreter's value as plain JSON."""
    if value is NULL:
        return None
    if isinstance(value, dict):
        return {key: outward(item) for key, item in value.items()}
    if isinstance(value, list):
        return [outward(item) for item in value]
    return value


def normalize(value: Any) -> Any:
    """A copy of an expression's result without JSONata's own list types and flags, which would change later results.

    Raises:
        TypeError: the value holds something JSON cannot (a function, a regular expression).
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, dict):
        return {key: NULL if item is None else normalize(item) for key, item in value.items()}
    if isinstance(value, list):
        return [NULL if item is None else normalize(item) for item in value]
    if isinstance(value, int) or value is NULL:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def dumps(value: Any) -> str:
    """Compact JSON text of an interpreter's or a plain value."""
    return _encode(value)


def _null(value: Any) -> None:
    if value is not NULL:
        raise TypeError(f"{type(value).__name__} is not a JSON value")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_null, check_circular=False).encode


def loads(text: str) -> Any:
    """Parse JSON text into an interpreter's value; `NaN` and `Infinity`, which Python takes, are refused.

    Raises:
        ValueError: the text is not JSON.
    """
    return inward(json.loads(text, parse_constant=_refuse_constant))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def json_type(value: Any) -> str:
    """The value's type in JSONata's words."""
    if value is NULL:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), (int | float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "undefined" if value is None else "function"


def iso_time(seconds: float) -> str:
    """Epoch seconds in the context object's form, `2026-01-31T12:00:00.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
