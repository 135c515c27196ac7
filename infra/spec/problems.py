"""What is wrong with a job file, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["JobFileError", "KeyPath", "Problem", "Severity", "key_text"]

KeyPath = tuple[str | int, ...]
"""The way to a value: names of keys and, in lists, positions from 0."""

Severity = Literal["error", "warning"]


def key_text(path: KeyPath) -> str:
    """`("compute", "pools", 1, "instance")` as people write it: `compute.pools[1].instance`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


@dataclass(frozen=True)
class Problem:
    """One finding. `str()` gives the form that editors and terminals make a link of."""

    file: str
    """As the user named it, or `--set` for a value given on the command line."""
    line: int
    """From 1. An empty file has line 1, a missing key its parent's."""
    key: str
    """As `key_text` writes it; empty when the file as a whole is meant."""
    message: str
    severity: Severity
    rule: str
    """Stable name of the rule, for filters and for looking it up."""

    def __str__(self) -> str:
        return (
            f"{self.file}:{self.line}: {self.key}: {self.message}"
            if self.key
            else (f"{self.file}:{self.line}: {self.message}")
        )


class JobFileError(ValueError):
    """The job file cannot be used. `problems` has every error found, warnings left out."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        assert problems, "an error needs a reason"
        self.problems = list(problems)
        super().__init__("\n".join(map(str, problems)))
