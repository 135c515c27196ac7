"""`--set key=value`: settings from the command line, put into the file's data before it is validated."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from .document import Document, Position, parse_document
from .problems import JobFileError, KeyPath, Problem

__all__ = ["ORIGIN", "override", "parse_key"]

ORIGIN = "--set"
"""Stands where a problem names its file."""

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\[[0-9]{1,4}\])*(?:\.[A-Za-z_][A-Za-z0-9_-]*(?:\[[0-9]{1,4}\])*)*")


def parse_key(text: str) -> KeyPath | None:
    """`compute.pools[1].instance` as a path, or None when it is not a key."""
    if _KEY.fullmatch(text) is None:
        return None
    parts = re.findall(r"[A-Za-z_][A-Za-z0-9_-]*|[0-9]+(?=\])", text)
    return tuple(int(part) if part.isdigit() else part for part in parts)


def override(document: Document, settings: Sequence[str]) -> Document:
    """The document with every setting put in; missing sections on the way are made.

    Raises:
        JobFileError: for settings that are no `key=value` or that name a place which cannot exist.
    """
    data, positions = copy.deepcopy(document.data), dict(document.positions)
    problems: list[Problem] = []
    for number, setting in enumerate(settings, start=1):
        key, equals, text = setting.partition("=")
        path = parse_key(key.strip())
        if not equals or path is None:
            problems.append(_problem(number, "", f"{setting!r} is not key=value, such as limits.deadline=18h"))
            continue
        try:
            value = parse_document(text, name=ORIGIN).data
        except JobFileError as error:
            problems += [_problem(number, key, problem.message) for problem in error.problems]
            continue
        reason = _put(data, path, value)
        if reason:
            problems.append(_problem(number, key, reason))
        positions = {known: place for known, place in positions.items() if known[: len(path)] != path}
        positions[path] = Position(ORIGIN, number)
    if problems:
        raise JobFileError(problems)
    return Document(data, positions)


def _put(data: Any, path: KeyPath, value: Any) -> str | None:
    """Set in place; returns what is in the way, if anything."""
    for part, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(part, int):
            if not isinstance(data, list) or part >= len(data):
                return f"there is no entry {part} to set"
        elif not isinstance(data, dict):
            return f"{part!r} cannot be set: what is above it is not a section"
        if following is None:
            data[part] = value
        else:
            data = data[part] if isinstance(part, int) else data.setdefault(part, {})
    return None


def _problem(number: int, key: str, message: str) -> Problem:
    return Problem(ORIGIN, number, key, message, "error", "set")
