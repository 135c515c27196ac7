"""Situations to decide on: a run of the toy job at the tables' time, changed in what a row is about."""

from __future__ import annotations

from typing import Any

from tests.workflow.evaluate import NOW, evaluate

THIS = "arn:aws:states:us-east-1:111122223333:execution:slipstream-toy:this"
BEFORE = "arn:aws:states:us-east-1:111122223333:execution:slipstream-toy:before"

HOUR = 3600.0

SPOT, OTHER_SPOT, ON_DEMAND = 0, 1, 2
"""The toy job's pools."""

POOLS = [
    {"instance": "ml.m5.2xlarge", "market": "spot", "usd_per_hour": 0.16, "on_demand_usd_per_hour": 0.46},
    {"instance": "ml.c5.2xlarge", "market": "spot", "usd_per_hour": 0.14, "on_demand_usd_per_hour": 0.41},
    {"instance": "ml.m5.2xlarge", "market": "on_demand", "usd_per_hour": 0.46, "on_demand_usd_per_hour": 0.46},
]

SETTINGS = {
    "job": "toy",
    "instance_count": 1,
    "pools": POOLS,
    "allowances": {
        "start_up_s": 360,
        "restore_s": 60,
        "margin_s": 300,
        "least_run_s": 10,
        "spot_wait_s": 1800,
        "prior_share": 0.75,
    },
}

LIMITS = {
    "max_runtime": 4 * HOUR,
    "max_cost_usd": 40,
    "attempts_without_progress": 3,
    "short_attempt_s": 120,
    "short_attempts": 10,
    "max_attempts": 200,
    "out_of_memory": 3,
    "backoff_s": 30,
    "backoff_cap_s": 900,
    "deadline_at": NOW + 9 * HOUR,
}


def attempt(verdict: str, **fields: Any) -> dict[str, Any]:
    """One attempt: open while running or waiting, else closed a moment ago without a step."""
    closed = verdict not in ("running", "waiting")
    refused = verdict in ("capacity", "quota", "throttled", "invalid")
    steps: dict[str, Any] = {"start_step": None if refused else 0, "end_step": None if refused or not closed else 0}
    return {
        "number": 1,
        "training_job": "toy-0a1b2c3d-01",
        "instance": "ml.m5.2xlarge",
        "instance_count": 1,
        "market": "spot",
        "pool": SPOT,
        "verdict": verdict,
        "reason": "",
        "status": {"running": "InProgress", "waiting": "InProgress", "completed": "Completed"}.get(verdict, "Failed"),
        "interruptions": 0,
        "billable_s": 0,
        "training_s": 0 if refused else 600,
        "cost_usd": 0.0,
        "jitter": 1.0,
        "created": NOW - 900,
        "since": NOW - 300,
        "ended": NOW if closed else None,
        "closed": closed,
        "execution": THIS,
        **steps,
        **fields,
        "gained": max(0, (fields.get("end_step") or 0) - (fields.get("start_step") or 0)),
    }


def attempts(*verdicts: str | dict[str, Any]) -> list[dict[str, Any]]:
    """Attempts in order, numbered."""
    made = [attempt(verdict) if isinstance(verdict, str) else verdict for verdict in verdicts]
    return [{**record, "number": number} for number, record in enumerate(made, 1)]


def decide(
    *records: str | dict[str, Any],
    progress: dict[str, Any] | None = None,
    limits: dict[str, Any] | None = None,
    request: dict[str, Any] | None = None,
    pools: list[dict[str, Any]] | None = None,
    started: float = NOW - 100,
) -> dict[str, Any]:
    """The decision in this situation: soon after the start of a run of nine hours, unless a row says otherwise."""
    decision: dict[str, Any] = evaluate(
        "decide",
        now=NOW,
        started=started,
        execution=THIS,
        attempts=attempts(*records),
        progress=progress or {},
        limits={**LIMITS, **(limits or {})},
        settings={**SETTINGS, "pools": pools or POOLS},
        request=request or {},
    )
    return decision
