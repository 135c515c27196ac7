"""Where words go: documents and results to stdout, everything a person watches to stderr.

With `--json` stdout holds exactly one JSON document. Piped output carries no control characters (rich sees to it).
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

__all__ = ["dollars", "duration", "err", "out", "print_json", "say", "when"]

PIPE_WIDTH = 160
"""A pipe has no width of its own, and rich's 80 would cut tables."""


def _console(stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, soft_wrap=True, width=PIPE_WIDTH)


out = _console(stderr=False)
err = _console(stderr=True)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    sys.stdout.flush()


def say(message: str, *, style: str | None = None) -> None:
    """A line for the person who watches (stderr). Never interpreted as markup: it may hold a user's text."""
    err.print(message, style=style, markup=False)


def duration(seconds: float | None) -> str:
    """`4200` -> `1h10m`; below a minute with one decimal."""
    if seconds is None:
        return "-"
    if seconds < 59.5:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{rest:02d}s"


def dollars(usd: float | None) -> str:
    """Cents matter in a demo of seconds, not in a bill of hundreds."""
    if usd is None:
        return "-"
    return f"${usd:.4f}" if abs(usd) < 1 else f"${usd:,.2f}"


def when(epoch_s: float | None) -> str:
    """Local date and time, to the second."""
    if epoch_s is None:
        return "-"
    return datetime.fromtimestamp(epoch_s, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
