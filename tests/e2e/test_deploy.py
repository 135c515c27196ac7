"""The real CDK CLI against the offline account, with nothing but the variables that `offline up` prints."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import UserProject, clean_environment

pytestmark = pytest.mark.e2e


def cdk(project: UserProject, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`npx cdk ...`, as somebody without our command line would type it."""
    path = f"{project.root / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["npx", "--no-install", "cdk", *arguments, "--no-notices"],
        cwd=project.root, env=clean_environment() | project.environment | {"PATH": path},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip


def templates(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.template.json")}


def test_deploying_twice_changes_nothing(project: UserProject) -> None:
    done = cdk(project, "deploy", "--all", "--require-approval", "never")
    said = done.stdout + done.stderr  # where, depends on CI being set
    assert done.returncode == 0, said
    assert said.count("(no changes)") == 3, said
    assert project.json("deploy", "--offline")["deployed"] is False


def test_diff_finds_no_differences(project: UserProject) -> None:
    done = cdk(project, "diff", "--all", "--fail")
    assert done.returncode == 0, done.stdout + done.stderr


def test_templates_are_byte_for_byte_those_for_aws(project: UserProject, tmp_path: Path) -> None:
    """Synthesized without any variable of the offline account, and compared with what was deployed into it."""
    for_aws = subprocess.run(
        ["npx", "--no-install", "cdk", "synth", "--quiet", "--no-notices", "--output", str(tmp_path)],
        cwd=project.root,
        env=clean_environment() | {"PATH": f"{project.root / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert for_aws.returncode == 0, for_aws.stderr
    deployed = templates(project.root / ".slipstream" / "cdk.out")
    assert len(deployed) == 3
    assert deployed == templates(tmp_path)


def test_an_update_changes_the_machine_and_keeps_the_data(project: UserProject) -> None:
    """A changed job file is deployed as an update; nothing else is replaced."""
    job = project.root / "jobs" / "flights.yaml"
    before, text = machine(project), job.read_text(encoding="utf-8")
    try:
        job.write_text(text.replace("attempts_without_progress: 3", "attempts_without_progress: 4"), encoding="utf-8")
        assert job.read_text(encoding="utf-8") != text
        assert project.json("deploy", "--offline")["deployed"] is True
        assert machine(project) != before
    finally:
        job.write_text(text, encoding="utf-8")
    project.json("deploy", "--offline")
    assert machine(project) == before


def test_a_new_job_is_deployed_beside_the_others_at_once(project: UserProject) -> None:
    """Its role is exported by an update of one stack and imported by the next."""
    job = project.root / "jobs" / "newcomer.yaml"
    text = (project.root / "jobs" / "flights.yaml").read_text(encoding="utf-8")
    try:
        job.write_text(text.replace("name: flights", "name: newcomer"), encoding="utf-8")
        assert project.json("deploy", "--offline")["deployed"] is True
        names = {item["name"] for item in project.client("stepfunctions").list_state_machines()["stateMachines"]}
        assert {"slipstream-flights", "slipstream-newcomer"} <= names
    finally:
        job.unlink()
    project.json("deploy", "--offline")
    names = {item["name"] for item in project.client("stepfunctions").list_state_machines()["stateMachines"]}
    assert "slipstream-newcomer" not in names


def machine(project: UserProject) -> Any:
    client = project.client("stepfunctions")
    (arn,) = [
        item["stateMachineArn"]
        for item in client.list_state_machines()["stateMachines"]
        if item["name"] == "slipstream-flights"
    ]
    return json.loads(client.describe_state_machine(stateMachineArn=arn)["definition"])
