"""A fresh account and the CDK CLI as it comes: no command line of ours, no PATH, change sets by default."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import clean_environment, make_project

pytestmark = pytest.mark.e2e


def test_npx_cdk_deploys_with_nothing_but_the_printed_variables(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.environment = project.json("offline", "up")["environment"]
    npx = Path(os.path.realpath(project.root / ".venv")) / "bin" / "npx"
    try:
        done = subprocess.run(
            [str(npx), "--no-install", "cdk", "deploy", "--all", "--require-approval", "never", "--no-notices"],
            cwd=project.root, env=clean_environment() | project.environment, capture_output=True, text=True,
            timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        names = {item["name"] for item in project.client("stepfunctions").list_state_machines()["stateMachines"]}
        assert {"slipstream-flights", "slipstream-reaper"} <= names
    finally:
        project.slipstream("offline", "down")
