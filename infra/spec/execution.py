"""The input of a training workflow's execution. Everything is optional: a start from the console gives `{}`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from .fields import AwareDatetime, DataVersion, RunId
from .sections import Section

__all__ = ["ExecutionInput", "LimitOverrides"]

Seconds = Annotated[float, Field(gt=0, le=365 * 86_400)]


class LimitOverrides(Section):
    """As `limits` in the job file, durations in seconds: a state machine reads numbers."""

    deadline: Seconds | None = None
    max_runtime: Seconds | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None
    attempts_without_progress: Annotated[int, Field(ge=1)] | None = None


class ExecutionInput(Section):
    """What may differ from one execution of a job's state machine to the next."""

    run: RunId | None = None
    """The run's name; by default the first 8 digits of SHA-256 over the execution's ARN."""
    resume: RunId | None = None
    """Continue this run from its checkpoints and its ledger."""
    data_version: DataVersion | None = None
    """Which raw data; by default the last one that was uploaded (SSM `/slipstream/<job>/data_version`)."""
    deadline_at: AwareDatetime | None = None
    """In place of the job file's deadline."""
    look_s: Annotated[float, Field(ge=0.2, le=3_600)] | None = None
    """Seconds between two looks at the jobs; by default by what is expected next."""
    short_attempt_s: Annotated[float, Field(ge=0)] | None = None
    """An attempt shorter than this that made no progress counts as short; several in a row end the run."""
    hyperparameters: dict[str, JsonValue] | None = None
    """Take the place of the job file's, key by key."""
    limits: LimitOverrides | None = None
    """Take the place of the job file's, key by key."""
