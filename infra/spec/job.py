"""The job file as a model: desired state of one training job."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import Field, JsonValue, PrivateAttr

from .document import Document, Position
from .fields import Email, JobName, SourceDir, TaskName
from .problems import KeyPath, Problem
from .sections import Checkpoint, Compute, Data, Framework, Limits, QualityGate, Section, Tuning

__all__ = ["Job"]


class Job(Section):
    """One file of `jobs/`. Attributes are the file's keys; durations are seconds, sizes are bytes."""

    name: JobName
    """Names the state machine, the jobs' prefix and the folders in S3."""
    task: TaskName
    """A task of `training/tasks`, or `package.module:Class` in `source_dir`."""
    source_dir: SourceDir = "training"
    """Code that travels into the container; relative to the project's root."""
    framework: Framework = Framework()
    data: Data
    compute: Compute
    limits: Limits
    checkpoint: Checkpoint = Checkpoint()
    hyperparameters: dict[str, JsonValue]
    """Passed to the task; `training.config.Hyperparameters` says which exist."""
    tuning: Tuning | None = None
    quality_gate: QualityGate | None = None
    notify: Annotated[tuple[Email, ...], Field(max_length=10)] = ()
    """E-mail addresses that hear how a run ended."""

    _document: Document | None = PrivateAttr(default=None)

    def flat_hyperparameters(self) -> dict[str, str]:
        """As `CreateTrainingJob.HyperParameters` takes them: strings.

        Plain strings stay as they are, because the container reads each value with `json.loads` and keeps what is
        not JSON; all else is JSON, nested sections included.
        """
        return {
            key: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            for key, value in self.hyperparameters.items()
        }

    def unavailable(self) -> list[Problem]:
        """What is valid here but not carried out yet: to be refused by whoever would silently ignore it."""
        from .availability import find_unavailable

        return find_unavailable(self)

    def problem(self, path: KeyPath, message: str, *, rule: str) -> Problem:
        """A problem at a key of this job, placed in the file that it was read from."""
        document = self._document or Document({}, {(): Position(f"job {self.name}", 1)})
        return document.problem(path, message, rule=rule)
