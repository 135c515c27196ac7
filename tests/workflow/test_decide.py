"""The policy as a table of situations: what is decided, and that its reason is said."""

from __future__ import annotations

from typing import Any

import pytest

from tests.workflow.evaluate import NOW
from tests.workflow.situations import BEFORE, HOUR, ON_DEMAND, OTHER_SPOT, POOLS, SPOT, attempt, decide

LATE = {"deadline_at": NOW + 2 * HOUR}  # three hours of work are left: no slack
HALF_WAY = {"step": 500, "total_steps": 1000, "steps_per_s": 500 / HOUR}


# -- the ends ----------------------------------------------------------------------------------------------------------


def test_completed_finishes() -> None:
    assert decide("completed")["do"] == "finish"


def test_completed_finishes_even_past_deadline_and_budget() -> None:
    assert decide("completed", limits={"deadline_at": NOW - 1, "max_cost_usd": 0.001})["do"] == "finish"


@pytest.mark.parametrize(
    ("verdict", "error"),
    [("code", "CodeError"), ("invalid", "Invalid"), ("diverged", "Diverged"), ("stopped_by_user", "Stopped")],
)
def test_what_trying_again_cannot_help_is_refused_at_once(verdict: str, error: str) -> None:
    decision = decide(verdict)
    assert (decision["do"], decision["error"]) == ("refuse", error)


def test_past_the_deadline() -> None:
    past = {"deadline_at": NOW}
    assert decide("interrupted", limits=past)["error"] == "DeadlineExceeded"
    assert decide(limits=past)["error"] == "DeadlineExceeded"


def test_budget_used_up() -> None:
    assert decide(attempt("interrupted", cost_usd=40.0))["error"] == "BudgetExceeded"


@pytest.mark.parametrize("records", [("running",), ("waiting",)])
def test_a_job_past_the_deadline_is_stopped_before_the_run_is_refused(records: tuple[str, ...]) -> None:
    decision = decide(*records, limits={"deadline_at": NOW})
    assert (decision["do"], decision["verdict"], decision["job"]) == ("stop", "timeout", "toy-0a1b2c3d-01")


def test_a_budget_that_buys_no_time_is_used_up() -> None:
    """Without this a job of one second after the other would be created, and the run end for want of progress."""
    decision = decide(attempt("interrupted", cost_usd=39.9999))
    assert (decision["do"], decision["error"]) == ("refuse", "BudgetExceeded")
    assert decide(attempt("interrupted", cost_usd=39.99))["do"] == "create"


def test_a_job_over_budget_is_stopped() -> None:
    assert decide(attempt("running", cost_usd=40.0))["do"] == "stop"


def test_a_stop_that_was_not_heard_is_sent_again_and_one_that_was_is_waited_for() -> None:
    stopping = {"reason": "no slack left to wait for Spot", "verdict": "capacity"}
    again = decide(attempt("running", stopping=stopping))
    assert (again["do"], again["reason"]) == ("stop", "no slack left to wait for Spot")
    assert decide(attempt("running", stopping=stopping, status="Stopping"))["do"] == "wait"


# -- progress, and the lack of it --------------------------------------------------------------------------------------


def test_attempts_without_progress_end_the_run() -> None:
    assert decide("interrupted", "interrupted")["do"] == "create"
    assert decide("interrupted", "timeout", "interrupted")["error"] == "NoProgress"


def test_progress_forgives_what_came_before() -> None:
    learned = attempt("interrupted", start_step=0, end_step=100)
    assert decide("interrupted", "interrupted", learned, "interrupted")["do"] == "create"


@pytest.mark.parametrize("verdict", ["capacity", "quota", "throttled"])
def test_refusals_use_up_no_attempt(verdict: str) -> None:
    refusals = [attempt(verdict, ended=NOW - HOUR)] * 20
    assert decide(*refusals)["do"] == "create"
    assert decide("interrupted", "interrupted", *refusals)["do"] == "create"


def test_refusals_neither_forgive_nor_count() -> None:
    assert decide("interrupted", "capacity", "interrupted", "quota", "interrupted")["error"] == "NoProgress"


def test_short_attempts_have_a_cap_of_their_own() -> None:
    crash = attempt("service", training_s=5, ended=NOW - HOUR)
    assert decide(*[crash] * 9)["do"] == "create"
    decision = decide(*[crash] * 10)
    assert decision["error"] == "NoProgress"
    assert "10 short attempts" in decision["reason"]


def test_short_is_what_the_execution_says_it_is() -> None:
    crash = attempt("service", training_s=5, ended=NOW - HOUR)
    assert decide(*[crash] * 12, limits={"short_attempt_s": 0})["do"] == "create"


def test_attempts_of_any_kind_are_capped() -> None:
    assert decide(*[attempt("capacity", ended=NOW - HOUR)] * 5, limits={"max_attempts": 5})["error"] == "NoProgress"


def test_a_resumed_run_has_new_chances_but_its_costs_stay() -> None:
    before = attempt("interrupted", execution=BEFORE, cost_usd=15.0)
    assert decide(before, before)["do"] == "create"
    assert decide(attempt("code", execution=BEFORE))["do"] == "create"
    assert decide(before, before, before)["error"] == "BudgetExceeded"


def test_a_run_that_had_completed_finishes_when_it_is_resumed() -> None:
    assert decide(attempt("completed", execution=BEFORE))["do"] == "finish"


# -- markets -----------------------------------------------------------------------------------------------------------


def test_spot_while_slack_lasts() -> None:
    decision = decide()
    assert (decision["do"], decision["pool"], decision["market"]) == ("create", SPOT, "spot")


def test_on_demand_when_there_is_no_slack() -> None:
    decision = decide(limits=LATE)
    assert (decision["do"], decision["pool"], decision["market"]) == ("create", ON_DEMAND, "on_demand")
    assert decision["reason"] == "only on-demand can still make the deadline"


def test_without_on_demand_in_the_ladder_spot_is_all_there_is() -> None:
    assert decide(limits=LATE, pools=POOLS[:2])["pool"] == SPOT


def test_without_a_deadline_there_is_always_slack() -> None:
    decision = decide(limits={"deadline_at": None})
    assert (decision["pool"], "slack_s" in decision) == (SPOT, False)


@pytest.mark.parametrize(
    ("progress", "left_s"),
    [
        ({}, 3 * HOUR),  # unmeasured: three quarters of max_runtime
        ({"step": 0, "total_steps": 1000, "steps_per_s": None}, 3 * HOUR),
        ({"step": 0, "total_steps": 1000, "steps_per_s": 0}, 3 * HOUR),
        (HALF_WAY, HOUR),
        ({**HALF_WAY, "step": 1000}, 0),
    ],
)
def test_work_left_is_measured_or_taken_from_max_runtime(progress: dict[str, Any], left_s: float) -> None:
    assert decide("running", progress=progress)["left_s"] == left_s


def test_slack_is_what_remains_after_work_start_restore_margin_and_one_look() -> None:
    decision = decide(progress=HALF_WAY, request={"look_s": 10})
    assert decision["slack_s"] == 9 * HOUR - HOUR - 360 - 60 - 300 - 10


def test_a_job_that_learns_is_left_alone_even_without_slack() -> None:
    assert decide("running", limits=LATE)["do"] == "wait"


def test_waiting_for_spot_ends_with_the_slack() -> None:
    decision = decide("waiting", limits=LATE)
    assert (decision["do"], decision["reason"]) == ("stop", "no slack left to wait for Spot")


def test_an_on_demand_request_is_waited_for_without_slack() -> None:
    assert decide(attempt("waiting", market="on_demand", pool=ON_DEMAND), limits=LATE)["do"] == "wait"


def test_waiting_for_spot_is_bounded_even_with_slack() -> None:
    assert decide(attempt("waiting", since=NOW - 1799))["do"] == "wait"
    assert decide(attempt("waiting", since=NOW - 1800))["do"] == "stop"


def test_the_only_pool_is_waited_for_without_bound() -> None:
    assert decide(attempt("waiting", since=NOW - 9000), pools=POOLS[:1])["do"] == "wait"


# -- the ladder --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["capacity", "quota"])
def test_refusals_move_down(verdict: str) -> None:
    assert decide(verdict)["pool"] == OTHER_SPOT
    assert decide(verdict, attempt(verdict, pool=OTHER_SPOT))["pool"] == ON_DEMAND


@pytest.mark.parametrize("verdict", ["interrupted", "timeout", "out_of_memory"])
def test_what_ran_runs_there_again(verdict: str) -> None:
    assert decide(attempt(verdict, pool=OTHER_SPOT))["pool"] == OTHER_SPOT


def test_after_the_last_pool_comes_the_first_but_not_at_once() -> None:
    round_ = ["capacity", attempt("capacity", pool=OTHER_SPOT), attempt("capacity", pool=ON_DEMAND)]
    pause = decide(*round_)
    assert (pause["do"], pause["reason"]) == ("wait", "every pool refused; pausing")
    rested = [*round_[:2], attempt("capacity", pool=ON_DEMAND, ended=NOW - 30)]
    assert (decide(*rested)["do"], decide(*rested)["pool"]) == ("create", SPOT)


def test_within_a_round_there_is_no_pause() -> None:
    round_ = [attempt("capacity", pool=pool) for pool in (SPOT, OTHER_SPOT, ON_DEMAND)]
    assert decide(*round_, attempt("capacity", pool=SPOT))["pool"] == OTHER_SPOT


def test_pauses_between_rounds_grow_to_a_cap() -> None:
    def pause(num_rounds: int) -> int:
        rounds = [attempt("capacity", pool=pool) for pool in (SPOT, OTHER_SPOT, ON_DEMAND)] * num_rounds
        return int(decide(*rounds, request={"look_s": 3600})["wait_s"])

    assert [pause(n) for n in (1, 2, 3, 9)] == [30, 60, 120, 900]


def test_refusals_of_spot_do_not_hold_up_on_demand() -> None:
    refused = ["capacity", attempt("capacity", pool=OTHER_SPOT)]
    assert decide(*refused, limits=LATE)["pool"] == ON_DEMAND


def test_when_every_on_demand_pool_refuses_it_pauses_too() -> None:
    assert decide(attempt("capacity", pool=ON_DEMAND), limits=LATE)["do"] == "wait"


def test_a_stopped_request_that_waited_too_long_counts_as_refused() -> None:
    stopped = attempt("capacity", status="Stopped", stopping={"reason": "waited", "verdict": "capacity"})
    assert decide(stopped)["pool"] == OTHER_SPOT


# -- faults of the service ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", ["throttled", "service"])
def test_faults_back_off_on_the_same_pool(verdict: str) -> None:
    fault = attempt(verdict, pool=OTHER_SPOT)
    pause = decide(fault)
    assert (pause["do"], pause["wait_s"]) == ("wait", 30)
    rested = decide({**fault, "ended": NOW - 31})
    assert (rested["do"], rested["pool"]) == ("create", OTHER_SPOT)


def test_back_off_doubles_has_full_jitter_and_a_cap() -> None:
    def pause(num_faults: int, jitter: float) -> int:
        faults = [attempt("throttled", jitter=jitter)] * num_faults
        decision = decide(*faults, request={"look_s": 3600})
        return int(decision["wait_s"]) if decision["do"] == "wait" else 0

    assert [pause(n, 1.0) for n in (1, 2, 3, 50)] == [30, 60, 120, 900]
    assert [pause(3, jitter) for jitter in (0.0, 0.25, 0.5)] == [0, 30, 60]


def test_a_machine_that_looks_every_second_also_backs_off_by_seconds() -> None:
    assert decide("throttled", request={"look_s": 1})["wait_s"] == 1
    many = [attempt("throttled", ended=NOW - 29)] * 30
    assert decide(*many, request={"look_s": 1})["do"] == "wait"
    assert decide(*[{**fault, "ended": NOW - 30} for fault in many], request={"look_s": 1})["do"] == "create"


# -- memory ------------------------------------------------------------------------------------------------------------


def test_out_of_memory_halves_the_micro_batch_three_times() -> None:
    assert decide()["micro_batch_divisor"] == 1
    assert [decide(*["out_of_memory"] * n)["micro_batch_divisor"] for n in (1, 2, 3)] == [2, 4, 8]
    assert decide(*["out_of_memory"] * 4)["error"] == "OutOfMemory"


def test_the_smaller_micro_batch_is_kept_by_later_attempts_and_by_a_resumed_run() -> None:
    assert decide("out_of_memory", "interrupted")["micro_batch_divisor"] == 2
    assert decide(attempt("out_of_memory", execution=BEFORE))["micro_batch_divisor"] == 2


# -- times of the next job ---------------------------------------------------------------------------------------------


def test_max_runtime_never_passes_the_deadline() -> None:
    assert decide()["max_runtime_s"] == 4 * HOUR
    late = decide(limits={"deadline_at": NOW + 1234.5})
    assert (late["max_runtime_s"], late["max_wait_s"]) == (1234, 1234)


def test_max_wait_reaches_to_the_deadline() -> None:
    assert decide()["max_wait_s"] == 9 * HOUR
    assert decide(limits={"deadline_at": None})["max_wait_s"] == 4 * HOUR + 86400


def test_max_runtime_is_what_the_budget_can_pay_for() -> None:
    decision = decide(attempt("interrupted", cost_usd=39.84))
    assert decision["max_runtime_s"] == pytest.approx(0.16 / 0.16 * HOUR, abs=1)


def test_no_time_exceeds_what_aws_takes() -> None:
    decision = decide(limits={"deadline_at": None, "max_runtime": 90 * 86400.0, "max_cost_usd": None})
    assert (decision["max_runtime_s"], decision["max_wait_s"]) == (28 * 86400, 28 * 86400)


# -- when to look again ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "progress", "wait_s"),
    [
        ("waiting", {}, 60),
        ("running", {}, 60),
        ("running", HALF_WAY, 300),  # nothing is about to happen
        ("running", {**HALF_WAY, "step": 990}, 72),  # the end is
        ("running", {**HALF_WAY, "step": 999}, 15),
    ],
)
def test_looks_more_often_when_something_is_about_to_happen(record: str, progress: dict[str, Any], wait_s: int) -> None:
    assert decide(record, progress=progress)["wait_s"] == wait_s


def test_looks_less_often_in_a_run_of_weeks() -> None:
    weeks = {"deadline_at": NOW - 100 + 28 * 86400}
    assert decide("running", progress={**HALF_WAY, "steps_per_s": 0.0005}, limits=weeks)["wait_s"] == 2420


def test_looks_the_rarer_the_longer_a_run_takes() -> None:
    waits = [
        decide("running", progress=HALF_WAY, request={"look_s": 1}, started=NOW - t)["wait_s"] for t in (60, 600, HOUR)
    ]
    assert waits == [1, 5, 26]


@pytest.mark.parametrize(
    ("record", "progress"),
    [
        ("waiting", {}),  # one Spot pool without capacity: no rung to go to
        ("running", {}),  # a job that never says how far it is
        ("running", {**HALF_WAY, "step": 1000}),  # one that does not end
    ],
)
def test_the_longest_run_fits_a_history(record: str, progress: dict[str, Any]) -> None:
    """An execution dies at 25,000 events, and the reaper stops its job: 18 a look, 3,800 are left to 200 attempts."""
    num_looks, elapsed_s = 0, 0.0
    while elapsed_s < 28 * 24 * HOUR:
        decision = decide(
            record,
            progress=progress,
            limits={"deadline_at": None, "max_cost_usd": None},
            pools=POOLS[:1],
            started=NOW - elapsed_s,
        )
        elapsed_s += decision["wait_s"]
        num_looks += 1
    assert 300 < num_looks < (25_000 - 3_800) / 18


def test_the_input_says_how_often() -> None:
    assert decide("running", progress=HALF_WAY, request={"look_s": 1})["wait_s"] == 1
    assert decide("running", progress=HALF_WAY, request={"look_s": 0.2})["wait_s"] == 1  # Wait takes whole seconds


def test_the_same_situation_gives_the_same_decision() -> None:
    rounds = [attempt("throttled", jitter=0.37)] * 4
    assert decide(*rounds) == decide(*rounds)
