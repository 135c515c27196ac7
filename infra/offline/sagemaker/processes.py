"""Hosts of a job: real processes that never outlive the account."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["KILLED", "Host"]

KILLED = 137
"""Exit status after SIGKILL."""

_GUARD = Path(__file__).with_name("host.py")


class Host:
    """One host of a job: an entry point and all that it starts, under a guard (`host.py`).

    Args:
        argv: the entry point. `python3` and `python` mean the interpreter that runs the account.
        env: the complete environment.
        cwd: where it starts.
        log: its standard output and error, appended.
    """

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
        command = [sys.executable if argv[0] in {"python", "python3"} else argv[0], *argv[1:]]
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                # -I -S: the guard must not be touched by the container's environment, and starts in 15 ms
                [sys.executable, "-I", "-S", str(_GUARD), *command],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        return self._guard.poll()

    def terminate(self) -> None:
        """SIGTERM to the entry point's process group."""
        self._command(b"T")

    def kill(self) -> None:
        """SIGKILL to everything that it started."""
        self._command(b"K")

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Exit status; None when it still runs after `timeout_s`. After the end nothing of the host is left."""
        try:
            status = self._guard.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        assert self._guard.stdin is not None
        with suppress(OSError):
            self._guard.stdin.close()
        return status

    def _command(self, byte: bytes) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError, ValueError):  # it has ended already
            self._guard.stdin.write(byte)
            self._guard.stdin.flush()
