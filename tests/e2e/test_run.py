"""The main job, end to end: real CDK deployment, real state machine, real training, faults."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.e2e.conftest import SLIPSTREAM, UserProject, clean_environment

pytestmark = pytest.mark.e2e

SHORT = ("--set", "hyperparameters.epochs=3")
NUM_STEPS = 336  # 112 an epoch


@pytest.fixture(scope="module")
def undisturbed(project: UserProject) -> dict[str, Any]:
    """A run without faults, which every other is compared with."""
    summary: dict[str, Any] = project.json("run", "flights", "--offline", *SHORT, "--faults", project.set_faults("[]"))
    return summary


def test_a_run_without_faults_succeeds(undisturbed: dict[str, Any], project: UserProject) -> None:
    (attempt,) = undisturbed["attempts"]
    assert undisturbed["status"] == "SUCCEEDED"
    assert attempt["verdict"] == "completed"
    assert attempt["market"] == "spot"
    assert (attempt["start_step"], attempt["end_step"]) == (0, NUM_STEPS)
    assert undisturbed["steps_redone"] == 0
    assert 0.5 < undisturbed["metrics"]["validation:auc"] < 1
    assert 0.5 < undisturbed["metrics"]["test:auc"] < 1
    bucket, _, key = undisturbed["model"].removeprefix("s3://").partition("/")
    assert project.client("s3").head_object(Bucket=bucket, Key=key)["ContentLength"] > 0


def test_an_interruption_and_missing_capacity_change_nothing_in_the_result(
    undisturbed: dict[str, Any], project: UserProject
) -> None:
    faults = project.set_faults(
        "- {job: 'flights-*', attempt: 1, do: capacity_error}\n- {job: 'flights-*', at_step: 150, do: interrupt}\n"
    )
    summary = project.json("run", "flights", "--offline", *SHORT, "--faults", faults)
    first, second = summary["attempts"]
    assert (first["verdict"], first["billable_s"]) == ("capacity", 0)
    assert (second["verdict"], second["interruptions"]) == ("completed", 1)
    assert (first["instance"], first["market"]) != (second["instance"], second["market"]), "moved down the ladder"
    assert summary["steps_redone"] == 0, "SIGTERM loses nothing"
    assert summary["weights_digest"] == undisturbed["weights_digest"]
    assert summary["metrics"] == undisturbed["metrics"]


def test_a_reclaim_with_no_capacity_after_it_moves_the_run_to_the_next_pool(
    undisturbed: dict[str, Any], project: UserProject
) -> None:
    faults = project.set_faults("- {at_step: 150, do: interrupt}\n- {at_step: 250, do: capacity_error}\n")
    summary = project.json("run", "flights", "--offline", *SHORT, "--faults", faults)
    first, second = summary["attempts"]
    assert (first["verdict"], first["interruptions"], first["end_step"]) == ("capacity", 2, 250)
    assert (second["verdict"], second["start_step"]) == ("completed", 250)
    assert summary["steps_redone"] == 0
    assert summary["weights_digest"] == undisturbed["weights_digest"]


def test_a_kill_costs_at_most_one_checkpoint_interval(undisturbed: dict[str, Any], project: UserProject) -> None:
    faults = project.set_faults("- {at_step: 200, do: kill}\n")
    summary = project.json("run", "flights", "--offline", *SHORT, "--faults", faults)
    first, second = summary["attempts"]
    assert (first["verdict"], first["interruptions"]) == ("interrupted", 1)
    assert second["verdict"] == "completed"
    assert summary["steps_redone"] == 200 - second["start_step"]
    assert summary["weights_digest"] == undisturbed["weights_digest"]
    assert summary["metrics"] == undisturbed["metrics"]


def test_the_same_data_are_prepared_once(undisturbed: dict[str, Any], project: UserProject) -> None:
    def prepared() -> int:
        jobs = project.client("sagemaker").list_processing_jobs()["ProcessingJobSummaries"]
        return sum(job["ProcessingJobName"].startswith("flights-") for job in jobs)

    assert undisturbed["status"] == "SUCCEEDED"
    before = prepared()
    assert before == 1
    project.json("run", "flights", "--offline", *SHORT, "--faults", project.set_faults("[]"))
    assert prepared() == before


def test_throttling_uses_up_nothing(undisturbed: dict[str, Any], project: UserProject) -> None:
    faults = project.set_faults("- {do: throttle, times: 2}\n")
    summary = project.json("run", "flights", "--offline", *SHORT, "--faults", faults)
    assert [attempt["verdict"] for attempt in summary["attempts"]] == ["throttled", "throttled", "completed"]
    assert summary["weights_digest"] == undisturbed["weights_digest"]


def test_a_code_error_fails_at_once_and_is_not_tried_again(project: UserProject) -> None:
    summary = project.json("run", "broken", "--offline", "--faults", project.set_faults("[]"), code=1)
    assert (summary["status"], summary["error"]) == ("FAILED", "CodeError")
    assert [attempt["verdict"] for attempt in summary["attempts"]] == ["code"]
    assert "no such column: tailwind" in summary["cause"], "the script's own words reach the failure"


def test_the_quality_gate_fails_the_run(undisturbed: dict[str, Any], project: UserProject) -> None:
    summary = project.json(
        "run", "flights", "--offline", "--set", "hyperparameters.epochs=1",
        "--set", "hyperparameters.learning_rate=1e-9", "--faults", project.set_faults("[]"), code=1,
    )  # fmt: skip
    assert summary["error"] == "QualityGateMissed"
    assert summary["attempts"][-1]["verdict"] == "completed"
    assert summary["weights_digest"] != undisturbed["weights_digest"]


def test_the_same_name_never_trains_twice(project: UserProject) -> None:
    arguments = ("run", "flights", "--offline", "--name", "nightly-01", *SHORT)
    first = project.json(*arguments, "--detach")
    followed = project.json(*arguments)
    assert (followed["run"], followed["status"]) == (first["run"], "SUCCEEDED")
    refused = project.json(*arguments, code=2)
    assert refused["error"] == "input"
    assert len(project.training_jobs(first["run"])) == 1


def test_an_aborted_execution_leaves_no_job_running(project: UserProject) -> None:
    run = project.json("run", "flights", "--offline", "--detach", "--faults", project.set_faults("[]"))
    wait_for(lambda: any(job["TrainingJobStatus"] == "InProgress" for job in project.training_jobs(run["run"])))
    project.client("stepfunctions").stop_execution(executionArn=run["execution"])
    wait_for(lambda: all(job["TrainingJobStatus"] == "Stopped" for job in project.training_jobs(run["run"])))
    summary = project.json("status", run["run"], "--offline")
    assert summary["status"] == "STOPPED"
    assert summary["attempts"][-1]["verdict"] == "stopped_by_user"


def test_stop_ends_execution_and_job(project: UserProject) -> None:
    run = project.json("run", "flights", "--offline", "--detach")
    wait_for(lambda: bool(project.training_jobs(run["run"])))
    summary = project.json("stop", run["run"], "--offline")
    assert summary["status"] == "STOPPED"
    assert {job["TrainingJobStatus"] for job in project.training_jobs(run["run"])} == {"Stopped"}
    again = project.json("stop", run["run"], "--offline")
    assert again["status"] == "STOPPED", "stopping what is stopped changes nothing"


def test_a_persons_stop_of_the_job_ends_the_run_as_stopped(project: UserProject) -> None:
    faults = project.set_faults("- {at_step: 300, do: stop}\n")
    summary = project.json("run", "flights", "--offline", "--faults", faults, code=1)
    assert (summary["status"], summary["error"]) == ("STOPPED", "Stopped")
    assert [attempt["verdict"] for attempt in summary["attempts"]] == ["stopped_by_user"]


def test_ctrl_c_stops_watching_and_nothing_else(project: UserProject) -> None:
    project.slipstream("offline", "up", "--faults", project.set_faults("[]"))
    watcher = subprocess.Popen(
        [str(SLIPSTREAM), "run", "flights", "--offline", "--name", "watched", *SHORT],
        cwd=project.root, env=clean_environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert watcher.stderr is not None
    for line in watcher.stderr:
        if "attempt 1" in line:
            break
    watcher.send_signal(signal.SIGINT)
    _, rest = watcher.communicate(timeout=60)
    assert watcher.returncode == 130
    assert "slipstream logs" in rest, "says how to follow again"
    assert project.json("run", "flights", "--offline", "--name", "watched", *SHORT)["status"] == "SUCCEEDED"


def test_logs_show_what_the_containers_wrote(undisturbed: dict[str, Any], project: UserProject) -> None:
    done = project.slipstream("logs", undisturbed["run"], "--offline")
    assert done.returncode == 0
    assert "validation:auc=" in done.stdout
    assert "\x1b" not in done.stdout, "no control characters in a pipe"
    lines = project.json("logs", undisturbed["run"], "--offline")["lines"]
    assert any("validation:auc=" in line["message"] for line in lines)


def test_status_lists_the_runs(undisturbed: dict[str, Any], project: UserProject) -> None:
    rows = project.json("status", "--offline")["runs"]
    assert {"run": undisturbed["run"], "job": "flights", "status": "SUCCEEDED"}.items() <= next(
        row for row in rows if row["run"] == undisturbed["run"]
    ).items()
    summary = project.json("status", undisturbed["run"], "--offline")
    assert summary["weights_digest"] == undisturbed["weights_digest"]


def test_the_ledger_is_written_after_every_attempt(undisturbed: dict[str, Any], project: UserProject) -> None:
    bucket, _, key = undisturbed["ledger"].removeprefix("s3://").partition("/")
    s3 = project.client("s3")
    ledger = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    assert ledger["status"] == "SUCCEEDED"
    prefix = key.removesuffix("ledger.json")
    attempt = json.loads(s3.get_object(Bucket=bucket, Key=f"{prefix}attempts/01.json")["Body"].read())
    assert attempt["verdict"] == "completed"
    assert ledger["attempts"][0]["training_job"] == attempt["training_job"]


def wait_for(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    """Poll: an account that never gets there fails the test, however slow this machine is."""
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.2)
