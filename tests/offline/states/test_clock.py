"""Virtual time: nothing waits, everything happens in order."""

from __future__ import annotations

import asyncio
import threading

import pytest

from infra.offline.clock import RealClock, VirtualClock

DAY = 86_400.0


def test_a_century_of_sleeps_ends_at_the_right_moment() -> None:
    clock = VirtualClock(1_700_000_000)

    async def sleep_daily() -> None:
        for _ in range(36_525):
            await clock.sleep(DAY)

    clock.run(sleep_daily())
    assert clock.now() == 1_700_000_000 + 36_525 * DAY


def test_sleepers_wake_in_order_of_their_moments() -> None:
    clock = VirtualClock(1_700_000_000)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.now() - 1_700_000_000))

    async def main() -> None:
        await asyncio.gather(sleeper("slow", 30), sleeper("quick", 0.25), sleeper("same", 30), sleeper("mid", 29.5))

    clock.run(main())
    assert woken == [("quick", 0.25), ("mid", 29.5), ("slow", 30.0), ("same", 30.0)]


def test_timeouts_of_asyncio_keep_the_same_time() -> None:
    clock = VirtualClock(1_700_000_000)

    async def main() -> None:
        async with asyncio.timeout(10):
            await clock.sleep(3600)

    with pytest.raises(TimeoutError):
        clock.run(main())
    assert clock.now() == 1_700_000_010


def test_time_stands_still_while_anything_runs() -> None:
    clock = VirtualClock()
    seen: set[float] = set()

    async def busy() -> None:
        for _ in range(100):
            seen.add(clock.now())
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(busy(), clock.sleep(5))

    clock.run(main())
    assert seen == {0.0}
    assert clock.now() == 5.0


def test_another_thread_can_wake_a_loop_without_timers() -> None:
    clock = VirtualClock()

    async def main() -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()
        threading.Thread(target=lambda: loop.call_soon_threadsafe(future.set_result, "woken")).start()
        return await future

    assert clock.run(main()) == "woken"


def test_the_real_clock_is_the_machine_s() -> None:
    clock = RealClock()

    async def main() -> float:
        before = clock.now()
        await clock.sleep(0.01)
        return clock.now() - before

    assert asyncio.run(main()) > 0
