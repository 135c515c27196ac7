"""Executions written to the account's folder, so that they are known in its next life."""

from __future__ import annotations

import json
import logging
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .files import write_atomically
from .states.executions import Executions
from .states.record import RUNNING

__all__ = ["ExecutionKeeper"]

log = logging.getLogger(__name__)


class ExecutionKeeper:
    """Writes each execution to a file of its own when it starts and ends, and from time to time while it runs.

    Args:
        folder: of the files.
        interval_s: the most that a crash costs of a running execution's history.
    """

    def __init__(self, executions: Executions, folder: Path, *, interval_s: float = 5.0) -> None:
        self._executions = executions
        self._folder = folder
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._to_write: set[str] = set()
        self._changed = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="execution keeper", daemon=True)

    def start(self) -> None:
        """Take up the executions of an earlier life; those that ran are aborted, which EventBridge hears of."""
        self._executions.on_status_change(self._note)
        kept = [json.loads(path.read_text()) for path in self._folder.glob("*/*.json")]
        kept.sort(key=lambda document: document["start_time"])
        definitions = {document["definition"]: document["definition"] for document in kept}
        for arn in self._executions.restore({"definitions": definitions, "executions": kept}):
            log.warning("%s was cut off when the account ended", arn)
        self._thread.start()

    def close(self) -> None:
        """Write a last time."""
        self._closing = True
        self._changed.set()
        self._thread.join()
        self._write()

    def _note(self, detail: dict[str, Any]) -> None:
        arn = detail["executionArn"]
        with self._lock:
            (self._running.add if detail["status"] == RUNNING else self._running.discard)(arn)
            self._to_write.add(arn)
        self._changed.set()

    def _run(self) -> None:
        while not self._closing:
            self._changed.wait(self._interval_s if self._running else None)
            self._changed.clear()
            self._write()

    def _write(self) -> None:
        with self._lock:
            arns, self._to_write = self._to_write | self._running, set()
        for arn in arns:
            record = self._executions.describe(arn)
            path = self._folder / record.machine_arn.rpartition(":")[2] / f"{quote(record.name, safe='')}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(record.to_json() | {"definition": record.definition}))
