"""The process SageMaker starts and signals: runs one rank per device, passes SIGTERM on, reports how it ended.

torchrun is not used: it loses exit codes and kills after 30 s, and SIGTERM gives us 120 s to save. Standard library
only, so that the signal handler is in place within milliseconds.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from training.cgroup import available_cpus, oom_kills, threads_per_rank
from training.environment import Environment
from training.outcome import CODE_ERROR, INTERRUPTED, OUT_OF_MEMORY, Outcome
from training.stop import StopRequest

__all__ = ["Rank", "main", "rank_variables", "verdict"]

MASTER_PORT = 7777
"""The one AWS's own torchrun launcher uses; security groups between hosts know it."""
GRACE_S = 60.0
"""After one rank failed, the others get this long to end by themselves."""
_POLL_S = 0.05


def main(stop: StopRequest) -> int:
    """Start this host's ranks, wait for them, return the exit code of the container. `stop` listens already."""
    environment = Environment.read()
    with tempfile.TemporaryDirectory(prefix="slipstream-") as scratch:
        kills_before = oom_kills()
        ranks = [] if stop.requested else _start(environment, Path(scratch))
        if ranks:
            speaker = _wait(ranks, stop) or ranks[0]
            outcome = verdict(
                speaker.process.returncode,
                Outcome.read(speaker.outcome_file),
                stopping=stop.requested,
                out_of_memory=oom_kills() > kills_before,
            )
        else:
            speaker = None
            outcome = Outcome(code=INTERRUPTED, step=None, reason="SIGTERM before anything was started")
        if outcome.code:
            outcome.write_failure(environment.failure_file, speaker.last_lines if speaker else ())
    print(outcome.line, flush=True)
    return outcome.code


def verdict(returncode: int, said: Outcome | None, *, stopping: bool, out_of_memory: bool) -> Outcome:
    """What the container says, from what its first failed rank said (None: nothing) and how it ended."""
    if said is not None and (said.code == returncode or returncode < 0):
        return said  # its last act: a signal that meets it after that changes nothing
    if out_of_memory:
        return Outcome(code=OUT_OF_MEMORY, step=None, reason="the kernel killed a process of this container for memory")
    if returncode == -signal.SIGTERM and stopping:
        return Outcome(code=INTERRUPTED, step=None, reason="SIGTERM before the rank listened; nothing was learned yet")
    if returncode < 0:
        name = signal.Signals(-returncode).name
        return Outcome(code=128 - returncode, step=None, reason=f"a rank was ended by {name}")
    # 0 as well: the code has called sys.exit or os._exit, and work may be left.
    return Outcome(code=returncode or CODE_ERROR, step=None, reason=f"a rank ended with {returncode} without a word")


def rank_variables(
    hosts: tuple[str, ...], current_host: str, *, local_rank: int, ranks_per_host: int, master_port: int
) -> dict[str, str]:
    """torchrun's environment variables for one rank; hosts are numbered in SageMaker's order on all of them."""
    node = hosts.index(current_host)
    return {
        "RANK": str(node * ranks_per_host + local_rank),
        "LOCAL_RANK": str(local_rank),
        "GROUP_RANK": str(node),
        "WORLD_SIZE": str(len(hosts) * ranks_per_host),
        "LOCAL_WORLD_SIZE": str(ranks_per_host),
        "MASTER_ADDR": hosts[0] if len(hosts) > 1 else "127.0.0.1",
        "MASTER_PORT": str(master_port),
    }


@dataclass
class Rank:
    """One process, its last words and the thread that passes its output on."""

    process: subprocess.Popen[str]
    outcome_file: Path
    prefix: str = ""
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=40))

    def follow(self) -> threading.Thread:
        thread = threading.Thread(target=self._copy_output, daemon=True)
        thread.start()
        return thread

    def _copy_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.last_lines.append(line)
            sys.stdout.write(self.prefix + line)
            sys.stdout.flush()


def _start(environment: Environment, scratch: Path) -> list[Rank]:
    ranks_per_host, hosts = environment.ranks_per_host, environment.hosts
    master_port = MASTER_PORT if len(hosts) > 1 else _free_port()
    threads = environment.variables.get("OMP_NUM_THREADS") or str(threads_per_rank(available_cpus(), ranks_per_host))
    ranks = []
    for local_rank in range(ranks_per_host):
        outcome_file = scratch / f"rank-{local_rank}.json"
        variables = {
            **environment.variables,
            **rank_variables(
                hosts,
                environment.current_host,
                local_rank=local_rank,
                ranks_per_host=ranks_per_host,
                master_port=master_port,
            ),
            "OMP_NUM_THREADS": threads,
            "PYTHONUNBUFFERED": "1",
            "SLIPSTREAM_LAUNCHER": str(os.getpid()),
            "SLIPSTREAM_OUTCOME": str(outcome_file),
        }
        ranks.append(Rank(_popen(variables), outcome_file, prefix=f"[rank {local_rank}] " if local_rank else ""))
    return ranks


def _popen(variables: Mapping[str, str]) -> subprocess.Popen[str]:
    here = sys.argv[0]
    command = [here] if here.endswith(".zip") else ["-m", "training"]
    package_parent = str(Path(__file__).parent.parent)
    path = os.pathsep.join(filter(None, [package_parent, variables.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, *command, "rank"],
        env={**variables, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _wait(ranks: list[Rank], stop: StopRequest) -> Rank | None:
    """Until all have ended; the first that failed, or None. SIGTERM goes to every rank, a failure ends them all."""
    followers = [rank.follow() for rank in ranks]
    failed: Rank | None = None
    told = False
    kill_at = float("inf")
    while any(rank.process.poll() is None for rank in ranks):
        if stop.requested and not told:
            told = True
            _signal(ranks, signal.SIGTERM)
        if failed is None:
            failed = _first_failed(ranks)
            if failed is not None:  # the others would wait in a collective for ever
                kill_at = time.monotonic() + GRACE_S
                _signal(ranks, signal.SIGTERM)
        if time.monotonic() > kill_at:
            _signal(ranks, signal.SIGKILL)
        time.sleep(_POLL_S)
    for follower in followers:
        follower.join(timeout=5)  # a grandchild may hold the pipe open for ever
    return failed or _first_failed(ranks)


def _first_failed(ranks: list[Rank]) -> Rank | None:
    return next((rank for rank in ranks if rank.process.poll()), None)


def _signal(ranks: list[Rank], signum: signal.Signals) -> None:
    for rank in ranks:
        if rank.process.poll() is None:
            rank.process.send_signal(signum)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
