"""What a running job needs of the account around it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ..faults import Faults
from ..settings import Settings
from .cluster import Cluster
from .jobs import ProcessingJob, TrainingJob
from .objects import ObjectStore

__all__ = ["JobThread", "LogSink", "Platform"]


class LogSink(Protocol):
    """Where containers' lines go besides their files: CloudWatch Logs in the account."""

    def write(self, group: str, stream: str, lines: Sequence[str], time_s: float) -> None: ...


@dataclass(kw_only=True)
class Platform:
    """The account as a job sees it."""

    folder: Path
    """Jobs have their folders in it, see `job_folder`."""
    objects: ObjectStore
    logs: LogSink
    faults: Faults
    settings: Settings
    aws: Mapping[str, str]
    """Variables that point a container's AWS clients at the account."""
    changed: Callable[[TrainingJob | ProcessingJob], None]
    """Called, under `lock`, after each change of a job's status."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while a job's record changes or is read."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the account goes down: every job ends at once, without grace."""

    def job_folder(self, job: TrainingJob | ProcessingJob) -> Path:
        """`jobs/<name>` for training, `processing/<name>` for processing jobs: names are unique per kind only."""
        return self.folder / ("jobs" if isinstance(job, TrainingJob) else "processing") / job.name


class JobThread:
    """What the lives of all kinds of jobs have in common: a thread, a request to stop, hosts and their output."""

    log_group: str

    def __init__(self, job: TrainingJob | ProcessingJob, platform: Platform) -> None:
        self.platform = platform
        self.folder = platform.job_folder(job)
        self.stop_requested = threading.Event()
        self._name = job.name
        self._thread = threading.Thread(target=self._run, name=job.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Have a sleeping job look at `platform.closing` now."""
        self.stop_requested.set()

    def join(self, timeout_s: float | None = None) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        raise NotImplementedError

    def _now(self) -> float:
        return time.time()

    def _pause(self, seconds: float) -> bool:
        """Let time pass. True when the job is to stop instead."""
        if self.platform.closing.is_set():
            return True
        return self.stop_requested.wait(seconds)

    def _end_hosts(self, cluster: Cluster) -> None:
        """SIGTERM, the grace, SIGKILL; returns when nothing is left."""
        cluster.terminate()
        deadline = time.monotonic() + self.platform.settings.grace_s
        while not cluster.ended():
            if self.platform.closing.is_set() or time.monotonic() > deadline:
                cluster.kill()
            time.sleep(self.platform.settings.poll_s)
            self._pump(cluster)
        self._pump(cluster)

    def _pump(self, cluster: Cluster) -> list[str]:
        """Pass new lines on to the logs; returns those of the first host."""
        first: list[str] = []
        for host, lines in enumerate(cluster.new_lines()):
            if lines:
                stream = f"{self._name}/algo-{host + 1}-{int(cluster.started)}"
                self.platform.logs.write(self.log_group, stream, lines, self._now())
            if host == 0:
                first = lines
        return first

    def _fresh_folder(self, name: str) -> Path:
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder
