from __future__ import annotations

from typing import Any

from rich.console import Console

from infra.cli.watch import Events, summary_table


def attempt(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "number": number, "training_job": f"flights-0123abcd-{number:02d}", "instance": "ml.m5.2xlarge",
        "instance_count": 1, "market": "spot", "verdict": "waiting", "secondary": "Starting", "interruptions": 0,
        "billable_s": 0, "start_step": 0, "end_step": None, "closed": False, "reason": None,
    } | fields  # fmt: skip


def summary(*attempts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "job": "flights", "run": "0123abcd", "status": "RUNNING", "attempts": list(attempts), "decisions": [],
        "metrics": {}, "steps_redone": 0, "ledger": "s3://b/k", "cost_usd": 0.1,
        "on_demand_cost_usd": 0.4, "saving": 0.75,
    } | fields  # fmt: skip


def test_each_change_is_told_once() -> None:
    events = Events()
    told = [list(events.update(look)) for look in (
        summary(attempt()),
        summary(attempt()),
        summary(attempt(verdict="running", secondary="Training")),
        summary(attempt(verdict="running", secondary="Training", interruptions=1)),
        summary(attempt(verdict="capacity", closed=True, interruptions=1, reason="CapacityError: none\nmore")),
    )]  # fmt: skip
    assert told == [
        ["attempt 1  flights-0123abcd-01: spot ml.m5.2xlarge", "attempt 1  Starting"],
        [],
        ["attempt 1  Training"],
        ["attempt 1  interrupted by a Spot reclaim (1x)"],
        ["attempt 1  capacity: CapacityError: none"],
    ]


def test_a_decision_is_told_when_its_reason_changes() -> None:
    events = Events()
    wait = {"do": "wait", "reason": "learning"}
    looks = [
        summary(decisions=[wait]),
        summary(decisions=[wait, wait]),
        summary(decisions=[{"do": "finish", "reason": "done"}]),
    ]
    assert [list(events.update(look)) for look in looks] == [
        ["decision  wait: learning"],
        [],
        ["decision  finish: done"],
    ]


def test_the_table_at_the_end_has_every_attempt_and_no_markup_of_the_users() -> None:
    console = Console(width=160, record=True, file=open("/dev/null", "w"), color_system=None)  # noqa: SIM115
    console.print(
        summary_table(
            summary(
                attempt(1, verdict="capacity", closed=True),
                attempt(2, verdict="completed", instance_count=2, end_step=680, billable_s=70.0, closed=True),
                status="FAILED", error="QualityGateMissed", cause="[bold]validation:auc[/bold] 0.6 < 0.66",
                metrics={"validation:auc": 0.6},
            )
        )
    )  # fmt: skip
    text = console.export_text()
    assert "ml.m5.2xlarge x2" in text
    assert "0-680" in text
    assert "1m10s" in text
    assert "saving 75%" in text
    assert "[bold]validation:auc[/bold]" in text, "shown as it is, not interpreted"
