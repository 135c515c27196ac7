"""progress.json against S3 (moto): what is written, what is believed, who has to stop."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.server import ThreadedMotoServer

from tests.training.conftest import Container
from training.progress import Progress, Publisher, durable_step
from training.s3 import Prefix
from training.stop import StopRequest

ARTIFACTS, CHECKPOINTS = "s3://artifacts/flights/0a1b2c3d/", "s3://checkpoints/flights/0a1b2c3d/"
FILES = {"state.safetensors": 100, "state.json": 10, "MANIFEST.json": 5}


@pytest.mark.parametrize(
    ("uploaded", "step"),
    [
        ({}, 0),
        ({10: FILES}, 10),
        ({10: FILES, 20: FILES}, 20),
        ({10: FILES, 20: {"MANIFEST.json": 5}}, 10),  # the agent uploads in any order
        ({10: FILES, 20: {**FILES, "state.safetensors": 99}}, 10),
        ({30: FILES}, 0),  # not one of ours
    ],
)
def test_only_a_whole_checkpoint_is_durable(uploaded: dict[int, dict[str, int]], step: int) -> None:
    objects = {f"step-{s:08d}/{name}": size for s, files in uploaded.items() for name, size in files.items()}
    assert durable_step(objects, {10: FILES, 20: FILES}) == step


def test_a_prefix_without_its_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="final slash"):
        Prefix("s3://bucket/trial-1", client=object())


class Run:
    """A publisher on moto's S3."""

    def __init__(self) -> None:
        self.s3 = boto3.client("s3", region_name="us-east-1")
        for bucket in ("artifacts", "checkpoints"):
            self.s3.create_bucket(Bucket=bucket)
        self.stop = StopRequest()
        self.sizes: dict[int, dict[str, int]] = {}
        self.durable: list[int] = []

    def publisher(self, progress: Progress, interval_s: float = 1000) -> Publisher:
        return Publisher(
            progress,
            artifacts=ARTIFACTS,
            checkpoints=CHECKPOINTS,
            sizes=lambda: self.sizes,
            stop=self.stop,
            interval_s=interval_s,
            on_durable=self.durable.append,
        )

    def upload(self, step: int, files: dict[str, int]) -> None:
        for name, size in files.items():
            self.s3.put_object(Bucket="checkpoints", Key=f"flights/0a1b2c3d/step-{step:08d}/{name}", Body=b"x" * size)

    @property
    def written(self) -> dict[str, Any]:
        body = self.s3.get_object(Bucket="artifacts", Key="flights/0a1b2c3d/progress.json")["Body"].read()
        return dict(json.loads(body))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield Run()


def progress_at(step: int, *, fence: int = 1, attempt: int = 1) -> Progress:
    return Progress(attempt=attempt, fence=fence, total_steps=60, epochs=4, live_step=step)


def test_the_document_has_what_the_workflow_reads(run: Run) -> None:
    progress = progress_at(0)
    publisher = run.publisher(progress)
    progress.live_step, progress.epoch = 30, 2
    progress.metric = {"name": "validation:auc", "value": 0.6, "best": 0.61}
    run.sizes = {15: FILES, 25: FILES}
    run.upload(15, FILES)
    run.upload(25, {"MANIFEST.json": 5})
    assert publisher.flush()
    assert run.durable[-1] == 15
    publisher.close()
    written = run.written
    assert written.pop("updated") > 1.6e9
    assert written.pop("steps_per_s") > 0
    assert written == {
        "step": 15,
        "start_step": 0,
        "saved_step": 25,
        "live_step": 30,
        "total_steps": 60,
        "epoch": 2,
        "epochs": 4,
        "metric": {"name": "validation:auc", "value": 0.6, "best": 0.61},
        "metrics": {},
        "fence": 1,
        "attempt": 1,
        "done": False,
        "weights_digest": None,
        "steps_redone": 0,
        "resume": "fresh",
        "stopped_early": False,
    }


def test_steps_redone_add_up_over_attempts(run: Run) -> None:
    for attempt, (start, live, redone) in enumerate([(0, 30, 0), (22, 50, 8), (50, 58, 8), (40, 60, 26)], start=1):
        progress = progress_at(start, fence=attempt, attempt=attempt)
        publisher = run.publisher(progress)
        progress.live_step = live
        assert publisher.flush()
        publisher.close()
        assert run.written["steps_redone"] == redone


def test_an_attempt_that_is_restarted_inside_its_job_keeps_where_it_started(run: Run) -> None:
    for attempt, start, told in [(1, 0, 0), (1, 22, 0), (2, 30, 30), (2, 41, 30)]:
        publisher = run.publisher(progress_at(start, fence=attempt, attempt=attempt))
        assert publisher.flush()
        publisher.close()
        assert run.written["start_step"] == told


def test_a_higher_fence_stops_this_attempt_without_a_word(run: Run) -> None:
    successor = run.publisher(progress_at(0, fence=2, attempt=2))
    assert successor.flush()
    successor.close()
    before = run.written
    publisher = run.publisher(progress_at(40, fence=1))
    assert not publisher.flush()
    publisher.close()
    assert run.stop.fenced
    assert run.stop.requested
    assert "attempt 2 has taken over" in run.stop.reason
    assert run.written == before


def test_without_s3_training_is_not_disturbed(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    run.s3.delete_bucket(Bucket="artifacts")
    publisher = run.publisher(progress_at(5))
    assert not publisher.flush(timeout_s=0.5)
    publisher.close()
    assert not run.stop.requested
    assert "progress.json could not be written" in caplog.text


# -- with a real container ------------------------------------------------------------------------------------------


@pytest.fixture
def s3_server() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


def test_a_container_reports_interruption_resume_and_end(
    container: Container, s3_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3_server,
    }
    for name, value in aws.items():
        monkeypatch.setenv(name, value)
    container.variables = {
        **aws,
        "SLIPSTREAM_JOB": "flights",
        "SLIPSTREAM_RUN": "0a1b2c3d",
        "SLIPSTREAM_ARTIFACTS": ARTIFACTS,
        "SLIPSTREAM_CHECKPOINTS": CHECKPOINTS,
        "SLIPSTREAM_PROGRESS_S": "0.2",
    }
    s3 = boto3.client("s3")
    for bucket in ("artifacts", "checkpoints"):
        s3.create_bucket(Bucket=bucket)
    prefix = Prefix(ARTIFACTS, client=s3)

    process = container.start(**container.hold_at(33), SLIPSTREAM_ATTEMPT="1", SLIPSTREAM_FENCE="1")
    container.wait_for_hold(33)
    assert prefix.get_json("progress.json")["live_step"] == 33  # flushed before the hold
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 75
    assert prefix.get_json("progress.json")["saved_step"] == 33

    _sync(container.base / "checkpoints", s3)
    assert container.attempt(SLIPSTREAM_ATTEMPT="2", SLIPSTREAM_FENCE="2").code == 0
    end = prefix.get_json("progress.json")
    assert (end["done"], end["live_step"], end["step"], end["attempt"]) == (True, 60, 33, 2)
    assert (end["steps_redone"], end["resume"], end["epoch"]) == (0, "bit-exact", 4)
    assert end["weights_digest"] == container.digest
    assert {"validation:auc", "test:auc"} <= end["metrics"].keys()

    outcome = container.attempt(SLIPSTREAM_ATTEMPT="1", SLIPSTREAM_FENCE="1")  # woken from the dead
    assert outcome.code == 75
    assert "fenced: attempt 2" in outcome.reason


def _sync(folder: Path, s3: Any) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            s3.upload_file(str(path), "checkpoints", f"flights/0a1b2c3d/{path.relative_to(folder)}")
