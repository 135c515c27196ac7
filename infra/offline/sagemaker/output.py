"""What a container prints: lines for CloudWatch Logs, and metrics found in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["LineReader", "MetricScanner"]

_MAX_LINE = 256 * 1024
"""CloudWatch's limit on one event."""


class LineReader:
    """Reads a growing file line by line.

    Args:
        path: the file; it may not be there yet.
        position: where to begin, in bytes.
    """

    def __init__(self, path: Path, position: int = 0) -> None:
        self._path = path
        self._position = position
        self._partial = b""

    def read(self, *, final: bool = False) -> list[str]:
        """Whole lines since the last call; with `final` the unfinished last one too."""
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._position)
            new = file.read()
            self._position += len(new)
            self._partial += new
        *lines, self._partial = self._partial.split(b"\n")
        if self._partial and (final or len(self._partial) > _MAX_LINE):
            lines.append(self._partial)
            self._partial = b""
        return [line.decode(errors="replace").rstrip("\r") for line in lines]


class MetricScanner:
    """MetricDefinitions: (name, regular expression) pairs whose first group is the value."""

    def __init__(self, definitions: Sequence[Mapping[str, str]]) -> None:
        self._patterns = [(item["Name"], re.compile(item["Regex"])) for item in definitions]

    def scan(self, line: str) -> Iterator[tuple[str, float]]:
        """(name, value) of each metric that the line reports."""
        for name, pattern in self._patterns:
            for match in pattern.finditer(line):
                with suppress(ValueError, IndexError, TypeError):
                    yield name, float(match.group(1))
