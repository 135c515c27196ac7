"""Durations and sizes as people write them: always with a unit, because `deadline: 10` has ruined a night before."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .fields import shown

__all__ = [
    "DURATION_PATTERN",
    "SIZE_PATTERN",
    "Duration",
    "Size",
    "Within",
    "format_duration",
    "parse_duration",
    "parse_size",
]

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# Largest unit first, each at most once; the look-ahead refuses the empty string.
DURATION_PATTERN = "^(?=.)" + "".join(f"(?:({_NUMBER}){unit})?" for unit in _SECONDS) + "$"
SIZE_PATTERN = f"^({_NUMBER}) ?({'|'.join(_BYTES)})$"


def parse_duration(value: object) -> float:
    """Seconds in `28.8h`, `90m`, `6m30s`, `1d12h`.

    Raises:
        PydanticCustomError: a ValueError that says what to write instead.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise PydanticCustomError(
            "duration-unit", "{value} has no unit; write for example {value}s, {value}m or {value}h", {"value": value}
        )
    match = re.fullmatch(DURATION_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(
            "duration",
            "{value} is not a duration; write a number and a unit (d, h, m, s), for example 28.8h, 90m or 6m30s",
            {"value": shown(value)},
        )
    counts = [float(number or 0) for number in match.groups()]
    return sum(count * seconds for count, seconds in zip(counts, _SECONDS.values(), strict=True))


def format_duration(seconds: float) -> str:
    """The shortest exact spelling down to seconds: 23400 is `6h30m`; fractions of a second are rounded."""
    rest, text = round(seconds), ""
    for unit, length in _SECONDS.items():
        count, rest = divmod(rest, int(length))
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def parse_size(value: object) -> int:
    """Bytes in `30GiB`, `512MB`; binary and decimal units are told apart.

    Raises:
        PydanticCustomError: a ValueError that says what to write instead.
    """
    match = re.fullmatch(SIZE_PATTERN, value) if isinstance(value, str) else None
    if match is None:
        raise PydanticCustomError(
            "size",
            "{value} is not a size; write a number and a unit, for example 30GiB or 512MB",
            {"value": shown(value)},
        )
    return round(float(match[1]) * _BYTES[match[2]])


Duration = Annotated[
    float, BeforeValidator(parse_duration), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
]
"""In the file a string with units, in the model seconds."""

Size = Annotated[int, BeforeValidator(parse_size), WithJsonSchema({"type": "string", "pattern": SIZE_PATTERN})]
"""In the file a string with a unit, in the model bytes."""


@dataclass(frozen=True)
class Within:
    """For `Annotated[Duration, Within("1m", "28d")]` and sizes alike: bounds, told in the user's own units."""

    least: str
    most: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        parse = parse_size if self.least.endswith("B") else parse_duration
        bounds = parse(self.least), parse(self.most)

        def check(value: float) -> float:
            if not bounds[0] <= value <= bounds[1]:
                raise PydanticCustomError("within", "must be between {least} and {most}", vars(self))
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))
