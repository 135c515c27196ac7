"""The app's stacks, synthesized once for all tests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]

# jsii starts the first `node` on the path: the environment's own, not a system's that may be past its end of life.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"

Synthesize = Callable[..., Path]


def synthesize(folder: Path, **context: str) -> Path:
    """Synthesize the project's app as the CDK CLI does, into a folder; returns it."""
    from aws_cdk import App

    from app import build

    given = json.loads((PROJECT / "cdk.json").read_text())["context"]
    build(App(outdir=str(folder), context={**given, **context}, analytics_reporting=False)).synth()
    return folder


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesize(tmp_path_factory.mktemp("cdk") / "cdk.out")


@pytest.fixture(scope="session")
def templates(assembly: Path) -> dict[str, dict[str, Any]]:
    """Template by stack."""
    return {path.name.split(".")[0]: json.loads(path.read_text()) for path in assembly.glob("*.template.json")}
