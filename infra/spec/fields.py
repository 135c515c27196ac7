"""Types of single values: what they accept, what they become, and what is said when they do not fit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

__all__ = [
    "S3_PREFIX_PATTERN",
    "AwareDatetime",
    "Choice",
    "DataVersion",
    "Email",
    "InstanceName",
    "JobName",
    "Matching",
    "MetricName",
    "Number",
    "RunId",
    "SourceDir",
    "TaskName",
    "shown",
]


def shown(value: object) -> str:
    """A value for a message: quoted, escaped, and not longer than a line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Matching:
    """For `Annotated[str, Matching(...)]`: the error says what is wanted instead of showing a regular expression."""

    pattern: str
    what: str
    """Completes "... is not"."""

    def check(self, value: str) -> str:
        if re.fullmatch(self.pattern, value) is None:
            raise PydanticCustomError("pattern", "{value} is not {what}", {"value": shown(value), "what": self.what})
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "pattern": self.pattern}


JobName = Annotated[
    str,
    # slipstream-reaper is the machine that stops the jobs of aborted executions.
    Matching(
        r"^(?!reaper$)[a-z][a-z0-9-]{1,19}$",
        "a job name: 2 to 20 of a-z, 0-9 and '-', beginning with a letter, and not 'reaper', which the kit uses itself",
    ),
]
TaskName = Annotated[
    str,
    Matching(
        r"^([a-z][a-z0-9_]{0,39}|[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*)$",
        "a task: the name of a bundled one such as tabular, or package.module:Class in source_dir",
    ),
]
SourceDir = Annotated[
    str,
    # No segment begins with a dot, so no `..` leaves the project and no `.git` travels into a container.
    Matching(
        r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*/?$",
        "a folder below the project's root, such as my/training",
    ),
]
InstanceName = Annotated[str, Matching(r"^ml\.[a-z0-9-]+\.[a-z0-9]+$", "an instance type such as ml.m5.2xlarge")]
MetricName = Annotated[
    str,
    Matching(
        r"^(train|validation|test):[a-z][a-z0-9_]{0,62}$", "a metric such as validation:auc (channel, colon, name)"
    ),
]
Email = Annotated[str, Matching(r"^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}$", "an e-mail address")]
RunId = Annotated[str, Matching(r"^[0-9a-f]{8}$", "a run: 8 hexadecimal digits")]
DataVersion = Annotated[
    str, Matching(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "a data version: letters, digits, '.', '_' and '-'")
]

# No * ? $ ' " { } or space: the URI travels into IAM resources, JSONata strings and shell lines, where they would act.
S3_PREFIX_PATTERN = r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9_=+@,-][A-Za-z0-9_.=+@,:-]*/)*$"


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("number", "{value} is not a number", {"value": shown(value)})
    return value


def _choice(value: object) -> object:
    if not isinstance(value, (str, int, float)):
        raise PydanticCustomError("choice", "{value} is not text, a number, true or false", {"value": shown(value)})
    return value


# One validator before the union: pydantic would report each member of it as a key of its own.
Number = Annotated[int | float, BeforeValidator(_number)]
Choice = Annotated[str | bool | int | float, BeforeValidator(_choice)]


def _aware_datetime(value: object) -> datetime:
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, datetime):
        raise PydanticCustomError(
            "datetime", "{value} is not a time such as 2026-12-01T18:00:00+01:00", {"value": shown(value)}
        )
    if parsed.utcoffset() is None:
        raise PydanticCustomError(
            "datetime-offset", "{value} does not say its offset from UTC; add Z or +01:00", {"value": shown(value)}
        )
    return parsed


AwareDatetime = Annotated[
    datetime, BeforeValidator(_aware_datetime), WithJsonSchema({"type": "string", "format": "date-time"})
]
