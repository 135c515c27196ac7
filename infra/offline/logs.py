"""Containers' output in CloudWatch Logs, and in files for the account's next life."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from moto.logs.exceptions import ResourceAlreadyExistsException
from moto.logs.models import logs_backends

__all__ = ["CloudWatchLogs", "restore_logs"]

log = logging.getLogger(__name__)

_MAX_EVENTS = 1000
"""Per PutLogEvents; CloudWatch allows 10,000 in 1 MB."""
_MAX_STREAMS = 200
"""Streams that a new life takes up, the newest: moto keeps all events in memory."""

Event = dict[str, Any]


class CloudWatchLogs:
    """A `LogSink`.

    Args:
        client: makes the boto3 client at first use.
        folder: has a file per stream.
    """

    def __init__(self, client: Callable[[], Any], folder: Path) -> None:
        self._client = client
        self._folder = folder
        self._known: set[tuple[str, str]] = set()

    def write(self, group: str, stream: str, lines: Sequence[str], time_s: float) -> None:
        """Add lines to a stream, which is made where it is missing. Logs that fail must not fail the job."""
        # CloudWatch refuses empty messages
        events = [{"timestamp": int(time_s * 1000), "message": line or " "} for line in lines]
        path = self._folder / quote(group, safe="") / quote(stream, safe="")
        try:
            if (group, stream) not in self._known:
                self._make(group, stream)
                path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(event) + "\n" for event in events)
            for start in range(0, len(events), _MAX_EVENTS):
                chunk = events[start : start + _MAX_EVENTS]
                self._client().put_log_events(logGroupName=group, logStreamName=stream, logEvents=chunk)
        except Exception:
            log.exception("cannot write to %s %s", group, stream)

    def _make(self, group: str, stream: str) -> None:
        client = self._client()
        with contextlib.suppress(client.exceptions.ResourceAlreadyExistsException):
            client.create_log_group(logGroupName=group)
        with contextlib.suppress(client.exceptions.ResourceAlreadyExistsException):
            client.create_log_stream(logGroupName=group, logStreamName=stream)
        self._known.add((group, stream))


def restore_logs(folder: Path, *, account: str, region: str) -> None:
    """Give moto the newest streams of earlier lives."""
    backend = logs_backends[account][region]
    files = sorted(folder.glob("*/*"), key=lambda path: path.stat().st_mtime)
    for path in files[-_MAX_STREAMS:]:
        group, stream = unquote(path.parent.name), unquote(path.name)
        with contextlib.suppress(ResourceAlreadyExistsException):
            backend.create_log_group(group, tags={})
        with contextlib.suppress(ResourceAlreadyExistsException):
            backend.create_log_stream(group, stream)
        backend.put_log_events(group, stream, list(_events(path)))


def _events(path: Path) -> Iterator[Event]:
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):  # the last line, unfinished by a crash
            yield json.loads(line)
