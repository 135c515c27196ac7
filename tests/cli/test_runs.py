from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from infra.cli.runs import run_id, settled

OPEN: dict[str, Any] = {
    "number": 2, "verdict": "running", "instance_count": 2, "on_demand_usd_per_hour": 3.6, "start_step": 100,
    "training_s": 1, "billable_s": 1, "cost_usd": 0.001, "on_demand_cost_usd": 0.002, "closed": False,
}  # fmt: skip


def job(status: str, **fields: Any) -> dict[str, Any]:
    return {"TrainingJobStatus": status, "SecondaryStatus": status, **fields}


def test_a_stopped_job_is_settled_with_what_it_cost_in_the_end() -> None:
    ended = datetime(2026, 12, 1, tzinfo=UTC)
    over = job("Stopped", TrainingTimeInSeconds=100, BillableTimeInSeconds=35, TrainingEndTime=ended)
    made = settled(OPEN, over, {"attempt": 2, "start_step": 110, "saved_step": 250})
    assert (made["verdict"], made["closed"], made["ended"]) == ("stopped_by_user", True, ended.timestamp())
    assert (made["start_step"], made["end_step"]) == (110, 250)
    assert (made["billable_s"], made["training_s"]) == (35, 100)
    assert (made["cost_usd"], made["on_demand_cost_usd"]) == (pytest.approx(0.07), pytest.approx(0.2))


def test_a_job_that_failed_with_its_account_was_stopped_by_nobody() -> None:
    made = settled(OPEN, job("Failed", TrainingTimeInSeconds=10, BillableTimeInSeconds=0), {})
    assert (made["verdict"], made["billable_s"], made["end_step"]) == ("interrupted", 0, 100)


def test_a_job_that_goes_on_is_not_settled() -> None:
    assert settled(OPEN, job("Stopping"), {}) == {"status": "Stopping", "secondary": "Stopping"}


def test_runs_of_names_that_begin_alike_share_nothing() -> None:
    arn = "arn:aws:states:us-east-1:123456789012:execution:slipstream-flights:nightly-0"
    assert run_id(f"{arn}1") != run_id(f"{arn}2")
    assert len(run_id(arn)) == 8
