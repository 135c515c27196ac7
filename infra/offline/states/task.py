"""One attempt of a Task state."""

from __future__ import annotations

import asyncio
from typing import Any

from infra.offline.states.errors import HEARTBEAT_TIMEOUT, TIMEOUT, StatesError
from infra.offline.states.history import error_details, with_text
from infra.offline.states.model import Task
from infra.offline.states.services import TaskContext, split_resource
from infra.offline.states.template import whole_number
from infra.offline.states.values import dumps, inward, outward
from infra.offline.states.visit import Data, Visit

__all__ = ["attempt_task"]

_MAX_TIMEOUT_S = 99_999_999


async def attempt_task(visit: Visit[Task]) -> Data:
    """Evaluate the arguments and call the service.

    Raises:
        StatesError: the service's error, a timeout, or an answer that is too large.
    """
    state, scope = visit.state, visit.scope()
    arguments = visit.input if state.arguments is None else visit.limit(state.arguments.evaluate(scope))
    kind, action = split_resource(state.resource)
    names = {"resourceType": kind, "resource": action}
    region = visit.execution.arn.split(":")[3]
    scheduled: dict[str, Any] = {**names, "region": region, "parameters": arguments.text}
    timeout = heartbeat = None
    if state.timeout is not None:
        timeout = scheduled["timeoutInSeconds"] = whole_number(state.timeout, scope, 1, _MAX_TIMEOUT_S)
    if state.heartbeat is not None:
        heartbeat = scheduled["heartbeatInSeconds"] = whole_number(state.heartbeat, scope, 1, _MAX_TIMEOUT_S)
    visit.record("TaskScheduled", "taskScheduledEventDetails", scheduled)
    visit.record("TaskStarted", "taskStartedEventDetails", names)
    try:
        result = visit.limit(inward(await _call(visit, names, outward(arguments.value), timeout, heartbeat)))
    except StatesError as error:
        details = {**names, **error_details(error)}
        if error.error in (TIMEOUT, HEARTBEAT_TIMEOUT):
            visit.record("TaskTimedOut", "taskTimedOutEventDetails", details)
        else:
            visit.record("TaskFailed", "taskFailedEventDetails", details)
        raise
    visit.record("TaskSucceeded", "taskSucceededEventDetails", {**names, **with_text("output", result.text)})
    return result


async def _call(
    visit: Visit[Task], names: dict[str, str], arguments: Any, timeout: int | None, heartbeat: int | None
) -> Any:
    """Call the service, for no longer than `timeout` in all and `heartbeat` between two signs of life."""
    execution = visit.execution

    def submitted(answer: Any) -> None:
        details = {**names, **with_text("output", dumps(answer))}
        visit.record("TaskSubmitted", "taskSubmittedEventDetails", details)

    def beat() -> None:
        if heartbeat is not None:
            silence.reschedule(asyncio.get_running_loop().time() + heartbeat)

    context = TaskContext(execution.arn, visit.state.name, execution.role_arn, execution.clock, submitted, beat)
    try:
        async with asyncio.timeout(timeout) as limit, asyncio.timeout(heartbeat) as silence:
            return await execution.services.call(visit.state.resource, arguments, context)
    except TimeoutError:
        if limit.expired():
            raise StatesError(TIMEOUT, f"The task ran longer than {timeout} seconds.") from None
        if silence.expired():
            raise StatesError(HEARTBEAT_TIMEOUT, f"No heartbeat for {heartbeat} seconds.") from None
        raise
