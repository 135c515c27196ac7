"""One attempt of a Parallel or a Map state: blocks that run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from infra.offline.states.errors import (
    EXCEED_TOLERATED_FAILURE_THRESHOLD,
    RUNTIME,
    QueryEvaluationError,
    StatesError,
)
from infra.offline.states.model import Block, Map, Parallel
from infra.offline.states.template import whole_number
from infra.offline.states.visit import Data, Execution, Track, Visit

__all__ = ["RunBlock", "attempt_map", "attempt_parallel"]

RunBlock = Callable[[Execution, Block, Data, Track], Awaitable[Data]]

_MAX_INLINE_CONCURRENCY: Final = 40  # what AWS grants an inline Map, whatever MaxConcurrency says
_FAILED: Final = object()


async def attempt_parallel(visit: Visit[Parallel], run_block: RunBlock) -> Data:
    """Run the branches on the same input; the result is the list of their outputs.

    Raises:
        StatesError: the first branch to fail has cancelled the others.
    """
    state, data = visit.state, visit.input
    if state.arguments is not None:
        data = visit.limit(state.arguments.evaluate(visit.scope()))
    visit.record("ParallelStateStarted")

    async def run(branch: Block) -> Any:
        return (await run_block(visit.execution, branch, data, visit.track.branch())).value

    try:
        results = await fan_out([partial(run, branch) for branch in state.branches], len(state.branches))
    except StatesError:
        visit.record("ParallelStateFailed")
        raise
    visit.record("ParallelStateSucceeded")
    return visit.limit(results)


async def attempt_map(visit: Visit[Map], run_block: RunBlock) -> Data:
    """Run the processor on each item; the result is the list of the outputs of those that succeeded.

    Raises:
        StatesError: more items failed than are tolerated.
    """
    state, scope = visit.state, visit.scope()
    items = visit.input.value if state.items is None else state.items.evaluate_as(scope, "array")
    if not isinstance(items, list):
        raise QueryEvaluationError("The input of a Map state without 'Items' must be an array.", "Items")
    concurrency = 0 if state.max_concurrency is None else whole_number(state.max_concurrency, scope, 0, 10_000)
    tolerated = _tolerated(state, scope, len(items))
    visit.record("MapStateStarted", "mapStateStartedEventDetails", {"length": len(items)})
    failures: list[StatesError] = []

    async def run(index: int, item: Any) -> Any:
        try:
            return await _iterate(visit, run_block, {"Index": index, "Value": item})
        except StatesError as error:
            failures.append(error)
            if error.error == RUNTIME or len(failures) > tolerated:
                raise
            return _FAILED

    try:
        jobs = [partial(run, index, item) for index, item in enumerate(items)]
        results = await fan_out(jobs, min(concurrency or _MAX_INLINE_CONCURRENCY, _MAX_INLINE_CONCURRENCY))
    except StatesError as error:
        visit.record("MapStateFailed")
        if tolerated and error.error != RUNTIME:
            cause = f"{len(failures)} of {len(items)} items failed; the last with {error}"
            raise StatesError(EXCEED_TOLERATED_FAILURE_THRESHOLD, cause) from error
        raise
    visit.record("MapStateSucceeded")
    return visit.limit([result for result in results if result is not _FAILED])


async def _iterate(visit: Visit[Map], run_block: RunBlock, map_item: Mapping[str, Any]) -> Any:
    execution, track = visit.execution, visit.track.branch(map_item)
    about = {"name": visit.state.name, "index": map_item["Index"]}

    def record(outcome: str) -> None:
        member = f"mapIteration{outcome}EventDetails"
        track.last_event = execution.history.add(f"MapIteration{outcome}", track.last_event, member, about)

    record("Started")
    try:
        output = await run_block(execution, visit.state.processor, _iteration_input(visit, map_item), track)
    except StatesError:
        record("Failed")
        raise
    except asyncio.CancelledError:
        record("Aborted")
        raise
    record("Succeeded")
    return output.value


def _iteration_input(visit: Visit[Map], map_item: Mapping[str, Any]) -> Data:
    selector = visit.state.item_selector
    if selector is None:
        return visit.limit(map_item["Value"])
    try:
        return visit.limit(selector.evaluate(visit.scope(map_item=map_item)))
    except QueryEvaluationError as error:
        raise visit.evaluation_failed(error) from error


def _tolerated(state: Map, scope: Any, length: int) -> int:
    """How many items may fail: the larger of what the count and the percentage allow."""
    count = 0 if state.tolerated_count is None else whole_number(state.tolerated_count, scope, 0, 10_000_000)
    if state.tolerated_percentage is None:
        return count
    return max(count, int(length * state.tolerated_percentage.evaluate_as(scope, "number") / 100))


async def fan_out(jobs: Sequence[Callable[[], Awaitable[Any]]], concurrency: int) -> list[Any]:
    """The jobs' results in order, at most `concurrency` of them running at once.

    Raises:
        Exception: the first a job raised, once the others have been cancelled and have ended.
    """
    if concurrency == 1 or len(jobs) == 1:
        return [await job() for job in jobs]
    results: list[Any] = [None] * len(jobs)
    pending = iter(enumerate(jobs))

    async def work() -> None:
        for index, job in pending:
            results[index] = await job()

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(jobs))):
                group.create_task(work())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return results
