"""Run several pieces of work side by side; the first failure cancels the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

__all__ = ["fan_out"]


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
