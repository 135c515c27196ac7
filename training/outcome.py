"""How a container ends: its exit code, its last line, its failure file. Standard library only.

The workflow reads the line and nothing else; SageMaker's own words (`AlgorithmError`, `Stopped`, ...) come second.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["CODE_ERROR", "DIVERGED", "DONE", "INTERRUPTED", "OUT_OF_MEMORY", "Outcome"]

DONE = 0
CODE_ERROR = 1
INTERRUPTED = 75
"""EX_TEMPFAIL: work is left, and a verified checkpoint holds what is done (or nothing had been learned yet)."""
OUT_OF_MEMORY = 76
DIVERGED = 77

_FAILURE_CHARACTERS = 1000
"""FailureReason holds 1,024."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The verdict of one process on itself."""

    code: int
    step: int | None
    """Optimizer steps that need not be done again; None: the process could not say."""
    reason: str

    @property
    def line(self) -> str:
        step = "" if self.step is None else f" step={self.step}"
        return f"slipstream exit={self.code}{step} {' '.join(self.reason.split())}"

    def write(self, path: Path) -> None:
        """For the launcher, who sees only an exit code otherwise."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Outcome | None:
        """None when the process ended before it could write one."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write_failure(self, path: Path, last_lines: Iterable[str] = ()) -> None:
        """/opt/ml/output/failure: the line first, then as many of the last lines as FailureReason can hold."""
        room = _FAILURE_CHARACTERS - len(self.line)
        kept: list[str] = []
        for text in reversed([text.rstrip() for text in last_lines if text.strip()]):
            room -= len(text) + 1
            if room < 0:
                break
            kept.insert(0, text)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join([self.line[:_FAILURE_CHARACTERS], *kept]) + "\n")
        except OSError as error:  # a full disk, or no /opt/ml: the exit code says the same, and must not turn into 1
            print(f"slipstream {path} could not be written: {error}", flush=True)
