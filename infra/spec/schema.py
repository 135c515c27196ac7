"""The published JSON Schemas, generated from the models: `python -m infra.spec.schema [--check]`."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .execution import ExecutionInput
from .job import Job

__all__ = ["DOCS", "execution_input_schema", "job_schema", "render"]

DOCS = Path(__file__).parents[2] / "docs"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@functools.cache
def job_schema() -> dict[str, Any]:
    """Of a job file: what an editor checks while one types. Rules over several keys need `slipstream validate`."""
    return {"$schema": _DIALECT, **Job.model_json_schema(mode="validation")}


def execution_input_schema() -> dict[str, Any]:
    """Of a training workflow's execution input."""
    return {"$schema": _DIALECT, **ExecutionInput.model_json_schema(mode="validation")}


def render(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2) + "\n"


PUBLISHED: dict[str, Callable[[], dict[str, Any]]] = {
    "job.schema.json": job_schema,
    "execution-input.schema.json": execution_input_schema,
}


def main(arguments: list[str]) -> int:
    stale = [
        name
        for name, schema in PUBLISHED.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != render(schema())
    ]
    if "--check" in arguments:
        for name in stale:
            print(f"docs/{name} is out of step with the models: run `python -m infra.spec.schema`", file=sys.stderr)
        return bool(stale)
    for name in stale:
        (DOCS / name).write_text(render(PUBLISHED[name]()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
