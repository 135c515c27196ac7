"""Containers' output in CloudWatch Logs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from moto.logs.exceptions import ResourceAlreadyExistsException
from moto.logs.models import LogsBackend, logs_backends

__all__ = ["CloudWatchLogs"]


class CloudWatchLogs:
    """A `LogSink` that writes into moto's Logs, where any client can read. Makes groups and streams as needed."""

    def __init__(self, *, account: str, region: str) -> None:
        self._backend: LogsBackend = logs_backends[account][region]
        self._known: set[tuple[str, str]] = set()

    def write(self, group: str, stream: str, lines: Sequence[str], time_s: float) -> None:
        if (group, stream) not in self._known:
            self._known.add((group, stream))
            with contextlib.suppress(ResourceAlreadyExistsException):
                self._backend.create_log_group(group, tags={})
            with contextlib.suppress(ResourceAlreadyExistsException):
                self._backend.create_log_stream(group, stream)
        timestamp = int(time_s * 1000)
        # CloudWatch refuses empty messages
        events = [{"timestamp": timestamp, "message": line or " "} for line in lines]
        self._backend.put_log_events(group, stream, events)
