"""What the platform tells a container: folders, hosts and the run it belongs to. Standard library only."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.config import CheckpointConfig

__all__ = ["Environment"]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Read once, at the start. Everything but the folders is optional: without it, a plain script-mode run."""

    base: Path
    """/opt/ml, movable by SAGEMAKER_BASE_DIR as in the SageMaker training toolkit."""
    variables: Mapping[str, str]

    @classmethod
    def read(cls, variables: Mapping[str, str] = os.environ) -> Environment:
        return cls(base=Path(variables.get("SAGEMAKER_BASE_DIR", "/opt/ml")), variables=dict(variables))

    # -- the run ----------------------------------------------------------------------------------------------------

    @property
    def job(self) -> str:
        return self.variables.get("SLIPSTREAM_JOB", "")

    @property
    def run(self) -> str:
        return self.variables.get("SLIPSTREAM_RUN", "")

    @property
    def attempt(self) -> int:
        return int(self.variables.get("SLIPSTREAM_ATTEMPT", "1"))

    @property
    def fence(self) -> int:
        """Increases with every job the workflow creates: who sees a higher one than its own has been replaced."""
        return int(self.variables.get("SLIPSTREAM_FENCE", "0"))

    @property
    def task(self) -> str:
        return self.variables.get("SLIPSTREAM_TASK", "tabular")

    @property
    def artifacts(self) -> str | None:
        """s3://bucket/prefix/ of progress.json."""
        return self.variables.get("SLIPSTREAM_ARTIFACTS")

    @property
    def checkpoints(self) -> str | None:
        """s3://bucket/prefix/ to which the sync agent takes `checkpoint_dir`."""
        return self.variables.get("SLIPSTREAM_CHECKPOINTS")

    @property
    def checkpoint(self) -> CheckpointConfig:
        return CheckpointConfig.from_mapping(json.loads(self.variables.get("SLIPSTREAM_CHECKPOINT", "{}")))

    @property
    def micro_batch_divisor(self) -> int:
        """2, 4, ... after attempts that ran out of memory."""
        return int(self.variables.get("SLIPSTREAM_MICRO_BATCH_DIVISOR", "1"))

    @property
    def progress_interval_s(self) -> float:
        return float(self.variables.get("SLIPSTREAM_PROGRESS_S", "10"))

    # -- hosts and ranks --------------------------------------------------------------------------------------------

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self._config("resourceconfig").get("hosts", ["localhost"]))

    @property
    def current_host(self) -> str:
        return str(self._config("resourceconfig").get("current_host", self.hosts[0]))

    @property
    def ranks_per_host(self) -> int:
        return int(self.variables.get("SLIPSTREAM_RANKS_PER_HOST", "1"))

    @property
    def rank(self) -> int:
        return int(self.variables.get("RANK", "0"))

    @property
    def world_size(self) -> int:
        return int(self.variables.get("WORLD_SIZE", "1"))

    # -- files ------------------------------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> dict[str, str]:
        """As CreateTrainingJob had them: every value is text."""
        return {key: str(value) for key, value in self._config("hyperparameters").items()}

    @property
    def checkpoint_dir(self) -> Path:
        return self.base / "checkpoints"

    @property
    def model_dir(self) -> Path:
        return Path(self.variables.get("SM_MODEL_DIR", self.base / "model"))

    @property
    def failure_file(self) -> Path:
        return self.base / "output" / "failure"

    def channel(self, name: str) -> Path | None:
        """Folder of an input channel, None where the job has no such channel."""
        folder = Path(self.variables.get(f"SM_CHANNEL_{name.upper()}", self.base / "input" / "data" / name))
        return folder if folder.is_dir() else None

    def _config(self, name: str) -> dict[str, Any]:
        path = self.base / "input" / "config" / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else {}
