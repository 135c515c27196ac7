"""Runs an execution: enters a state, evaluates, acts, assigns, moves on.

Each state is visited by one coroutine method. Event ids, variables and the Map item belong to a *track*: the line of
control of the machine, of one branch or of one iteration.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from infra.offline.clock import Clock
from infra.offline.states import model
from infra.offline.states.errors import (
    DATA_LIMIT_EXCEEDED,
    EXCEED_TOLERATED_FAILURE_THRESHOLD,
    HEARTBEAT_TIMEOUT,
    NO_CHOICE_MATCHED,
    QUERY_EVALUATION_ERROR,
    RUNTIME,
    TIMEOUT,
    QueryEvaluationError,
    StatesError,
    error_matches,
)
from infra.offline.states.fan_out import fan_out
from infra.offline.states.functions import Frame, execution_frame
from infra.offline.states.history import History
from infra.offline.states.machine import StateMachine
from infra.offline.states.retry import Retries
from infra.offline.states.services import Services, TaskContext, split_resource
from infra.offline.states.template import Template
from infra.offline.states.values import MAX_PAYLOAD_BYTES, dumps, inward, iso_time, outward

__all__ = ["ExecutionResult", "run_execution"]

log = logging.getLogger(__name__)

_MAX_INLINE_CONCURRENCY: Final = 40
_TRANSITIONS_PER_TURN: Final = 64  # then other executions and Stop get their turn


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """How an execution ended: `SUCCEEDED` with an output, `FAILED` or `TIMED_OUT` with an error."""

    status: str
    output: Any = None
    error: str | None = None
    cause: str | None = None


class Data(NamedTuple):
    """A payload and its JSON text: the output of one state is the input of the next, and is written once."""

    value: Any
    text: str


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
) -> ExecutionResult:
    """Run a state machine from its start to its end.

    Cancelling it aborts the execution: running tasks are cancelled and `CancelledError` passes through.

    Args:
        input: the execution's input, plain JSON.
        arn: the execution's ARN, `arn:aws:states:<region>:<account>:execution:<machine>:<name>`.
        role_arn: the machine's role.
        history: takes the events.
    """
    history = history or History(clock.now)
    execution = _Execution(machine, input, arn, name, role_arn, services, clock, history)
    try:
        async with asyncio.timeout(machine.timeout_s) as limit:
            output = await execution.run()
    except StatesError as error:
        history.finish("ExecutionFailed", ("executionFailedEventDetails", _error_details(error)))
        return ExecutionResult("FAILED", error=error.error, cause=error.cause)
    except TimeoutError:
        if not limit.expired():
            raise
        error = StatesError(TIMEOUT, f"The execution ran longer than {machine.timeout_s} seconds.")
        history.finish("ExecutionTimedOut", ("executionTimedOutEventDetails", _error_details(error)))
        return ExecutionResult("TIMED_OUT", error=error.error, cause=error.cause)
    history.finish("ExecutionSucceeded", ("executionSucceededEventDetails", _with_text("output", output.text)))
    return ExecutionResult("SUCCEEDED", output=outward(output.value))


@dataclass(slots=True)
class _Track:
    scope: Any
    last_event: int
    map_item: dict[str, Any] | None = None

    def branch(self, map_item: dict[str, Any] | None = None) -> _Track:
        """A line of control that starts here; it reads this one's variables and sets its own."""
        return _Track(Frame(self.scope), self.last_event, map_item or self.map_item)


@dataclass(slots=True)
class _Visit:
    """One stay in one state."""

    state: model.State
    input: Data
    track: _Track
    entered_event: int
    entered_time: str
    retry_count: int = 0
    result: Data | None = None
    details: dict[str, Any] = field(default_factory=dict)


_Step = tuple[Data, str | None]  # output, next state


class _Execution:
    def __init__(
        self,
        machine: StateMachine,
        input: Any,
        arn: str,
        name: str,
        role_arn: str,
        services: Services,
        clock: Clock,
        history: History,
    ) -> None:
        self._machine = machine
        self._services = services
        self._clock = clock
        self._history = history
        self._arn = arn
        self._role_arn = role_arn
        self._region = arn.split(":")[3]
        self._transitions = 0
        value = inward(input)
        self._input = Data(value, dumps(value))
        machine_arn = arn.rpartition(":")[0].replace(":execution:", ":stateMachine:")
        self._context = {
            "Execution": {
                "Id": arn,
                "Input": value,
                "Name": name,
                "RoleArn": role_arn,
                "StartTime": iso_time(clock.now()),
                "RedriveCount": 0,
            },
            "StateMachine": {"Id": machine_arn, "Name": machine_arn.rpartition(":")[2]},
        }

    async def run(self) -> Data:
        details = {**_with_text("input", self._input.text), "roleArn": self._role_arn}
        started = self._history.add("ExecutionStarted", 0, ("executionStartedEventDetails", details))
        track = _Track(Frame(execution_frame(self._clock.now)), started)
        return await self._run_block(self._machine.block, self._input, track)

    async def _run_block(self, block: model.Block, data: Data, track: _Track) -> Data:
        name: str | None = block.start_at
        while name is not None:
            state = block.states[name]
            visit = self._enter(state, data, track)
            try:
                data, name = await _VISITS[type(state)](self, visit)
            except QueryEvaluationError as error:
                raise self._evaluation_failed(visit, error) from error
            self._transitions += 1
            if self._transitions % _TRANSITIONS_PER_TURN == 0:
                await asyncio.sleep(0)
        return data

    # -- entering and leaving ------------------------------------------------------------------------------------

    def _enter(self, state: model.State, data: Data, track: _Track) -> _Visit:
        kind = f"{type(state).__name__}StateEntered"
        details = {"name": state.name, **_with_text("input", data.text)}
        event = self._add(track, kind, "stateEnteredEventDetails", details)
        return _Visit(state, data, track, event, iso_time(self._clock.now()))

    def _leave(
        self,
        visit: _Visit,
        assign: Mapping[str, Template],
        output: Template | None,
        default: Data,
        **available: Any,
    ) -> Data:
        """Evaluate `Output` and `Assign`, both against the variables as they were, then set the variables."""
        scope = self._scope(visit, **available) if assign or output else None
        data = default if output is None else self._limit(visit, output.evaluate(scope))
        details = {"name": visit.state.name, **_with_text("output", data.text)}
        if assign:
            assigned = {name: template.evaluate(scope) for name, template in assign.items()}
            details["assignedVariables"] = {
                name: self._limit(visit, value).text for name, value in assigned.items()
            }
            details["assignedVariablesDetails"] = {"truncated": False}
            visit.track.scope.bindings.update(assigned)
        self._add(visit.track, f"{type(visit.state).__name__}StateExited", "stateExitedEventDetails", details)
        return data

    def _scope(self, visit: _Visit, **available: Any) -> Any:
        state = {"EnteredTime": visit.entered_time, "Name": visit.state.name, "RetryCount": visit.retry_count}
        context = {**self._context, "State": state}
        if visit.track.map_item is not None:
            context["Map"] = {"Item": visit.track.map_item}
        scope = Frame(visit.track.scope)
        scope.bindings["states"] = {"input": visit.input.value, "context": context, **available}
        return scope

    def _limit(self, visit: _Visit, value: Any, what: str = "state/task") -> Data:
        text = dumps(value)
        if len(text) > MAX_PAYLOAD_BYTES or len(text.encode()) > MAX_PAYLOAD_BYTES:
            raise StatesError(
                DATA_LIMIT_EXCEEDED,
                f"The {what} '{visit.state.name}' returned a result with a size exceeding the maximum number of bytes "
                "service limit.",
            )
        return Data(value, text)

    def _add(self, track: _Track, kind: str, member: str, details: dict[str, Any]) -> int:
        track.last_event = self._history.add(kind, track.last_event, (member, details))
        return track.last_event

    def _evaluation_failed(self, visit: _Visit, error: QueryEvaluationError) -> StatesError:
        cause = self._in_state(visit, error.cause)
        details = {"error": error.error, "cause": cause, "location": error.location, "state": visit.state.name}
        self._add(visit.track, "EvaluationFailed", "evaluationFailedEventDetails", details)
        return StatesError(QUERY_EVALUATION_ERROR, cause)

    def _in_state(self, visit: _Visit, cause: str) -> str:
        return (
            f"An error occurred while executing the state '{visit.state.name}' "
            f"(entered at the event id #{visit.entered_event}). {cause}"
        )

    # -- the states ----------------------------------------------------------------------------------------------

    async def _visit_pass(self, visit: _Visit) -> _Step:
        state = visit.state
        return self._leave(visit, state.assign, state.output, visit.input), state.next

    _visit_succeed = _visit_pass

    async def _visit_fail(self, visit: _Visit) -> _Step:
        state = cast(model.Fail, visit.state)
        scope = self._scope(visit)
        error, cause = (
            "" if template is None else template.evaluate_as(scope, "string") for template in (state.error, state.cause)
        )
        raise StatesError(error, cause)

    async def _visit_choice(self, visit: _Visit) -> _Step:
        state = cast(model.Choice, visit.state)
        scope = self._scope(visit)
        for rule in state.rules:
            if rule.condition.evaluate_as(scope, "boolean"):
                return self._leave(visit, rule.assign, rule.output, visit.input), rule.next
        if state.next is None:
            raise StatesError(
                NO_CHOICE_MATCHED, self._in_state(visit, "No Choice rule matched and the state has no Default.")
            )
        return self._leave(visit, state.assign, state.output, visit.input), state.next

    async def _visit_wait(self, visit: _Visit) -> _Step:
        state = cast(model.Wait, visit.state)
        scope = self._scope(visit)
        if state.seconds is not None:
            seconds = _whole_number(state.seconds, scope, 0, 99_999_999)
        else:
            seconds = _seconds_until(cast(Template, state.timestamp), scope, self._clock.now())
        if seconds > 0:
            await self._clock.sleep(seconds)
        return self._leave(visit, state.assign, state.output, visit.input), state.next

    async def _visit_task(self, visit: _Visit) -> _Step:
        return await self._resiliently(visit, self._call)

    async def _visit_parallel(self, visit: _Visit) -> _Step:
        return await self._resiliently(visit, self._branches)

    async def _visit_map(self, visit: _Visit) -> _Step:
        return await self._resiliently(visit, self._iterations)

    async def _resiliently(self, visit: _Visit, attempt: Callable[[_Visit], Awaitable[Data]]) -> _Step:
        """Attempt, and on failure retry, then catch; failures of `Output` and `Assign` count as the attempt's."""
        state = cast(model.Resilient, visit.state)
        retries = Retries(state.retry)
        while True:
            try:
                result = await attempt(visit)
                return self._leave(visit, state.assign, state.output, result, result=result.value), state.next
            except StatesError as raised:
                error = raised
                if isinstance(error, QueryEvaluationError):
                    error = self._evaluation_failed(visit, error)
            delay = retries.delay(error.error)
            if delay is None:
                return self._catch(visit, state.catch, error)
            visit.retry_count += 1
            await self._clock.sleep(delay)

    def _catch(self, visit: _Visit, catchers: tuple[model.Catcher, ...], error: StatesError) -> _Step:
        for catcher in catchers:
            if error_matches(error.error, catcher.error_equals):
                output = error.output()
                default = self._limit(visit, output)
                return self._leave(visit, catcher.assign, catcher.output, default, errorOutput=output), catcher.next
        raise error

    # -- attempts ------------------------------------------------------------------------------------------------

    async def _call(self, visit: _Visit) -> Data:
        state = cast(model.Task, visit.state)
        scope = self._scope(visit)
        arguments = visit.input if state.arguments is None else self._limit(visit, state.arguments.evaluate(scope))
        kind, action = split_resource(state.resource)
        names = {"resourceType": kind, "resource": action}
        scheduled: dict[str, Any] = {**names, "region": self._region, "parameters": arguments.text}
        timeout = heartbeat = None
        if state.timeout is not None:
            timeout = scheduled["timeoutInSeconds"] = _whole_number(state.timeout, scope, 1, 99_999_999)
        if state.heartbeat is not None:
            heartbeat = scheduled["heartbeatInSeconds"] = _whole_number(state.heartbeat, scope, 1, 99_999_999)
        self._add(visit.track, "TaskScheduled", "taskScheduledEventDetails", scheduled)
        self._add(visit.track, "TaskStarted", "taskStartedEventDetails", names)
        try:
            answer = await self._within(visit, names, outward(arguments.value), timeout, heartbeat)
            result = self._limit(visit, inward(answer))
        except StatesError as error:
            timed_out = error.error in (TIMEOUT, HEARTBEAT_TIMEOUT)
            event, member = ("TaskTimedOut", "taskTimedOutEventDetails") if timed_out else _TASK_FAILED
            self._add(visit.track, event, member, {**names, **_error_details(error)})
            raise
        details = {**names, **_with_text("output", result.text)}
        self._add(visit.track, "TaskSucceeded", "taskSucceededEventDetails", details)
        return result

    async def _within(
        self, visit: _Visit, names: dict[str, str], arguments: Any, timeout: int | None, heartbeat: int | None
    ) -> Any:
        """Call the service, no longer than `timeout` in all and `heartbeat` between two signs of life."""
        state = cast(model.Task, visit.state)

        def submitted(answer: Any) -> None:
            details = {**names, **_with_text("output", dumps(answer))}
            self._add(visit.track, "TaskSubmitted", "taskSubmittedEventDetails", details)

        def beat() -> None:
            if heartbeat is not None:
                silence.reschedule(asyncio.get_running_loop().time() + heartbeat)

        context = TaskContext(self._arn, state.name, self._role_arn, self._clock, submitted, beat)
        try:
            async with asyncio.timeout(timeout) as limit, asyncio.timeout(heartbeat) as silence:
                return await self._services.call(state.resource, arguments, context)
        except TimeoutError:
            if limit.expired():
                raise StatesError(TIMEOUT, f"The task ran longer than {timeout} seconds.") from None
            if silence.expired():
                raise StatesError(HEARTBEAT_TIMEOUT, f"No heartbeat for {heartbeat} seconds.") from None
            raise

    async def _branches(self, visit: _Visit) -> Data:
        state = cast(model.Parallel, visit.state)
        data = visit.input
        if state.arguments is not None:
            data = self._limit(visit, state.arguments.evaluate(self._scope(visit)))
        self._mark(visit, "ParallelStateStarted")
        track = visit.track

        async def branch(block: model.Block) -> Any:
            return (await self._run_block(block, data, track.branch())).value

        try:
            results = await fan_out([lambda block=block: branch(block) for block in state.branches], len(state.branches))
        except StatesError:
            self._mark(visit, "ParallelStateFailed")
            raise
        self._mark(visit, "ParallelStateSucceeded")
        return self._limit(visit, results)

    async def _iterations(self, visit: _Visit) -> Data:
        state = cast(model.Map, visit.state)
        scope = self._scope(visit)
        items = visit.input.value if state.items is None else state.items.evaluate_as(scope, "array")
        if not isinstance(items, list):
            raise QueryEvaluationError("The input of a Map state without 'Items' must be an array.", "Items")
        tolerated = self._tolerated_failures(state, scope, len(items))
        concurrency = 0 if state.max_concurrency is None else _whole_number(state.max_concurrency, scope, 0, 10_000)
        self._add(visit.track, "MapStateStarted", "mapStateStartedEventDetails", {"length": len(items)})
        failures: list[StatesError] = []

        async def iterate(index: int, item: Any) -> Any:
            track = visit.track.branch({"Index": index, "Value": item})
            details = {"name": state.name, "index": index}
            self._add(track, "MapIterationStarted", "mapIterationStartedEventDetails", details)
            try:
                output = await self._run_block(state.processor, self._map_input(visit, track, item), track)
            except StatesError as error:
                self._add(track, "MapIterationFailed", "mapIterationFailedEventDetails", details)
                failures.append(error)
                if error.error == RUNTIME or len(failures) > tolerated:
                    raise
                return _FAILED
            except asyncio.CancelledError:
                self._add(track, "MapIterationAborted", "mapIterationAbortedEventDetails", details)
                raise
            self._add(track, "MapIterationSucceeded", "mapIterationSucceededEventDetails", details)
            return output.value

        jobs = [lambda index=index, item=item: iterate(index, item) for index, item in enumerate(items)]
        try:
            results = await fan_out(jobs, min(concurrency or _MAX_INLINE_CONCURRENCY, _MAX_INLINE_CONCURRENCY))
        except StatesError as error:
            self._mark(visit, "MapStateFailed")
            if tolerated and error.error != RUNTIME:
                cause = f"{len(failures)} of {len(items)} items failed; the last with {error}"
                raise StatesError(EXCEED_TOLERATED_FAILURE_THRESHOLD, cause) from error
            raise
        self._mark(visit, "MapStateSucceeded")
        return self._limit(visit, [result for result in results if result is not _FAILED])

    def _map_input(self, visit: _Visit, track: _Track, item: Any) -> Data:
        state = cast(model.Map, visit.state)
        if state.item_selector is None:
            return self._limit(visit, item)
        inside = _Visit(state, visit.input, track, visit.entered_event, visit.entered_time, visit.retry_count)
        try:
            return self._limit(visit, state.item_selector.evaluate(self._scope(inside)))
        except QueryEvaluationError as error:
            raise self._evaluation_failed(inside, error) from error

    def _tolerated_failures(self, state: model.Map, scope: Any, length: int) -> int:
        tolerated = 0
        if state.tolerated_count is not None:
            tolerated = _whole_number(state.tolerated_count, scope, 0, 10_000_000)
        if state.tolerated_percentage is not None:
            percentage = state.tolerated_percentage.evaluate_as(scope, "number")
            tolerated = max(tolerated, int(length * percentage / 100))
        return tolerated

    def _mark(self, visit: _Visit, kind: str) -> None:
        visit.track.last_event = self._history.add(kind, visit.track.last_event)


_FAILED: Final = object()
_TASK_FAILED: Final = ("TaskFailed", "taskFailedEventDetails")
_VISITS: Final[dict[type[model.State], Callable[[_Execution, _Visit], Awaitable[_Step]]]] = {
    model.Pass: _Execution._visit_pass,
    model.Succeed: _Execution._visit_succeed,
    model.Fail: _Execution._visit_fail,
    model.Choice: _Execution._visit_choice,
    model.Wait: _Execution._visit_wait,
    model.Task: _Execution._visit_task,
    model.Parallel: _Execution._visit_parallel,
    model.Map: _Execution._visit_map,
}


def _whole_number(template: Template, scope: Any, low: int, high: int) -> int:
    number = template.evaluate_as(scope, "number")
    if number != int(number) or not low <= number <= high:
        raise QueryEvaluationError(
            f"The field '{template.field}' must be a whole number from {low} to {high}, but is {number}.", template.field
        )
    return int(number)


def _seconds_until(template: Template, scope: Any, now: float) -> float:
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
    return moment.timestamp() - now


def _with_text(member: str, text: str) -> dict[str, Any]:
    return {member: text, f"{member}Details": {"truncated": False}}


def _error_details(error: StatesError) -> dict[str, str]:
    return {"error": error.error, "cause": error.cause}
