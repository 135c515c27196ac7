"""Filters, order and paging of List operations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infra.offline.sagemaker import SageMakerError
from infra.offline.sagemaker.jobs import TrainingJob
from infra.offline.sagemaker.listing import list_jobs

from .requests import training_request


def jobs() -> list[TrainingJob]:
    made = []
    for number in range(25):
        job = TrainingJob(request=training_request(f"job-{number:02}"), arn=f"arn:{number}", created=float(number))
        ended = number % 2 == 0
        secondary, status = ("Completed", "Completed") if ended else ("Training", "InProgress")
        job.enter(secondary, "", float(number), status=status)
        made.append(job)
    return made


def names(**request: Any) -> list[str]:
    return [summary["TrainingJobName"] for summary in list_jobs(jobs(), {"MaxResults": 100} | request)["summaries"]]


def test_filters() -> None:
    assert names(NameContains="job-1", StatusEquals="InProgress") == ["job-11", "job-13", "job-15", "job-17", "job-19"]
    assert names(CreationTimeAfter=datetime.fromtimestamp(22, UTC)) == ["job-23", "job-24"]
    assert names(CreationTimeBefore=2) == ["job-00", "job-01"]


def test_order() -> None:
    assert names(SortOrder="Descending")[:2] == ["job-24", "job-23"]
    assert names(SortBy="Name")[:2] == ["job-00", "job-01"]
    assert names(SortBy="Status")[0] == "job-00"


def test_pages_cover_everything_once() -> None:
    seen: list[str] = []
    request: dict[str, Any] = {}
    while True:
        page = list_jobs(jobs(), request)
        seen += [summary["TrainingJobName"] for summary in page["summaries"]]
        if "NextToken" not in page:
            break
        request = {"NextToken": page["NextToken"]}
    assert seen == names()
    with pytest.raises(SageMakerError, match="Invalid NextToken"):
        list_jobs(jobs(), {"NextToken": "x"})
