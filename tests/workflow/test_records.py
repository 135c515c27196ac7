"""The small expressions: names, limits, judgement, the ledger and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflow.evaluate import NOW, evaluate
from tests.workflow.situations import HOUR, SETTINGS, THIS, attempt, attempts

PRICES = {"usd_per_hour": 0.16, "on_demand_usd_per_hour": 0.46}


# -- the run's name ----------------------------------------------------------------------------------------------------


def run_name(arn: str, **given: str) -> str:
    return str(evaluate("run", states={"input": given, "context": {"Execution": {"Id": arn}}}))


def test_runs_of_executions_with_like_names_are_unlike() -> None:
    names = {run_name(f"arn:aws:states:us-east-1:1:execution:slipstream-toy:nightly-0{n}") for n in (1, 2)}
    assert len(names) == 2
    assert all(len(name) == 8 and int(name, 16) >= 0 for name in names)


def test_a_run_may_be_named_by_the_input() -> None:
    assert run_name(THIS, run="0a1b2c3d") == "0a1b2c3d"
    assert run_name(THIS, resume="0a1b2c3d") == "0a1b2c3d"


# -- limits ------------------------------------------------------------------------------------------------------------


def limits(job: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    known = {"limits": {"max_runtime": 4 * HOUR, **job}, "retries": {"short_attempt_s": 120}}
    return dict(evaluate("limits", settings=known, request=request, started=NOW))


@pytest.mark.parametrize(
    ("job", "request_", "deadline_at"),
    [
        ({}, {}, None),
        ({"deadline": HOUR}, {}, NOW + HOUR),
        ({"deadline_at": NOW + 5}, {}, NOW + 5),
        ({"deadline": HOUR}, {"limits": {"deadline": 60}}, NOW + 60),
        ({"deadline_at": NOW + 5}, {"limits": {"deadline": 60}}, NOW + 60),
        ({"deadline": HOUR}, {"deadline_at": "2027-01-15T09:00:00+01:00"}, NOW),
        ({"deadline": HOUR}, {"deadline_at": "2027-01-15T08:00:00Z", "limits": {"deadline": 60}}, NOW),
        ({"deadline": HOUR}, {"deadline_at": None, "limits": None}, NOW + HOUR),
    ],
)
def test_deadline(job: dict[str, Any], request_: dict[str, Any], deadline_at: float | None) -> None:
    assert limits(job, request_)["deadline_at"] == deadline_at


def test_limits_are_replaced_key_by_key() -> None:
    merged = limits({"max_cost_usd": 40}, {"limits": {"max_cost_usd": 5}, "short_attempt_s": 0})
    assert (merged["max_runtime"], merged["max_cost_usd"], merged["short_attempt_s"]) == (4 * HOUR, 5, 0)


# -- judge -------------------------------------------------------------------------------------------------------------


def judge(
    seen: dict[str, Any], *records: str | dict[str, Any], progress: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    priced = [{**record, **PRICES} for record in attempts(*records)]
    judged: list[dict[str, Any]] = evaluate("judge", attempts=priced, seen=seen, progress=progress or {})
    return judged


def test_nothing_open_nothing_judged() -> None:
    assert judge({}) == []
    assert judge({"verdict": "code"}, "interrupted")[0]["verdict"] == "interrupted"


def test_an_open_attempt_takes_what_was_seen_and_stays_open() -> None:
    seen = {"verdict": "running", "status": "InProgress", "billable_s": 900, "training_s": 1800, "interruptions": 1}
    first, last = judge(seen, "interrupted", "waiting")
    assert (first["verdict"], last["verdict"]) == ("interrupted", "running")
    assert (last["closed"], last["end_step"]) == (False, None)
    # Both at the on-demand price: the seconds that are billed hold the Spot discount already.
    assert (last["cost_usd"], last["on_demand_cost_usd"]) == (0.115, 0.23)


@pytest.mark.parametrize(
    ("exit_code", "end"),
    [("75", 280), (None, 280), ("137", 250)],  # killed without a warning: only what was seen in S3 counts
)
def test_an_attempt_closes_with_the_step_it_saved(exit_code: str | None, end: int) -> None:
    seen = {"verdict": "interrupted", "status": "Failed", "training_s": 900, "ended": NOW - 7, "exit": exit_code}
    said = {"attempt": 1, "start_step": 120, "step": 250, "saved_step": 280, "live_step": 290, "done": False}
    (closed,) = judge(seen, attempt("running", start_step=100), progress=said)
    assert (closed["closed"], closed["ended"]) == (True, NOW - 7)
    assert (closed["start_step"], closed["end_step"], closed["gained"]) == (120, end, end)


def test_a_container_that_never_spoke_gained_nothing() -> None:
    """What progress.json says is of the attempt before."""
    seen = {"verdict": "interrupted", "status": "Failed", "exit": "75"}
    said = {"attempt": 1, "start_step": 0, "step": 250, "saved_step": 250, "done": False}
    _, closed = judge(seen, attempt("interrupted", end_step=250), attempt("running", start_step=250), progress=said)
    assert (closed["start_step"], closed["end_step"], closed["gained"]) == (250, 250, 0)


def test_ground_that_was_covered_before_is_not_gained_again() -> None:
    """A checkpoint that never reached S3: the next attempt starts further back and gets no further."""
    seen = {"verdict": "interrupted", "status": "Failed", "exit": "75"}
    said = {"attempt": 2, "start_step": 100, "step": 100, "saved_step": 240, "done": False}
    _, closed = judge(seen, attempt("interrupted", end_step=250), attempt("running", start_step=250), progress=said)
    assert (closed["start_step"], closed["end_step"], closed["gained"]) == (100, 240, 0)


def test_a_finished_attempt_ends_at_its_last_step() -> None:
    seen = {"verdict": "completed", "status": "Completed"}
    said = {"attempt": 1, "start_step": 0, "step": 250, "saved_step": 250, "live_step": 400, "done": True}
    (closed,) = judge(seen, "running", progress=said)
    assert (closed["end_step"], closed["gained"]) == (400, 400)


def test_completed_with_work_left_is_an_interruption() -> None:
    seen = {"verdict": "completed", "status": "Completed", "reason": "Completed"}
    (closed,) = judge(seen, "running", progress={"step": 250, "total_steps": 1000, "done": False})
    assert (closed["verdict"], closed["interruptions"]) == ("interrupted", 1)
    assert closed["reason"] == "Completed at step 250 of 1000"


def test_a_script_that_reports_no_progress_is_believed() -> None:
    assert judge({"verdict": "completed", "status": "Completed"}, "running")[0]["verdict"] == "completed"


@pytest.mark.parametrize(
    "seen",
    [
        {"verdict": "quota", "status": "Refused", "reason": "limit is 0"},
        {"verdict": "capacity", "status": "Failed", "billable_s": 0, "training_s": 0},
    ],
)
def test_what_never_ran_has_no_steps_and_no_cost(seen: dict[str, Any]) -> None:
    (closed,) = judge(seen, attempt("waiting", training_s=0), progress={"step": 250})
    assert (closed["start_step"], closed["end_step"], closed["cost_usd"]) == (None, None, 0)
    assert (closed["closed"], closed["ended"]) == (True, NOW)


def test_what_could_not_be_seen_stands() -> None:
    (record,) = judge({"verdict": "running"}, attempt("running", billable_s=60, secondary="Training"))
    assert (record["closed"], record["billable_s"], record["secondary"]) == (False, 60, "Training")


# -- describe failed ---------------------------------------------------------------------------------------------------


def unseen(error: str, cause: str, **record: Any) -> dict[str, Any]:
    states = {"errorOutput": {"Error": error, "Cause": cause}}
    return dict(evaluate("job_unseen", states=states, attempts=[attempt("waiting", **record)]))


NOT_FOUND = ("SageMaker.SageMakerException", "Requested resource not found. (Service: SageMaker, Status Code: 400)")


def test_unreachable_is_not_failed() -> None:
    assert unseen("States.Timeout", "", created=NOW - HOUR) == {"verdict": "waiting"}


@pytest.mark.parametrize("age_s", [5, 150])  # a Create whose answer was lost took 120 s
def test_a_job_that_is_not_listed_yet_is_waited_for(age_s: float) -> None:
    assert unseen(*NOT_FOUND, created=NOW - age_s) == {"verdict": "waiting"}


@pytest.mark.parametrize("error", [NOT_FOUND, ("SageMaker.ResourceNotFoundException", "")])
def test_a_job_that_stays_absent_was_never_made(error: tuple[str, str]) -> None:
    assert unseen(*error, created=NOW - 400)["verdict"] == "service"


# -- plan --------------------------------------------------------------------------------------------------------------


def plan(decision: dict[str, Any], *records: str, progress: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    planned: list[dict[str, Any]] = evaluate(
        "plan",
        decision=decision,
        attempts=attempts(*records),
        progress=progress or {},
        settings=SETTINGS,
        run="0a1b2c3d",
        execution=THIS,
    )
    return planned


CREATE = {
    "do": "create",
    "reason": "Spot while slack lasts",
    "pool": 1,
    "micro_batch_divisor": 1,
    "max_runtime_s": 60,
    "max_wait_s": 90,
    "at": NOW,
}


def test_a_new_attempt_is_written_down_before_it_is_made() -> None:
    (record,) = plan(CREATE)
    assert (record["number"], record["training_job"], record["fence"]) == (1, "toy-0a1b2c3d-01", 1)
    assert (record["instance"], record["market"], record["pool"]) == ("ml.c5.2xlarge", "spot", 1)
    assert (record["closed"], record["verdict"], record["start_step"]) == (False, "waiting", 0)
    assert 0 <= record["jitter"] <= 1


def test_numbers_count_on_and_steps_start_where_the_checkpoint_is() -> None:
    record = plan(CREATE, *["interrupted"] * 99, progress={"step": 250})[-1]
    assert (record["number"], record["training_job"], record["start_step"]) == (100, "toy-0a1b2c3d-100", 250)


def test_a_stop_is_marked_as_ours() -> None:
    stop = {"do": "stop", "reason": "no slack left to wait for Spot", "verdict": "capacity", "job": "x"}
    first, last = plan(stop, "interrupted", "waiting")
    assert "stopping" not in first
    assert last["stopping"] == {"reason": "no slack left to wait for Spot", "verdict": "capacity"}


def test_waiting_changes_nothing() -> None:
    assert plan({"do": "wait", "reason": "learning"}, "running") == attempts("running")


# -- ledger, gate, summary ---------------------------------------------------------------------------------------------


def test_decisions_are_remembered_up_to_fifty() -> None:
    remembered = evaluate("remember", decisions=[], decision={"do": "wait", "reason": "a", "wait_s": 3})
    assert remembered == [{"do": "wait", "reason": "a"}]
    many = [{"do": "wait", "reason": str(n)} for n in range(50)]
    remembered = evaluate("remember", decisions=many, decision={"do": "wait", "reason": "new"})
    assert (len(remembered), remembered[0]["reason"], remembered[-1]["reason"]) == (50, "1", "new")


def ledger(*records: dict[str, Any], progress: dict[str, Any] | None = None, **outcome: Any) -> dict[str, Any]:
    return dict(
        evaluate(
            "ledger",
            settings={**SETTINGS, "buckets": {"data": "data-bucket", "artifacts": "artifacts-bucket"}},
            run="0a1b2c3d",
            execution=THIS,
            started=NOW - 60,
            limits={"deadline_at": NOW + HOUR},
            data_version="v1",
            prepared="toy/prepared/00ff/",
            attempts=attempts(*records),
            decisions=[],
            progress=progress or {},
            outcome={"status": "RUNNING", **outcome},
        )
    )


def test_an_empty_ledger_has_every_key() -> None:
    document = ledger()
    assert document["attempts"] == []
    assert (document["cost_usd"], document["on_demand_cost_usd"], document["saving"]) == (0, 0, None)
    assert (document["metrics"], document["weights_digest"], document["model"], document["error"]) == (
        {},
        None,
        None,
        None,
    )


def test_the_ledger_adds_up() -> None:
    cheap = attempt("interrupted", cost_usd=0.25, on_demand_cost_usd=1.0)
    done = attempt("completed", cost_usd=0.5, on_demand_cost_usd=2.0, model="s3://artifacts-bucket/m.tar.gz")
    document = ledger(cheap, done, progress={"metrics": {"test:auc": 0.7}, "weights_digest": "d1", "steps_redone": 4})
    assert (document["cost_usd"], document["on_demand_cost_usd"], document["saving"]) == (0.75, 3.0, 0.75)
    assert (document["metrics"], document["weights_digest"], document["steps_redone"]) == ({"test:auc": 0.7}, "d1", 4)
    assert document["model"] == "s3://artifacts-bucket/m.tar.gz"


@pytest.mark.parametrize(
    ("gate", "metrics", "status"),
    [
        ({}, {}, "SUCCEEDED"),
        ({"metric": "validation:auc", "at_least": 0.66}, {"validation:auc": 0.66}, "SUCCEEDED"),
        ({"metric": "validation:auc", "at_least": 0.66}, {"validation:auc": 0.65}, "FAILED"),
        ({"metric": "validation:auc", "at_least": 0}, {"validation:auc": 0.65}, "SUCCEEDED"),
        ({"metric": "validation:auc", "at_least": 0.66}, {"validation:auc": None}, "FAILED"),
        ({"metric": "validation:auc", "at_least": 0.66}, {}, "FAILED"),
        ({"metric": "validation:loss", "at_most": 0.5}, {"validation:loss": 0.4}, "SUCCEEDED"),
        ({"metric": "validation:loss", "at_most": 0.5}, {"validation:loss": 0.6}, "FAILED"),
    ],
)
def test_gate(gate: dict[str, Any], metrics: dict[str, Any], status: str) -> None:
    outcome = evaluate("gate", settings={"gate": gate}, progress={"metrics": metrics})
    assert outcome["status"] == status
    assert outcome.get("error") == (None if status == "SUCCEEDED" else "QualityGateMissed")


def test_a_gate_that_was_missed_says_by_how_much() -> None:
    gate = {"metric": "validation:auc", "at_least": 0.66}
    outcome = evaluate("gate", settings={"gate": gate}, progress={"metrics": {"validation:auc": 0.6}})
    assert outcome["cause"] == "validation:auc is 0.6; the gate asks for at least 0.66"


def test_refusals_carry_the_words_of_what_failed() -> None:
    failed = [attempt("code", reason="KeyError: 'late'")]
    outcome = evaluate("refusal", decision={"error": "CodeError", "reason": "the script failed"}, attempts=failed)
    assert outcome == {"status": "FAILED", "error": "CodeError", "cause": "the script failed: KeyError: 'late'"}
    outcome = evaluate("refusal", decision={"error": "Stopped", "reason": "somebody stopped the job"}, attempts=failed)
    assert outcome == {"status": "STOPPED", "error": "Stopped", "cause": "somebody stopped the job"}


def test_the_summary_fits_a_cause() -> None:
    import json

    records = [attempt("capacity", reason="x" * 300, model="s3://" + "m" * 100) for _ in range(200)]
    known = {"buckets": {"artifacts": "artifacts-bucket"}}
    summary = evaluate("summary", ledger=ledger(*records), settings=known, prefix="toy/0a1b2c3d/")
    assert [record["number"] for record in summary["attempts"]] == list(range(181, 201))
    assert summary["ledger"] == "s3://artifacts-bucket/toy/0a1b2c3d/ledger.json"
    assert len(json.dumps(summary)) < 32_768


def test_a_ledger_of_as_many_attempts_as_are_allowed_fits_a_payload() -> None:
    import json

    from infra.workflow.settings import RETRIES

    longest = {"reason": "x" * 300, "ended": NOW + 0.123, "execution": THIS + "x" * 80}
    longest |= {
        "training_job": "x" * 33,
        "stopping": {"reason": "waited long enough for capacity here", "verdict": "capacity"},
    }
    assert len(json.dumps([plan(CREATE)[0] | longest] * RETRIES["max_attempts"])) < 240_000


@pytest.mark.parametrize("model", [None, "s3://artifacts-bucket/m.tar.gz"])
def test_people_are_told_how_it_ended(model: str | None) -> None:
    document = ledger(
        attempt("completed", cost_usd=0.5, on_demand_cost_usd=2.0), progress={"metrics": {"test:auc": 0.7}}
    )
    document |= {"status": "SUCCEEDED", "model": model}
    known = {"buckets": {"artifacts": "artifacts-bucket"}}
    lines = evaluate("message", ledger=document, settings=known, prefix="toy/0a1b2c3d/").splitlines()
    assert lines[0] == "toy 0a1b2c3d: SUCCEEDED"
    assert "test:auc 0.7" in lines
    assert "attempts: 1, cost: $0.50 (on demand $2.00)" in lines
    assert (f"model: {model}" in lines) is (model is not None)
