"""Commands that share one offline account, each of which would have brought it up for itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import SLIPSTREAM, UserProject, clean_environment, make_project

pytestmark = pytest.mark.e2e


def test_two_runs_started_together_both_succeed_and_leave_nothing_behind(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    watchers = [start(project, epochs) for epochs in (3, 4)]
    summaries = []
    for watcher in watchers:
        stdout, stderr = watcher.communicate(timeout=280)
        assert watcher.returncode == 0, stderr
        summaries.append(json.loads(stdout))
    assert [summary["status"] for summary in summaries] == ["SUCCEEDED", "SUCCEEDED"]
    assert len({summary["run"] for summary in summaries}) == 2
    assert project.json("offline", "status") == {"up": False}
    assert processes_of(tmp_path) == []


def start(project: UserProject, epochs: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(SLIPSTREAM), "run", "flights", "--offline", "--json", "--set", f"hyperparameters.epochs={epochs}"],
        cwd=project.root, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def processes_of(folder: Path) -> list[str]:
    """Command lines of processes that name this folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has just ended
            continue
        if str(folder) in command:
            found.append(command)
    return found
