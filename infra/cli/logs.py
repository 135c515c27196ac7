"""The container's output, read from CloudWatch Logs: the same offline and on AWS."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from infra.cli.runs import Run, read_json
from infra.cli.target import Target

__all__ = ["LogLine", "follow_logs", "read_logs"]

LOG_GROUP = "/aws/sagemaker/TrainingJobs"


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """One line of one host of one training job."""

    stream: str
    time_s: float
    message: str


def read_logs(target: Target, run: Run, positions: dict[str, str] | None = None) -> list[LogLine]:
    """Lines of all the run's jobs since `positions` (stream -> next token, updated in place), in order of time."""
    positions = {} if positions is None else positions
    lines: list[LogLine] = []
    for job in _training_jobs(target, run):
        for stream in _streams(target, job):
            lines += _new_lines(target, stream, positions)
    return sorted(lines, key=lambda line: line.time_s)


def follow_logs(target: Target, run: Run, *, interval_s: float) -> Iterator[LogLine]:
    """Lines as they come, until the run is over."""
    positions: dict[str, str] = {}
    while True:
        status = target.client("stepfunctions").describe_execution(executionArn=run.execution)["status"]
        yield from read_logs(target, run, positions)
        if status != "RUNNING":
            return
        time.sleep(interval_s)


def _training_jobs(target: Target, run: Run) -> list[str]:
    ledger = read_json(target, f"{run.prefix}ledger.json") or {}
    return [attempt["training_job"] for attempt in ledger.get("attempts", [])]


def _streams(target: Target, job: str) -> list[str]:
    client = target.client("logs")
    try:
        pages = client.get_paginator("describe_log_streams").paginate(
            logGroupName=LOG_GROUP, logStreamNamePrefix=f"{job}/"
        )
        return [stream["logStreamName"] for page in pages for stream in page["logStreams"]]
    except client.exceptions.ResourceNotFoundException:  # no job has written a line yet
        return []


def _new_lines(target: Target, stream: str, positions: dict[str, str]) -> list[LogLine]:
    client = target.client("logs")
    lines: list[LogLine] = []
    while True:
        arguments: dict[str, Any] = {"logGroupName": LOG_GROUP, "logStreamName": stream, "startFromHead": True}
        if stream in positions:
            arguments["nextToken"] = positions[stream]
        page = client.get_log_events(**arguments)
        lines += [
            LogLine(stream=stream, time_s=event["timestamp"] / 1000, message=event["message"])
            for event in page["events"]
        ]
        # The same token again is how CloudWatch says "the end".
        if page["nextForwardToken"] == positions.get(stream):
            return lines
        positions[stream] = page["nextForwardToken"]
