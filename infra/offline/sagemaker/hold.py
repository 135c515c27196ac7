"""Hold the trainer at an optimizer step until a fault has been carried out.

At 300 us a step no signal hits the step that it was meant for. So the engine names the steps in a file before the
container starts; the trainer, after such a step, writes `<file>.reached` and waits for a signal or `<file>.release`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..faults import Faults
from .container import Container

__all__ = ["HOLD_VARIABLE", "Hold"]

HOLD_VARIABLE = "SLIPSTREAM_HOLD"
_OUT_OF_MEMORY = ("out_of_memory",)


@dataclass(frozen=True)
class Hold:
    """The files of one placement's hosts; none when no fault waits for a step."""

    paths: tuple[Path, ...] = ()

    @classmethod
    def prepare(cls, containers: Sequence[Container], faults: Faults, job: str, kinds: Collection[str]) -> Hold:
        """Write the files and name them in the containers' environment."""
        steps = faults.steps(job, kinds)
        oom_at = faults.steps(job, _OUT_OF_MEMORY)
        for step in oom_at:  # the trainer does this one by itself, so it is spent by being asked for
            faults.take(_OUT_OF_MEMORY, job, step=step)
        if not steps and not oom_at:
            return cls()
        paths = tuple(container.root.parent / "hold.json" for container in containers)
        for container, path in zip(containers, paths, strict=True):
            path.write_text(json.dumps({"steps": steps, "oom_at": oom_at}))
            container.env[HOLD_VARIABLE] = str(path)
        return cls(paths)

    def reached(self) -> int | None:
        """The step that the first host is held at."""
        if not self.paths:
            return None
        text = _read(self.paths[0], "reached")
        return int(text) if text.isdigit() and text != _read(self.paths[0], "release") else None

    def release(self, step: int | None) -> None:
        """Let every host go on from `step`."""
        if step is not None:
            for path in self.paths:
                path.with_name(f"{path.name}.release").write_text(str(step))


def _read(path: Path, suffix: str) -> str:
    with suppress(FileNotFoundError):
        return path.with_name(f"{path.name}.{suffix}").read_text().strip()
    return ""
