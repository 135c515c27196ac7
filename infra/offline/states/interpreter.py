"""Runs an execution: enters a state, acts, leaves it for the next."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from infra.offline.clock import Clock
from infra.offline.states import model
from infra.offline.states.errors import NO_CHOICE_MATCHED, TIMEOUT, QueryEvaluationError, StatesError, error_matches
from infra.offline.states.functions import Frame, execution_frame
from infra.offline.states.history import History, error_details, with_text
from infra.offline.states.machine import StateMachine
from infra.offline.states.nesting import attempt_map, attempt_parallel
from infra.offline.states.retry import Retries
from infra.offline.states.services import Services
from infra.offline.states.task import attempt_task
from infra.offline.states.template import Template, whole_number
from infra.offline.states.values import dumps, inward, iso_time, outward
from infra.offline.states.visit import Data, Execution, Step, Track, Visit

__all__ = ["ExecutionResult", "run_execution"]

_TRANSITIONS_PER_TURN: Final = 64  # then whatever else the loop carries gets its turn


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """How an execution ended: `SUCCEEDED` with an output, `FAILED` or `TIMED_OUT` with an error."""

    status: str
    output: Any = None
    error: str | None = None
    cause: str | None = None


async def run_execution(
    machine: StateMachine,
    input: Any,
    *,
    arn: str,
    name: str,
    role_arn: str,
    services: Services,
    clock: Clock,
    history: History | None = None,
    draw: random.Random | None = None,
) -> ExecutionResult:
    """Run a state machine from its start to its end.

    Cancelling it aborts the execution: running tasks are cancelled and `CancelledError` passes through.

    Args:
        input: the execution's input, plain JSON.
        arn: the execution's ARN, `arn:aws:states:<region>:<account>:execution:<machine>:<name>`.
        role_arn: the machine's role.
        history: takes the events.
        draw: where jitter, `$random` and `$uuid` come from; give a seeded one for a reproducible run.
    """
    history = history or History(clock.now)
    value = inward(input)
    context = _context(arn, name, role_arn, value, clock.now())
    draw = draw or random.Random()
    execution = Execution(arn, role_arn, services, clock, history, context, draw)
    data = Data(value, dumps(value))
    details = {**with_text("input", data.text), "roleArn": role_arn}
    started = history.add("ExecutionStarted", 0, "executionStartedEventDetails", details)
    track = Track(Frame(execution_frame(clock.now, draw)), started)
    try:
        async with asyncio.timeout(machine.timeout_s) as limit:
            output = await _run_block(execution, machine.block, data, track)
    except StatesError as error:
        history.finish("ExecutionFailed", "executionFailedEventDetails", error_details(error))
        return ExecutionResult("FAILED", error=error.error, cause=error.cause)
    except TimeoutError:
        if not limit.expired():
            raise
        late = StatesError(TIMEOUT, f"The execution ran longer than {machine.timeout_s} seconds.")
        history.finish("ExecutionTimedOut", "executionTimedOutEventDetails", error_details(late))
        return ExecutionResult("TIMED_OUT", error=late.error, cause=late.cause)
    history.finish("ExecutionSucceeded", "executionSucceededEventDetails", with_text("output", output.text))
    return ExecutionResult("SUCCEEDED", output=outward(output.value))


def _context(arn: str, name: str, role_arn: str, input: Any, now: float) -> dict[str, Any]:
    machine_arn = arn.rpartition(":")[0].replace(":execution:", ":stateMachine:")
    return {
        "Execution": {
            "Id": arn,
            "Input": input,
            "Name": name,
            "RoleArn": role_arn,
            "StartTime": iso_time(now),
            "RedriveCount": 0,
        },
        "StateMachine": {"Id": machine_arn, "Name": machine_arn.rpartition(":")[2]},
    }


async def _run_block(execution: Execution, block: model.Block, data: Data, track: Track) -> Data:
    name: str | None = block.start_at
    transitions = 0
    while name is not None:
        state = block.states[name]
        visit = Visit(execution, state, data, track)
        try:
            data, name = await _VISITS[type(state)](visit)
        except QueryEvaluationError as error:
            raise visit.evaluation_failed(error) from error
        transitions += 1
        if transitions % _TRANSITIONS_PER_TURN == 0:
            await asyncio.sleep(0)
    return data


async def _pass(visit: Visit[model.Pass]) -> Step:
    state = visit.state
    return visit.leave(state.assign, state.output, visit.input), state.next


async def _fail(visit: Visit[model.Fail]) -> Step:
    scope = visit.scope()
    error, cause = (
        "" if template is None else template.evaluate_as(scope, "string")
        for template in (visit.state.error, visit.state.cause)
    )
    raise StatesError(error, cause)


async def _choice(visit: Visit[model.Choice]) -> Step:
    state, scope = visit.state, visit.scope()
    for rule in state.rules:
        if rule.condition.evaluate_as(scope, "boolean"):
            return visit.leave(rule.assign, rule.output, visit.input), rule.next
    if state.next is None:
        raise StatesError(NO_CHOICE_MATCHED, visit.in_state("No rule of 'Choices' matched and there is no 'Default'."))
    return visit.leave(state.assign, state.output, visit.input), state.next


async def _wait(visit: Visit[model.Wait]) -> Step:
    state, scope, clock = visit.state, visit.scope(), visit.execution.clock
    if state.seconds is not None:
        await clock.sleep(whole_number(state.seconds, scope, 0, 99_999_999))
    elif state.timestamp is not None:
        await clock.sleep(max(0.0, _moment(state.timestamp, scope) - clock.now()))
    return visit.leave(state.assign, state.output, visit.input), state.next


def _moment(template: Template, scope: Any) -> float:
    """A timestamp in epoch seconds."""
    text = template.evaluate_as(scope, "string")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise QueryEvaluationError(
            f"The field '{template.field}' must be a timestamp such as 2026-01-31T12:00:00Z, but is '{text}'.",
            template.field,
        )
    return moment.timestamp()


async def _task(visit: Visit[model.Task]) -> Step:
    return await _resiliently(visit, lambda: attempt_task(visit))


async def _parallel(visit: Visit[model.Parallel]) -> Step:
    return await _resiliently(visit, lambda: attempt_parallel(visit, _run_block))


async def _map(visit: Visit[model.Map]) -> Step:
    return await _resiliently(visit, lambda: attempt_map(visit, _run_block))


async def _resiliently(visit: Visit[model.Resilient], attempt: Callable[[], Awaitable[Data]]) -> Step:
    """Attempt, and on failure retry, then catch; a failure of `Output` or `Assign` counts as the attempt's."""
    state = visit.state
    retries = Retries(state.retry, visit.execution.draw)
    while True:
        try:
            result = await attempt()
            return visit.leave(state.assign, state.output, result, result=result.value), state.next
        except QueryEvaluationError as raised:
            error = visit.evaluation_failed(raised)
        except StatesError as raised:
            error = raised
        delay = retries.delay(error.error)
        if delay is None:
            return _catch(visit, error)
        visit.retry_count += 1
        await visit.execution.clock.sleep(delay)


def _catch(visit: Visit[model.Resilient], error: StatesError) -> Step:
    for catcher in visit.state.catch:
        if error_matches(error.error, catcher.error_equals):
            output = visit.limit(error.output())
            return visit.leave(catcher.assign, catcher.output, output, errorOutput=output.value), catcher.next
    raise error


_VISITS: Final[dict[type[model.State], Callable[[Visit[Any]], Awaitable[Step]]]] = {
    model.Pass: _pass,
    model.Succeed: _pass,
    model.Fail: _fail,
    model.Choice: _choice,
    model.Wait: _wait,
    model.Task: _task,
    model.Parallel: _parallel,
    model.Map: _map,
}
