"""An engine without a server: a folder for S3, a list for CloudWatch, and no waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.offline.faults import Fault, Faults
from infra.offline.sagemaker import Engine
from infra.offline.settings import Settings

from ..waiting import until
from .folder_objects import FolderObjects

FAST = Settings(phase_s=0.01, grace_s=20.0, sync_interval_s=0.02, poll_s=0.01)


@dataclass
class Logs:
    """A `LogSink` in memory."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    """(stream, line)"""

    def write(self, group: str, stream: str, lines: Sequence[str], time_s: float) -> None:
        self.lines += [(stream, line) for line in lines]

    def text(self) -> list[str]:
        return [line for _, line in self.lines]


class World:
    """An engine in `folder`, and what a test asks of it."""

    def __init__(self, folder: Path, faults: Iterable[Fault] = (), settings: Settings = FAST) -> None:
        self.folder = folder
        self.objects = FolderObjects(folder / "s3")
        self.logs = Logs()
        self.faults = Faults(faults)
        self.changes: list[tuple[str, str]] = []
        self.engine = Engine(
            folder / "account",
            region="us-east-1",
            account="123456789012",
            objects=self.objects,
            logs=self.logs,
            aws={"AWS_REGION": "us-east-1"},
            faults=self.faults,
            settings=settings,
            on_change=lambda job: self.changes.append((job.name, job.status)),
        )

    def code(self, script: str) -> None:
        """What training jobs run."""
        self.objects.write("s3://bucket/code/main.py", script)

    def describe(self, name: str) -> dict[str, Any]:
        return self.engine.describe_training_job({"TrainingJobName": name})

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Create a training job and wait for its end."""
        self.engine.create_training_job(request)
        return self.ended(request["TrainingJobName"])

    def ended(self, name: str) -> dict[str, Any]:
        return self.until(name, lambda job: job["TrainingJobStatus"] in ("Completed", "Failed", "Stopped"))

    def until(self, name: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        until(lambda: condition(self.describe(name)))
        return self.describe(name)

    def until_printed(self, text: str) -> None:
        until(lambda: any(text in line for line in self.logs.text()))

    def left_on_disk(self, name: str) -> list[str]:
        """What a job's folder has besides its record and logs."""
        return sorted(path.name for path in (self.folder / "account" / "jobs" / name).iterdir() if path.is_dir())


def statuses(job: dict[str, Any]) -> list[str]:
    """The secondary statuses that a job went through."""
    return [transition["Status"] for transition in job["SecondaryStatusTransitions"]]
