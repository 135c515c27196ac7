"""How fast the offline account's hardware is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Times in seconds. The defaults keep AWS's order of events and shorten its waits."""

    phase_s: float = 0.2
    """How long a job stays in each status in which nothing real is done (Starting, Interrupted ...)."""
    grace_s: float = 120.0
    """From SIGTERM to SIGKILL, as on SageMaker."""
    sync_interval_s: float = 0.5
    """Between two looks of the checkpoint agent at its folder."""
    poll_s: float = 0.05
    """Between two looks of the engine at a running container."""
    sync_poll_s: float = 0.5
    """Between two looks of a `.sync` task at its job."""
    spot_billed_share: float = 0.35
    """Share of its running seconds for which a Spot job is billed: the catalogue's Spot price over the on-demand one.
    See `TrainingJob.billed_share`."""
