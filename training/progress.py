"""progress.json: what the workflow knows of a running container. Written beside the loop, never by it.

The loop sets plain attributes of `Progress`; a thread reads them, looks which checkpoints have reached S3 and writes.
It also reads before it writes: a higher fence there means that this attempt has been replaced.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from training.s3 import Prefix
from training.stop import StopRequest

__all__ = ["Progress", "Publisher", "durable_step"]

_log = logging.getLogger(__name__)
PROGRESS = "progress.json"


@dataclass(kw_only=True)
class Progress:
    """Live figures; every attribute is replaced as a whole, so no lock is needed to read one."""

    attempt: int
    fence: int
    total_steps: int
    epochs: int
    live_step: int
    """Last optimizer step run."""
    resume: Literal["fresh", "bit-exact", "order-exact"] = "fresh"
    epoch: int = 0
    metric: Mapping[str, Any] | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    weights_digest: str | None = None
    stopped_early: bool = False
    done: bool = False

    def __post_init__(self) -> None:
        self.start_step = self.live_step
        self.started = time.monotonic()

    @property
    def steps_per_s(self) -> float:
        """Of this attempt, evaluations and checkpoints included: what a deadline has to be planned with."""
        return (self.live_step - self.start_step) / max(time.monotonic() - self.started, 1e-9)

    def record(self, *, step: int, saved_step: int, start_step: int, steps_redone: int) -> dict[str, Any]:
        """The JSON document."""
        return {
            "step": step,
            "start_step": start_step,
            "saved_step": saved_step,
            "live_step": self.live_step,
            "total_steps": self.total_steps,
            "steps_per_s": round(self.steps_per_s, 3),
            "epoch": self.epoch,
            "epochs": self.epochs,
            "metric": self.metric,
            "metrics": self.metrics,
            "fence": self.fence,
            "attempt": self.attempt,
            "updated": round(time.time(), 3),
            "done": self.done,
            "weights_digest": self.weights_digest,
            "steps_redone": steps_redone,
            "resume": self.resume,
            "stopped_early": self.stopped_early,
        }


def durable_step(objects: Mapping[str, int], checkpoints: Mapping[int, Mapping[str, int]]) -> int:
    """Newest step of `checkpoints` (step -> file -> bytes) that lies in S3 whole; 0 for none.

    The agent uploads in any order: a manifest there does not mean that the weights are.
    """
    whole = (
        step
        for step, files in checkpoints.items()
        if all(objects.get(f"step-{step:08d}/{name}") == size for name, size in files.items())
    )
    return max(whole, default=0)


class Publisher:
    """Writes progress.json every `interval_s`, on `flush`, and at the end.

    `sizes()` gives the verified local checkpoints, `on_durable` hears the newest step that S3 holds whole. S3 out of
    reach is logged and borne: training goes on.
    """

    def __init__(
        self,
        progress: Progress,
        *,
        artifacts: str,
        checkpoints: str | None,
        sizes: Any,
        stop: StopRequest,
        interval_s: float,
        on_durable: Callable[[int], None] = lambda step: None,
    ) -> None:
        self._progress = progress
        self._uris = (artifacts, checkpoints)
        self._sizes = sizes
        self._stop = stop
        self._interval_s = interval_s
        self._on_durable = on_durable
        self._durable_step = 0
        self._steps_redone: int | None = None
        self._start_step = progress.start_step
        self._prefixes: tuple[Prefix, Prefix | None] | None = None
        self._wake = threading.Condition()
        self._asked = self._seen = self._written = 0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Wait until what `Progress` says now has been written. False: it could not be."""
        with self._wake:
            self._asked += 1
            asked = self._asked
            self._wake.notify_all()
            return self._wake.wait_for(lambda: self._written >= asked or self._stop.fenced, timeout_s) and (
                self._written >= asked
            )

    def close(self) -> None:
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        seen = 0
        while not self._closing and not self._stop.fenced:
            succeeded = self._write()
            with self._wake:
                if succeeded:
                    self._written = seen
                self._wake.notify_all()
                # A flush that could not be written is tried again soon.
                pause = min(self._interval_s, 1.0) if self._written < seen else self._interval_s
                self._wake.wait_for(self._is_wanted, pause)
                seen = self._seen = self._asked

    def _is_wanted(self) -> bool:
        return self._closing or self._asked > self._seen

    def _write(self) -> bool:
        try:
            artifacts, checkpoints = self._connect()
            before = artifacts.get_json(PROGRESS) or {}
            if before.get("fence", 0) > self._progress.fence:
                self._stop.request(f"attempt {before.get('attempt')} has taken over", fenced=True)
                return False
            if self._steps_redone is None:  # steps the last attempt ran beyond what this one starts from
                lost = max(0, before.get("live_step", 0) - self._progress.start_step)
                self._steps_redone = before.get("steps_redone", 0) + lost
                if before.get("attempt") == self._progress.attempt:  # restarted inside its job: still the same attempt
                    self._start_step = before.get("start_step", self._start_step)
            sizes = self._sizes()
            if checkpoints is not None:
                self._durable_step = max(self._durable_step, durable_step(checkpoints.sizes(), sizes))
                self._on_durable(self._durable_step)
            record = self._progress.record(
                step=self._durable_step,
                saved_step=max(sizes, default=0),
                start_step=self._start_step,
                steps_redone=self._steps_redone,
            )
            artifacts.put_json(PROGRESS, record)
            return True
        except Exception as error:  # whatever botocore raises: progress is worth no training
            _log.warning("progress.json could not be written: %s", error)
            return False

    def _connect(self) -> tuple[Prefix, Prefix | None]:
        if self._prefixes is None:
            artifacts, checkpoints = self._uris
            self._prefixes = Prefix(artifacts), Prefix(checkpoints) if checkpoints else None
        return self._prefixes
