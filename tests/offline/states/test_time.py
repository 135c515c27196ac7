"""Waits, retries and timeouts, to the second, in virtual time."""

from __future__ import annotations

import random

import pytest

from infra.offline.states import StatesError
from infra.offline.states.model import Retrier
from infra.offline.states.retry import Retries, backoff
from tests.offline.states.running import Toy, run, task

FAILING = StatesError("Toy.Error", "broken")


@pytest.mark.parametrize(
    ("wait", "seconds"),
    [
        ({"Seconds": 30}, 30),
        ({"Seconds": 0}, 0),
        ({"Seconds": "{% $states.input.minutes * 60 %}"}, 120),
        ({"Timestamp": "2023-11-14T22:14:20Z"}, 60),
        ({"Timestamp": "2023-11-14T23:14:20+01:00"}, 60),
        ({"Timestamp": "{% $fromMillis($millis() + 2500) %}"}, 2.5),
        ({"Timestamp": "2001-01-01T00:00:00Z"}, 0),
    ],
)
def test_wait(wait: dict[str, object], seconds: float) -> None:
    assert run({"A": {"Type": "Wait", **wait}}, {"minutes": 2}).seconds == pytest.approx(seconds)


def test_a_year_of_waits() -> None:
    states = {
        "Start": {"Type": "Pass", "Assign": {"n": 0}, "Next": "Wait"},
        "Wait": {"Type": "Wait", "Seconds": 86_400, "Assign": {"n": "{% $n + 1 %}"}, "Next": "More"},
        "More": {"Type": "Choice", "Choices": [{"Condition": "{% $n < 365 %}", "Next": "Wait"}], "Default": "Done"},
        "Done": {"Type": "Succeed", "Output": "{% $now() %}"},
    }
    came = run(states)
    assert came.output == "2024-11-13T22:13:20.000Z"
    assert came.seconds == 365 * 86_400


@pytest.mark.parametrize(
    ("retry", "attempts", "seconds"),
    [
        ({}, 4, 1 + 2 + 4),
        ({"IntervalSeconds": 10, "BackoffRate": 1, "MaxAttempts": 2}, 3, 20),
        ({"IntervalSeconds": 10, "BackoffRate": 3, "MaxAttempts": 4, "MaxDelaySeconds": 50}, 5, 10 + 30 + 50 + 50),
        ({"MaxAttempts": 0}, 1, 0),
    ],
)
def test_retry_waits_as_told_and_then_fails(retry: dict[str, object], attempts: int, seconds: float) -> None:
    services = Toy(act=[FAILING])
    came = run({"A": task(Retry=[{"ErrorEquals": ["States.ALL"], **retry}])}, services=services)
    assert came.error == "Toy.Error"
    assert (len(services.calls), came.seconds) == (attempts, seconds)


def test_retriers_count_each_for_itself() -> None:
    services = Toy(act=[StatesError("A"), StatesError("B"), StatesError("A"), StatesError("B"), "done"])
    retry = [{"ErrorEquals": [name], "MaxAttempts": 2, "IntervalSeconds": 1, "BackoffRate": 2} for name in ("A", "B")]
    came = run({"S": task(Retry=retry)}, services=services)
    assert came.output == "done"
    assert came.seconds == 1 + 1 + 2 + 2


def test_a_retrier_used_up_does_not_hand_on_to_the_next() -> None:
    services = Toy(act=[FAILING])
    retry = [{"ErrorEquals": ["Toy.Error"], "MaxAttempts": 1}, {"ErrorEquals": ["States.ALL"], "MaxAttempts": 5}]
    run({"A": task(Retry=retry)}, services=services)
    assert len(services.calls) == 2


def test_retry_comes_before_catch() -> None:
    services = Toy(act=[FAILING, "second"])
    states = {
        "A": task(
            Retry=[{"ErrorEquals": ["Toy.Error"]}],
            Catch=[{"ErrorEquals": ["Toy.Error"], "Next": "B", "Output": "caught"}],
            Next="B",
        ),
        "B": {"Type": "Pass"},
    }
    assert run(states, services=services).output == "second"


def test_full_jitter_stays_below_the_delay_and_follows_its_seed() -> None:
    retrier = Retrier(("States.ALL",), interval_s=8, max_attempts=50, backoff_rate=1.0, full_jitter=True)
    delays = [Retries([retrier], random.Random(seed)).delay("E") for seed in (1, 1, 2)]
    assert delays[0] == delays[1] != delays[2]
    retries = Retries([retrier], random.Random(3))
    spread = [retries.delay("E") or 0.0 for _ in range(50)]
    assert all(0 <= delay <= 8 for delay in spread)
    assert min(spread) < 2 < 6 < max(spread)


def test_a_huge_number_of_retries_does_not_overflow() -> None:
    assert backoff(Retrier(("E",), max_delay_s=60), 5_000) == 60


def test_map_and_parallel_are_retried_whole() -> None:
    services = Toy(act=["a", FAILING, "a", "b"])
    inner = {"StartAt": "T", "States": {"T": task(End=True)}}
    states = {
        "M": {
            "Type": "Map",
            "Items": [1, 2],
            "MaxConcurrency": 1,
            "ItemProcessor": inner,
            "Retry": [{"ErrorEquals": ["Toy.Error"], "IntervalSeconds": 7}],
        }
    }
    came = run(states, services=services)
    assert came.output == ["a", "b"]
    assert came.seconds == 7


def test_a_task_that_takes_too_long() -> None:
    services = Toy()
    came = run({"A": task(Arguments={"sleep": 100}, TimeoutSeconds="{% 60 %}")}, services=services)
    assert (came.error, came.seconds, services.cancelled) == ("States.Timeout", 60, 1)
    assert "60 seconds" in came.cause


def test_a_timeout_can_be_retried_and_is_not_a_failed_task() -> None:
    retry = [{"ErrorEquals": ["States.TaskFailed"]}, {"ErrorEquals": ["States.Timeout"], "MaxAttempts": 1}]
    came = run({"A": task(Arguments={"sleep": 100}, TimeoutSeconds=60, Retry=retry)})
    assert (came.error, came.seconds) == ("States.Timeout", 60 + 1 + 60)


def test_a_task_without_heartbeat() -> None:
    catch = [{"ErrorEquals": ["States.HeartbeatTimeout"], "Next": "B"}]
    states = {"A": task(Arguments={"sleep": 100}, HeartbeatSeconds=20, Catch=catch), "B": {"Type": "Pass"}}
    came = run(states)
    assert (came.output["Error"], came.seconds) == ("States.HeartbeatTimeout", 20)


def test_a_heartbeat_keeps_a_task_alive() -> None:
    class Alive:
        async def call(self, resource: str, arguments: object, context: object) -> object:
            for _ in range(10):
                await context.clock.sleep(15)  # type: ignore[attr-defined]
                context.heartbeat()  # type: ignore[attr-defined]
            return "alive"

    came = run({"A": task(HeartbeatSeconds=20)}, services=Alive())
    assert (came.output, came.seconds) == ("alive", 150)


def test_an_execution_that_takes_too_long() -> None:
    came = run({"A": {"Type": "Wait", "Seconds": 100}}, TimeoutSeconds=30)
    assert (came.result.status, came.error, came.seconds) == ("TIMED_OUT", "States.Timeout", 30)
    assert came.kinds[-1] == "ExecutionTimedOut"
