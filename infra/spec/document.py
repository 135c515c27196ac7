"""Read YAML 1.2 into plain data, remembering on which line each key stands.

The file may come from anybody with write access to a branch, so only what JSON could say as well gets through: no
tags, no duplicate keys, no merge keys, no control characters, and no aliases that blow a small file up to a large one.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer, MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from .problems import JobFileError, KeyPath, Problem, key_text

__all__ = ["MAX_BYTES", "Document", "Position", "parse_document", "read_document"]

MAX_BYTES = 1_000_000
"""A job file has some 30 lines; a megabyte is a mistake or an attack, and the YAML reader is slow."""
_MAX_VALUES = 5_000
_MAX_DEPTH = 32
_TAG = "tag:yaml.org,2002:"
_PLAIN = {f"{_TAG}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")}


@dataclass(frozen=True)
class Position:
    """Where a value was written. `line` counts from 1."""

    file: str
    line: int


@dataclass(frozen=True)
class Document:
    """Plain data (dict, list, str, int, float, bool, None) and the place of each value."""

    data: Any
    positions: Mapping[KeyPath, Position]

    def locate(self, path: KeyPath) -> Position:
        """The value's own place, or that of the nearest parent that is written down."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions[path]

    def problem(self, path: KeyPath, message: str, *, rule: str, severity: Any = "error") -> Problem:
        place = self.locate(path)
        return Problem(place.file, place.line, key_text(path), message, severity, rule)


def read_document(path: Path, *, name: str | None = None) -> Document:
    """Read a file. `name` is how messages call it (default: the path as given).

    Raises:
        JobFileError: not readable, too large, not UTF-8, not YAML, or more than plain data.
    """
    name = name or str(path)

    def refuse(line: int, message: str, rule: str) -> JobFileError:
        return JobFileError([Problem(name, line, "", message, "error", rule)])

    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise refuse(1, f"cannot be read: {error.strerror or error}", "file-readable") from error
    if len(raw) > MAX_BYTES:
        raise refuse(1, f"is larger than {MAX_BYTES:,} bytes: this is not a job file", "file-size")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise refuse(line, f"is not UTF-8 (byte {raw[error.start]:#04x}); save it as UTF-8", "file-encoding") from error
    return parse_document(text, name=name)


def parse_document(text: str, *, name: str) -> Document:
    """Parse YAML text; see `read_document`."""
    try:
        root = _yaml().compose(text)
    except (YAMLError, ValueError) as error:
        line, message, rule = _syntax_error(error, text)
        raise JobFileError([Problem(name, line, "", message, "error", rule)]) from error
    builder = _Builder(name)
    data = builder.value(root, ()) if root is not None else None
    if builder.problems:
        raise JobFileError(builder.problems)
    if data is None:  # an empty file, or one with comments or "---" alone
        builder.positions[()] = Position(name, 1)
    return Document(data, builder.positions)


class _TooMuchError(MarkedYAMLError):
    """More nodes than any job file has."""


class _Composer(Composer):
    """Counts as it goes: composing a megabyte to the end, only to refuse it, would take a quarter of a minute."""

    warn_double_anchors = False
    count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.count += 1
        if self.count > 2 * _MAX_VALUES:  # keys are nodes as well
            mark = self.parser.peek_event().start_mark
            raise _TooMuchError(problem_mark=mark)
        return super().compose_node(parent, index)


def _yaml() -> YAML:
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _Composer
    yaml.max_depth = _MAX_DEPTH
    return yaml


def _syntax_error(error: Exception, text: str) -> tuple[int, str, str]:
    """Line, message and rule."""
    if isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, f"character {error.character!a} is not allowed in YAML", "yaml-character"
    if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        if isinstance(error, MaxDepthExceededError):
            return mark.line + 1, f"is not a job file: nested more than {_MAX_DEPTH} levels deep", "yaml-size"
        if isinstance(error, _TooMuchError):
            return mark.line + 1, f"is not a job file: it has more than {_MAX_VALUES:,} values", "yaml-size"
        reason = " ".join(filter(None, (error.context, error.problem))).replace("\n", " ")
        return mark.line + 1, f"is not valid YAML: {reason}", "yaml-syntax"
    return 1, f"is not valid YAML: {error}".replace("\n", " "), "yaml-syntax"


class _Builder:
    """Turns YAML's nodes into plain data; collects what it refuses instead of stopping at the first."""

    def __init__(self, name: str) -> None:
        self.problems: list[Problem] = []
        self.positions: dict[KeyPath, Position] = {}
        self._name = name
        self._count = 0

    def value(self, node: Node, path: KeyPath) -> Any:
        self.positions.setdefault(path, Position(self._name, node.start_mark.line + 1))
        self._count += 1
        # An alias is the same node again: nine levels of ten aliases are a billion values, and a list may hold itself.
        if self._count > _MAX_VALUES or len(path) > _MAX_DEPTH:
            if not any(problem.rule == "yaml-size" for problem in self.problems):
                self._refuse(node, path[:1], "aliases make this larger than any job file", "yaml-size")
            return None
        if node.tag not in _PLAIN:
            return self._refuse(
                node, path, f"tag {str(node.tag)!a} is not allowed: a job file is plain data", "yaml-tag"
            )
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            here = (*path, key)
            if key in result:
                first = self.positions[here].line
                self._refuse(key_node, here, f"is given twice, first in line {first}", "yaml-duplicate-key")
                continue
            self.positions[here] = Position(self._name, key_node.start_mark.line + 1)
            result[key] = self.value(value_node, here)
        return result

    def _key(self, node: Node, path: KeyPath) -> str | None:
        if node.tag == f"{_TAG}merge":
            self._refuse(node, path, "merge key << is YAML 1.1; write the keys out", "yaml-merge-key")
        elif not isinstance(node, ScalarNode) or node.tag != f"{_TAG}str":
            shown = ascii(node.value) if isinstance(node, ScalarNode) else "a list or mapping"
            self._refuse(node, path, f"a key has to be a name, not {shown}; put it in quotes", "yaml-key")
        elif self._text_is_clean(node, path):
            return str(node.value)
        return None

    def _scalar(self, node: Node, path: KeyPath) -> Any:
        kind, text = str(node.tag).removeprefix(_TAG), node.value
        if not self._text_is_clean(node, path):
            return None
        if kind in ("str", "timestamp"):  # a timestamp stays text: the model asks for its offset
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        try:
            number = _integer(text) if kind == "int" else float(text.replace("_", "")) if kind == "float" else None
        except ValueError:
            number = None
        if number is None or not math.isfinite(number):
            return self._refuse(node, path, f"{text[:40]!r} is not a number or text that JSON knows", "yaml-value")
        return number

    def _text_is_clean(self, node: Node, path: KeyPath) -> bool:
        """Terminals obey control characters, and bidirectional overrides make text read otherwise than it is."""
        for character in node.value:
            if character not in "\n\t" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
                self._refuse(node, path, f"character {character!a} is not allowed", "yaml-character")
                return False
        return True

    def _refuse(self, node: Node, path: KeyPath, message: str, rule: str) -> None:
        line = node.start_mark.line + 1
        self.problems.append(Problem(self._name, line, key_text(path), message, "error", rule))


def _integer(text: str) -> int:
    digits = text.replace("_", "")
    return int(digits, 0 if digits.lstrip("+-")[:2].lower() in ("0x", "0o", "0b") else 10)
