"""Pydantic's findings in the words of someone who has only the file before him."""

from __future__ import annotations

import difflib
import re
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .document import Document
from .fields import shown
from .problems import KeyPath, Problem

__all__ = ["problems_of"]

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "keys and values",
    "model_type": "keys and values",
    "model_attributes_type": "keys and values",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def problems_of(error: ValidationError, document: Document) -> list[Problem]:
    """One problem per finding, at its line."""
    return [
        document.problem(path, _message(details, path), rule=f"schema-{details['type'].replace('_', '-')}")
        for details in error.errors(include_url=False)
        for path in [_path(details["loc"])]
    ]


def _path(loc: tuple[str | int, ...]) -> KeyPath:
    return loc[:-1] if loc[-1:] == ("[key]",) else loc


def _message(details: ErrorDetails, path: KeyPath) -> str:
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if value is None:
        return "is empty; write a value, or leave the key out"
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, not {shown(value)}"
    if kind == "literal_error":
        return _not_one_of(value, re.findall(r"'([^']*)'", context["expected"]))
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"must be {words} {context[key]}, not {shown(value)}"
    if kind == "too_short":
        return "is empty; at least one is needed"
    if kind == "too_long":
        return f"has {context['actual_length']} entries; at most {context['max_length']} are allowed"
    return details["msg"]


def _not_one_of(value: Any, choices: list[str]) -> str:
    close = difflib.get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"{shown(value)} is not one of {', '.join(choices)}{hint}"


def _unknown_key(path: KeyPath) -> str:
    known = _known_keys(path[:-1])
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    return f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known here are {', '.join(known)}"


def _known_keys(path: KeyPath) -> list[str]:
    """The keys that the schema knows at `path`."""
    from .schema import job_schema  # only when there is something to explain: building it takes milliseconds

    schema = job_schema()
    node: Any = schema
    for part in path:
        node = _resolved(schema, node)
        if isinstance(part, int):
            node = node["items"]
        else:
            node = node.get("properties", {}).get(part) or node["additionalProperties"]
    return list(_resolved(schema, node)["properties"])


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    for option in node.get("anyOf", ()):  # `X | None`
        if option.get("type") != "null":
            node = option
    name = node.get("$ref", "").removeprefix("#/$defs/")
    return schema["$defs"][name] if name else node
