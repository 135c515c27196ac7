"""ListTrainingJobs and ListProcessingJobs: filters, order, paging."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from .errors import validation
from .jobs import ProcessingJob, TrainingJob

__all__ = ["list_jobs"]

_DEFAULT_PAGE = 10


def list_jobs(jobs: Iterable[TrainingJob | ProcessingJob], request: Mapping[str, Any]) -> dict[str, Any]:
    """One page: `{"summaries": [...], "NextToken": ...}`. `request` has the filters that both operations share."""
    found = [job for job in jobs if _wanted(job, request)]
    key = {"Name": lambda job: job.name, "Status": lambda job: (job.status, job.created)}.get(
        request.get("SortBy", "CreationTime"), lambda job: job.created
    )
    # AWS lists ascending by default; the newest first is what its consoles ask for.
    found.sort(key=key, reverse=request.get("SortOrder", "Ascending") == "Descending")
    start = _position(request.get("NextToken"))
    end = start + request.get("MaxResults", _DEFAULT_PAGE)
    page: dict[str, Any] = {"summaries": [job.summary() for job in found[start:end]]}
    return page | ({"NextToken": str(end)} if end < len(found) else {})


def _wanted(job: TrainingJob | ProcessingJob, request: Mapping[str, Any]) -> bool:
    return (
        request.get("NameContains", "") in job.name
        and request.get("StatusEquals", job.status) == job.status
        and _within(job.created, request.get("CreationTimeAfter"), request.get("CreationTimeBefore"))
        and _within(job.modified, request.get("LastModifiedTimeAfter"), request.get("LastModifiedTimeBefore"))
    )


def _within(time_s: float, after: Any, before: Any) -> bool:
    return (after is None or time_s > _seconds(after)) and (before is None or time_s < _seconds(before))


def _seconds(value: datetime | float) -> float:
    return value.timestamp() if isinstance(value, datetime) else float(value)


def _position(token: str | None) -> int:
    if token is None:
        return 0
    if not token.isdigit():
        raise validation("Invalid NextToken")
    return int(token)
