"""The app as a whole: what it makes, and that it makes the same everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_s3 as s3
from cfnlint.api import lint_all

from app import build
from infra.constructs.names import state_machine_name
from infra.spec import JobFileError
from tests.stacks.conftest import PROJECT, synthesize
from tests.stacks.lint import main as lint_machines


def test_three_stacks(templates: dict[str, Any]) -> None:
    assert set(templates) == {"slipstream-storage", "slipstream-access", "slipstream-training"}


def test_another_folder_and_an_offline_account_give_the_same_bytes(
    assembly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:4566")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    again = synthesize(tmp_path / "somewhere" / "else")
    names = [path.name for path in assembly.glob("*.template.json")]
    assert names
    for name in names:
        assert (again / name).read_bytes() == (assembly / name).read_bytes()


def test_the_app_knows_nothing_of_offline() -> None:
    code = "import sys, app; print([name for name in sys.modules if 'offline' in name or name.startswith('moto')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_stacks_name_no_account_and_no_region(assembly: Path) -> None:
    for path in assembly.glob("*.template.json"):
        text = path.read_text().replace("763104351884", "")  # the table of image accounts names AWS's own
        assert "us-east-1:1" not in text
        assert '"Ref": "AWS::AccountId"' in text


def test_machines_pass_statelint(assembly: Path) -> None:
    assert lint_machines([str(assembly)]) == 0


def test_cfn_lint(assembly: Path) -> None:
    found = [match for path in assembly.glob("*.template.json") for match in lint_all(path.read_text())]
    assert [str(match) for match in found if match.rule.severity != "informational"] == []


def test_cdk_nag_is_attached_and_has_nothing_to_say_about_ours(tmp_path: Path) -> None:
    """A bucket of somebody else's in the same app is refused: the silence about ours means something."""
    app = build(App(outdir=str(tmp_path)))
    s3.Bucket(Stack(app, "careless"), "Bucket")
    with pytest.raises(RuntimeError, match="careless/Bucket"):
        app.synth()
    report = (tmp_path / "validation-report.json").read_text()
    assert "AwsSolutions-S1" in report
    assert "slipstream-" not in report


def test_what_becomes_of_buckets_and_key_is_said_by_context(assembly: Path, tmp_path: Path) -> None:
    def kept(folder: Path) -> set[str]:
        resources = json.loads((folder / "slipstream-storage.template.json").read_text())["Resources"].values()
        return {r["DeletionPolicy"] for r in resources if r["Type"] in ("AWS::S3::Bucket", "AWS::KMS::Key")}

    assert kept(assembly) == {"Retain"}
    assert kept(synthesize(tmp_path / "cdk.out", removal="destroy")) == {"Delete"}


def test_a_job_file_with_mistakes_is_refused_with_file_line_and_key(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "bad.yaml").write_text("name: bad\nepochs: 3\n")
    with pytest.raises(JobFileError, match=r"bad\.yaml:2: epochs"):
        build(App(outdir=str(tmp_path / "out")), project=tmp_path)


def test_a_key_that_would_be_ignored_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    flights = (PROJECT / "jobs" / "flights.yaml").read_text()
    (tmp_path / "jobs" / "two.yaml").write_text(flights.replace("compute:\n", "compute:\n  instance_count: 2\n"))
    with pytest.raises(JobFileError, match="not available yet"):
        build(App(outdir=str(tmp_path / "out")), project=tmp_path)


def test_a_job_may_not_take_the_reapers_name() -> None:
    with pytest.raises(ValueError, match="all jobs share"):
        state_machine_name("reaper")
