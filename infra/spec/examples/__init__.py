"""Recipes for the raw data that ship in a package."""

from __future__ import annotations

import copy
import functools
from pathlib import Path
from typing import Any

from infra.spec.document import read_document

__all__ = ["EXAMPLES", "example_recipe"]

_FOLDER = Path(__file__).parent

EXAMPLES = tuple(sorted(path.stem for path in _FOLDER.glob("*.yaml")))
"""What may stand in `data: {raw: {example: ...}}`."""


def example_recipe(example: str) -> dict[str, Any]:
    """The recipe that applies where a job's own `data.prepare` says nothing."""
    return copy.deepcopy(_read(example))


@functools.cache
def _read(example: str) -> dict[str, Any]:
    recipe: dict[str, Any] = read_document(_FOLDER / f"{example}.yaml").data
    return recipe
