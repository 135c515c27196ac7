"""Check requests against botocore's model of the API: what AWS refuses before it looks at the meaning."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, Shape, StructureShape

from .errors import validation

__all__ = ["check_request"]

_TYPES: dict[str, tuple[Any, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
    "timestamp": (datetime, int, float, str),
}


def check_request(operation: str, request: dict[str, Any]) -> None:
    """Raises `SageMakerError` (ValidationException) that names every violation, in AWS's words."""
    shape = _service_model().operation_model(operation).input_shape
    found = list(_violations(shape, request, ""))
    if found:
        noun = "error" if len(found) == 1 else "errors"
        raise validation(f"{len(found)} validation {noun} detected: {'; '.join(found)}")


@functools.cache
def _service_model() -> Any:
    return botocore.session.get_session().get_service_model("sagemaker")


def _violations(shape: Shape, value: Any, path: str) -> Iterator[str]:
    expected = _TYPES.get(shape.type_name, (object,))
    if not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected and object not in expected):
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: Member must be of type {shape.type_name}"
        return
    if isinstance(shape, StructureShape):
        yield from _structure(shape, value, path)
    elif isinstance(shape, ListShape):
        yield from _length(shape, value, path)
        for index, item in enumerate(value, start=1):
            yield from _violations(shape.member, item, f"{path}.{index}.member")
    elif isinstance(shape, MapShape):
        yield from _length(shape, value, path)
        for key, item in value.items():
            yield from _violations(shape.key, key, f"{path}.key")
            yield from _violations(shape.value, item, f"{path}.{key}.member")
    elif shape.type_name == "string":
        yield from _string(shape, value, path)
    elif shape.type_name in {"integer", "long", "float", "double"}:
        yield from _number(shape, value, path)


def _structure(shape: StructureShape, value: dict[str, Any], path: str) -> Iterator[str]:
    prefix = f"{path}." if path else ""
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{prefix}{_camel(name)}' failed to satisfy constraint: Member must not be null"
    for name, item in value.items():
        if name not in shape.members:
            yield f"Unknown parameter '{prefix}{name}'; must be one of: {', '.join(shape.members)}"
        elif item is not None:
            yield from _violations(shape.members[name], item, f"{prefix}{_camel(name)}")


def _length(shape: Shape, value: Any, path: str) -> Iterator[str]:
    minimum, maximum = shape.metadata.get("min"), shape.metadata.get("max")
    if minimum is not None and len(value) < minimum:
        yield _constraint(value, path, f"Member must have length greater than or equal to {minimum}")
    if maximum is not None and len(value) > maximum:
        yield _constraint(value, path, f"Member must have length less than or equal to {maximum}")


def _string(shape: Shape, value: str, path: str) -> Iterator[str]:
    yield from _length(shape, value, path)
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        yield _constraint(value, path, f"Member must satisfy enum value set: [{', '.join(allowed)}]")
    pattern = shape.metadata.get("pattern")
    if pattern and not _matches(pattern, value):
        yield _constraint(value, path, f"Member must satisfy regular expression pattern: {pattern}")


def _number(shape: Shape, value: float, path: str) -> Iterator[str]:
    minimum, maximum = shape.metadata.get("min"), shape.metadata.get("max")
    if minimum is not None and value < minimum:
        yield _constraint(value, path, f"Member must have value greater than or equal to {minimum}")
    if maximum is not None and value > maximum:
        yield _constraint(value, path, f"Member must have value less than or equal to {maximum}")


def _constraint(value: Any, path: str, rule: str) -> str:
    return f"Value '{value}' at '{path}' failed to satisfy constraint: {rule}"


def _camel(name: str) -> str:
    return name[:1].lower() + name[1:]


def _matches(pattern: str, value: str) -> bool:
    if r"\p{" in pattern:  # Unicode properties, which Python's expressions lack: AWS will judge
        return True
    return re.fullmatch(pattern, value, re.DOTALL) is not None
