"""The registry of executions: names, stops, pages, notices, survival."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from infra.offline.clock import RealClock
from infra.offline.states import InvalidDefinition, TaskContext
from infra.offline.states.executions import ExecutionError, Executions
from infra.offline.states.record import ExecutionRecord
from tests.offline.states.running import MACHINE_ARN, ROLE_ARN, Toy, machine, task

QUICK = json.dumps(machine({"A": {"Type": "Pass", "Output": "{% $states.input %}"}}))
GATED = json.dumps(machine({"A": task("gate")}))


class Gate:
    """A service whose calls wait until the gate is opened, and which notes when one is cancelled."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.cancelled = threading.Event()

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        self.entered.set()
        try:
            while not self.opened.is_set():
                await context.clock.sleep(0.005)
        finally:
            if not self.opened.is_set():
                self.cancelled.set()
        return "through"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def executions(gate: Gate) -> Iterator[Executions]:
    registry = Executions(gate, RealClock())
    yield registry
    registry.close()


def start(registry: Executions, definition: str = QUICK, **options: Any) -> ExecutionRecord:
    return registry.start(MACHINE_ARN, definition, ROLE_ARN, **options)


def refusal(act: Any) -> str:
    with pytest.raises(ExecutionError) as refused:
        act()
    return refused.value.code


def test_an_execution_runs_to_its_end(executions: Executions) -> None:
    record = start(executions, name="one", input='{"a": null}')
    assert record.arn == "arn:aws:states:us-east-1:123456789012:execution:machine:one"
    assert executions.join(record.arn, 10) is executions.describe(record.arn)
    assert (record.status, record.output, record.error) == ("SUCCEEDED", '{"a":null}', None)
    assert record.stop_time is not None
    assert record.stop_time >= record.start_time


def test_a_failed_execution_keeps_error_and_cause(executions: Executions) -> None:
    record = start(executions, json.dumps(machine({"A": {"Type": "Fail", "Error": "E", "Cause": "C"}})))
    executions.join(record.arn, 10)
    assert (record.status, record.output, record.error, record.cause) == ("FAILED", None, "E", "C")


def test_the_same_name_and_input_is_the_running_execution(executions: Executions, gate: Gate) -> None:
    record = start(executions, GATED, name="n", input="{}")
    assert start(executions, GATED, name="n", input="{}") is record
    assert refusal(lambda: start(executions, GATED, name="n", input='{"other": 1}')) == "ExecutionAlreadyExists"
    gate.opened.set()
    executions.join(record.arn, 10)
    assert refusal(lambda: start(executions, GATED, name="n", input="{}")) == "ExecutionAlreadyExists"


def test_only_one_of_many_simultaneous_starts_runs(executions: Executions, gate: Gate) -> None:
    records: list[ExecutionRecord] = []
    threads = [threading.Thread(target=lambda: records.append(start(executions, GATED, name="n"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(record) for record in records}) == 1


@pytest.mark.parametrize("name", ["a b", "a/b", "a:b", "x" * 81, "a\x7f", 'a"b', "a$b"])
def test_names_that_are_none(executions: Executions, name: str) -> None:
    assert refusal(lambda: start(executions, name=name)) == "InvalidName"


def test_input_that_is_none(executions: Executions) -> None:
    assert refusal(lambda: start(executions, input="{")) == "InvalidExecutionInput"
    assert refusal(lambda: start(executions, input=json.dumps("x" * 262_144))) == "ValidationException"


def test_a_definition_that_is_none(executions: Executions) -> None:
    with pytest.raises(InvalidDefinition):
        start(executions, "{}")


def test_stop_cancels_the_running_task(executions: Executions, gate: Gate) -> None:
    record = start(executions, GATED)
    assert gate.entered.wait(10)
    executions.stop(record.arn, error="Mine", cause="enough")
    assert (record.status, record.error, record.cause) == ("ABORTED", "Mine", "enough")
    assert gate.cancelled.wait(10)
    executions.join(record.arn, 10)
    last = record.history.events[-1]
    assert (last["type"], last["executionAbortedEventDetails"]) == (
        "ExecutionAborted",
        {"error": "Mine", "cause": "enough"},
    )


def test_stop_leaves_an_ended_execution_alone(executions: Executions) -> None:
    record = start(executions)
    executions.join(record.arn, 10)
    events = len(record.history.events)
    executions.stop(record.arn)
    assert (record.status, len(record.history.events)) == ("SUCCEEDED", events)


def test_an_execution_may_be_stopped_before_it_has_begun(executions: Executions) -> None:
    endless = json.dumps(machine({"A": {"Type": "Wait", "Seconds": 1_000_000}}))
    for _ in range(20):
        record = start(executions, endless)
        executions.stop(record.arn)
        assert record.status == "ABORTED"
        executions.join(record.arn, 10)


def test_what_is_not_there(executions: Executions) -> None:
    missing = MACHINE_ARN.replace(":stateMachine:", ":execution:") + ":missing"
    for act in (executions.describe, executions.stop, executions.get_history):
        assert refusal(lambda act=act: act(missing)) == "ExecutionDoesNotExist"


def test_a_fault_of_the_services_ends_the_execution() -> None:
    registry = Executions(Toy(act=[ZeroDivisionError("a bug")]))
    record = start(registry, json.dumps(machine({"A": task()})))
    registry.join(record.arn, 10)
    registry.close()
    assert (record.status, record.error) == ("FAILED", "States.Runtime")
    assert "a bug" in (record.cause or "")
    assert record.history.events[-1]["type"] == "ExecutionFailed"


def test_runaway_recursion_ends_the_execution_not_the_process(executions: Executions) -> None:
    deep = "{% ($f := function($n) { 1 + $f($n + 1) }; $f(1)) %}"
    record = start(executions, json.dumps(machine({"A": {"Type": "Pass", "Output": deep}})))
    executions.join(record.arn, 60)
    assert (record.status, record.error) == ("FAILED", "States.QueryEvaluationError")


def test_status_changes_arrive_in_order(executions: Executions) -> None:
    changes: list[dict[str, Any]] = []
    ended = threading.Event()

    def listen(detail: dict[str, Any]) -> None:
        changes.append(detail)
        if detail["status"] != "RUNNING":
            ended.set()

    executions.on_status_change(lambda detail: 1 / 0)  # a listener that fails does not keep it from others
    executions.on_status_change(listen)
    record = start(executions, name="watched", input='{"a":1}')
    assert ended.wait(10)
    assert [change["status"] for change in changes] == ["RUNNING", "SUCCEEDED"]
    assert changes[0]["stopDate"] is None
    assert changes[1] == {
        "executionArn": record.arn,
        "stateMachineArn": MACHINE_ARN,
        "name": "watched",
        "status": "SUCCEEDED",
        "startDate": round(record.start_time * 1000),
        "stopDate": round((record.stop_time or 0) * 1000),
        "input": '{"a":1}',
        "inputDetails": {"included": True},
        "output": '{"a":1}',
        "outputDetails": {"included": True},
        "error": None,
        "cause": None,
    }


def test_a_listener_may_start_executions(executions: Executions) -> None:
    started = threading.Event()

    def listen(detail: dict[str, Any]) -> None:
        if detail["name"] == "first" and detail["status"] == "SUCCEEDED":
            start(executions, name="second")
        elif detail["name"] == "second" and detail["status"] == "SUCCEEDED":
            started.set()

    executions.on_status_change(listen)
    start(executions, name="first")
    assert started.wait(10)


def test_list_pages_newest_first(executions: Executions) -> None:
    for index in range(5):
        executions.join(start(executions, name=f"e{index}").arn, 10)
    start(executions, GATED, name="running")
    other = MACHINE_ARN.replace("machine", "other", 1).replace(":machine", ":other")
    executions.start(other, QUICK, ROLE_ARN, name="elsewhere")

    first, token = executions.list_executions(MACHINE_ARN, max_results=4)
    start(executions, name="newcomer")
    second, end = executions.list_executions(MACHINE_ARN, max_results=4, next_token=token)
    assert [record.name for record in first + second] == ["running", "e4", "e3", "e2", "e1", "e0"]
    assert end is None
    running, _ = executions.list_executions(MACHINE_ARN, status="RUNNING")
    assert "running" in [record.name for record in running]
    assert refusal(lambda: executions.list_executions(MACHINE_ARN, next_token="nonsense")) == "InvalidToken"


def test_history_pages_both_ways(executions: Executions) -> None:
    record = start(executions)
    executions.join(record.arn, 10)
    for reverse, expected in ((False, [1, 2, 3, 4]), (True, [4, 3, 2, 1])):
        identifiers: list[int] = []
        token: str | None = None
        while True:
            events, token = executions.get_history(record.arn, reverse=reverse, max_results=3, next_token=token)
            identifiers += [event["id"] for event in events]
            if token is None:
                break
        assert identifiers == expected
    assert refusal(lambda: executions.get_history(record.arn, next_token="-1")) == "InvalidToken"


def test_executions_survive_the_account(executions: Executions, gate: Gate) -> None:
    done = start(executions, name="done")
    executions.join(done.arn, 10)
    running = start(executions, GATED, name="running")
    assert gate.entered.wait(10)
    snapshot = json.loads(json.dumps(executions.snapshot()))
    assert len(snapshot["definitions"]) == 2

    heard: list[str] = []
    later = Executions(gate)
    later.on_status_change(lambda detail: heard.append(f"{detail['name']} {detail['status']}"))
    assert later.restore(snapshot) == [running.arn]
    assert later.describe(done.arn).to_json() == done.to_json()
    cut_off = later.describe(running.arn)
    assert cut_off.status == "ABORTED"
    assert "offline account ended" in (cut_off.cause or "")
    assert cut_off.history.events[-1]["type"] == "ExecutionAborted"
    assert refusal(lambda: start(later, name="done")) == "ExecutionAlreadyExists"
    later.close()
    assert heard == ["running ABORTED"]


def test_close_leaves_what_ran_for_the_snapshot(gate: Gate) -> None:
    registry = Executions(gate)
    record = start(registry, GATED)
    assert gate.entered.wait(10)
    registry.close()
    assert gate.cancelled.is_set()
    assert record.status == "RUNNING"
    assert registry.snapshot()["executions"][0]["status"] == "RUNNING"
