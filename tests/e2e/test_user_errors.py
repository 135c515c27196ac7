"""What a user types wrong is refused with exit code 2, in words, before anything is started."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.e2e.conftest import UserProject, clean_environment, make_project

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> UserProject:
    """A clone whose offline account was never up."""
    return make_project(tmp_path_factory.mktemp("stranger"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "flihgts", "--offline"], "no job 'flihgts'"),
        (["run", "flights", "--offline", "--set", "hyperparameters.epochs=many"], "epochs"),
        (["run", "flights", "--offline", "--set", "compute.instance_count=1"], "deployed"),
        (["run", "flights", "--offline", "--set", "hyperparameters.epoch=3"], "epoch"),
        (["run", "flights", "--offline", "--faults", "none.yaml"], "none.yaml"),
        (["run", "flights", "--faults", "faults.yaml"], "--offline"),
        (["validate", "none.yaml"], "none.yaml"),
        (["logs", "12345678", "--follow", "--json", "--offline"], "--follow"),
        (["run"], "job"),
        (["run", "flights", "--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_input_ends_in_exit_code_2(stranger: UserProject, arguments: list[str], words: str) -> None:
    done = stranger.slipstream(*arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (stranger.root / ".slipstream" / "account.json").exists(), "nothing half done"


def test_with_json_an_error_is_a_document_too(stranger: UserProject) -> None:
    document = stranger.json("run", "flihgts", "--offline", code=2)
    assert document["error"] == "input"
    assert "flights" in document["hint"]


def test_a_broken_job_file_names_file_line_and_key(stranger: UserProject) -> None:
    job = stranger.root / "jobs" / "flights.yaml"
    text = job.read_text(encoding="utf-8")
    broken = stranger.root / "broken.yaml"
    broken.write_text(text.replace("instance: ml.c5.2xlarge", "instance: ml.c55.2xlarge"), encoding="utf-8")
    line = next(n for n, row in enumerate(broken.read_text(encoding="utf-8").splitlines(), 1) if "c55" in row)
    done = stranger.slipstream("validate", str(broken))
    assert done.returncode == 2
    assert f"broken.yaml:{line}: compute.pools[1].instance" in done.stdout
    document = json.loads(stranger.slipstream("validate", str(broken), "--json").stdout)
    assert document["valid"] is False
    assert {"line": line, "key": "compute.pools[1].instance", "severity": "error"}.items() <= document["problems"][
        0
    ].items()


def test_the_shipped_jobs_are_valid(stranger: UserProject) -> None:
    assert stranger.json("validate") == {"valid": True, "problems": []}


def test_without_credentials_and_without_offline_exit_code_3(stranger: UserProject) -> None:
    done = stranger.slipstream("status")
    assert done.returncode == 3
    assert "--offline" in done.stderr


def test_outside_a_project_it_says_so(stranger: UserProject, tmp_path: Path) -> None:
    done = UserProject(root=tmp_path).slipstream("status", "--offline")
    assert done.returncode == 2
    assert "no Slipstream project" in done.stderr


def test_the_environment_of_these_tests_names_no_real_account() -> None:
    assert not {key for key in clean_environment() if key.startswith("AWS_") and "KEY" in key}
    assert clean_environment()["AWS_CONFIG_FILE"] == os.devnull
