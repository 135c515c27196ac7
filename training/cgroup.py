"""What this container may use of its machine, by its control group (versions 1 and 2). Standard library only."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["available_cpus", "oom_kills", "threads_per_rank"]

_ROOT = Path("/sys/fs/cgroup")


def available_cpus(root: Path = _ROOT) -> float:
    """CPUs by quota, or else by affinity: torch counts the machine's and oversubscribes (4x slower in wall time)."""
    affinity = float(len(os.sched_getaffinity(0)))
    quota, period = (_read(root / "cpu.max") or "max 0").split()[:2]
    if quota == "max":
        quota = _read(root / "cpu/cpu.cfs_quota_us") or "-1"
        period = _read(root / "cpu/cpu.cfs_period_us") or "0"
    if int(quota) <= 0 or int(period) <= 0:
        return affinity
    return min(affinity, int(quota) / int(period))


def threads_per_rank(cpus: float, ranks: int) -> int:
    """Threads for each of `ranks` processes that share `cpus`."""
    return max(1, math.floor(cpus / ranks))


def oom_kills(root: Path = _ROOT) -> int:
    """Processes of this container the kernel has killed for memory so far; a bare exit code 137 does not tell."""
    for file in ("memory.events", "memory/memory.oom_control"):
        for line in (_read(root / file) or "").splitlines():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
