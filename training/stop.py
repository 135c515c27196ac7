"""The wish to stop, from SIGTERM or from a successor, kept until the loop is at a step boundary.

Standard library only: it is in place before torch is imported, so that no moment of a container's life is deaf.
"""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["StopRequest"]


class StopRequest:
    """`requested` is read once per step; the first reason given stays."""

    def __init__(self) -> None:
        self.requested = False
        self.reason = ""
        self.fenced = False

    def request(self, reason: str, *, fenced: bool = False) -> None:
        """`fenced`: another attempt owns the run now; nothing may be written any more."""
        self.reason = self.reason or reason
        self.fenced = self.fenced or fenced
        self.requested = True

    def listen(self) -> StopRequest:
        """Take SIGTERM from here on; a second one changes nothing. Main thread only."""
        signal.signal(signal.SIGTERM, self._on_sigterm)
        return self

    def _on_sigterm(self, signum: int, frame: FrameType | None) -> None:
        self.request("SIGTERM")
