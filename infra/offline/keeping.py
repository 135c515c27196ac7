"""Executions written to the account's folder, so that they are known in its next life."""

from __future__ import annotations

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

from .states.executions import Executions
from .states.record import RUNNING

__all__ = ["ExecutionKeeper"]

log = logging.getLogger(__name__)


class ExecutionKeeper:
    """Writes all executions down when one starts or ends, and from time to time while one runs.

    Args:
        record: the file.
        interval_s: most that a crash costs of a running execution's history.
    """

    def __init__(self, executions: Executions, record: Path, *, interval_s: float = 5.0) -> None:
        self._executions = executions
        self._record = record
        self._interval_s = interval_s
        self._running: set[str] = set()
        self._changed = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="execution keeper", daemon=True)

    def start(self) -> None:
        """Take up the executions of an earlier life; those that ran are aborted, which EventBridge hears of."""
        self._executions.on_status_change(self._note)
        if self._record.exists():
            for arn in self._executions.restore(json.loads(self._record.read_text())):
                log.warning("%s was cut off when the account ended", arn)
        self._thread.start()

    def close(self) -> None:
        """Write a last time."""
        self._closing = True
        self._changed.set()
        self._thread.join()
        self._write()

    def _note(self, detail: dict[str, Any]) -> None:
        keep = self._running.add if detail["status"] == RUNNING else self._running.discard
        keep(detail["executionArn"])
        self._changed.set()

    def _run(self) -> None:
        while not self._closing:
            self._changed.wait(self._interval_s if self._running else None)
            self._changed.clear()
            self._write()

    def _write(self) -> None:
        temporary = self._record.with_suffix(".tmp")
        temporary.write_text(json.dumps(self._executions.snapshot()))
        os.replace(temporary, self._record)
