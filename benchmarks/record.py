"""The ledger: one JSON line per run of a benchmark, and the command line that all benchmarks share."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["RECORDS", "Figures", "arguments", "in_order", "publish", "spread"]

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "benchmarks" / "records"
_LIBRARIES = ("torch", "numpy", "moto", "boto3", "jsonata-python")

Figures = Mapping[str, Mapping[str, Any]]
"""Name with its unit -> `spread` of what was measured."""


def arguments(description: str, **defaults: int) -> argparse.ArgumentParser:
    """A parser with the options of every benchmark, and one whole number for each of `defaults`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print the record in place of a table")
    parser.add_argument("--records", type=Path, default=RECORDS, help="the ledger's folder")
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{default} unless given")
    return parser


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median, least and most: a figure without its spread says nothing on a machine that others use."""
    ends = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return {name: float(f"{value:.5g}") for name, value in ends.items()} | {"rounds": len(values)}


def in_order(arms: Sequence[str], number: int) -> list[str]:
    """The arms of round `number`, each first in its turn: whoever follows another finds warmer caches."""
    first = number % len(arms)
    return [*arms[first:], *arms[:first]]


def publish(name: str, figures: Figures, options: argparse.Namespace) -> dict[str, Any]:
    """Append the record to the ledger and print it. Returns it."""
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": _machine(),
        "command": " ".join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]]),
        "figures": figures,
    }
    options.records.mkdir(parents=True, exist_ok=True)
    with (options.records / f"{name}.jsonl").open("a", encoding="utf-8") as ledger:
        ledger.write(json.dumps(record) + "\n")
    if options.json:
        print(json.dumps(record, indent=2))
    else:
        Console().print(_table(name, record))
    return record


def _table(name: str, record: Mapping[str, Any]) -> Table:
    table = Table(title=f"{name}, {record['commit']}, {record['machine']['cpu']}", title_justify="left")
    for heading in ("figure", "median", "min", "max", "rounds"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for figure, values in record["figures"].items():
        table.add_row(figure, *(f"{values[end]:g}" for end in ("median", "min", "max", "rounds")))
    return table


def _commit() -> str:
    """`1a2b3c4d5e6f`, with `-dirty` when what was measured is not what was committed. The ledger itself may differ."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!benchmarks/records")
    return f"{commit or 'unknown'}{'-dirty' if changed else ''}"


def _git(*command: str) -> str:
    try:
        done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


def _machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "libraries": {library: _version(library) for library in _LIBRARIES},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
