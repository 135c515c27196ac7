"""The hosts of one job, started together and ended together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from .container import Container
from .output import LineReader
from .processes import Host

__all__ = ["Cluster"]


class Cluster:
    """Starts one host per container. Host N writes to `algo-N.log` in `folder`, appended."""

    def __init__(self, containers: Sequence[Container], folder: Path) -> None:
        self.containers = list(containers)
        self.started = time.time()
        self._hosts: list[Host] = []
        self._readers: list[LineReader] = []
        for number, container in enumerate(containers, start=1):
            log = folder / f"algo-{number}.log"
            self._readers.append(LineReader(log, log.stat().st_size if log.exists() else 0))
            self._hosts.append(Host(container.argv, env=container.env, cwd=container.root, log=log))

    def poll(self) -> int | None:
        """The job's exit status: None while it runs, 0 when every host has ended well, else the first failure.

        One host's failure ends the others: SageMaker does not run on with a part of a cluster.
        """
        statuses = [host.poll() for host in self._hosts]
        failed = next((status for status in statuses if status), None)
        if failed is not None:
            self.kill()
            return failed
        return None if None in statuses else 0

    def ended(self) -> bool:
        return all(host.poll() is not None for host in self._hosts)

    def terminate(self) -> None:
        """SIGTERM to every host's process group."""
        for host in self._hosts:
            host.terminate()

    def kill(self) -> None:
        """SIGKILL to everything on every host; returns when nothing is left."""
        for host in self._hosts:
            host.kill()
        for host in self._hosts:
            host.wait()

    def new_lines(self) -> list[list[str]]:
        """Per host, the lines printed since the last call."""
        final = self.ended()
        return [reader.read(final=final) for reader in self._readers]
