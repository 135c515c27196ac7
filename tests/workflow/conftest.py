"""Runs of whole machines in virtual time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infra.offline.clock import VirtualClock
from infra.offline.states import ExecutionResult, History, StateMachine, run_execution
from tests.workflow.fake_aws import FakeAws
from tests.workflow.jobs import toy_definition

START = 1_800_000_000.0
MACHINE = "arn:aws:states:us-east-1:111122223333:execution:slipstream-toy:"


@dataclass
class World:
    """One account, and executions of the toy job's machine in it."""

    folder: Path
    clock: VirtualClock = field(default_factory=lambda: VirtualClock(START))

    def __post_init__(self) -> None:
        self.aws = FakeAws(self.clock)

    def run(
        self, request: dict[str, Any] | None = None, *, name: str = "first", meanwhile: Any = None, **changes: str
    ) -> Run:
        """Run one execution to its end.

        Args:
            request: the execution's input; `look_s` and a data version are filled in.
            meanwhile: a coroutine function that runs beside it.
            changes: of the toy job.
        """
        return self.start(
            _machine(self.folder, **changes), {"data_version": "v1", **(request or {})}, MACHINE + name, meanwhile
        )

    def start(self, machine: StateMachine, request: dict[str, Any], arn: str, meanwhile: Any = None) -> Run:
        history = History(self.clock.now)

        async def both() -> ExecutionResult:
            import asyncio

            beside = asyncio.ensure_future(meanwhile()) if meanwhile else None
            try:
                return await run_execution(
                    machine,
                    request,
                    arn=arn,
                    name=arn.rpartition(":")[2],
                    role_arn="arn:aws:iam::111122223333:role/toy-workflow",
                    services=self.aws,
                    clock=self.clock,
                    history=history,
                )
            finally:
                if beside is not None:
                    beside.cancel()

        self.aws.executions[arn] = "RUNNING"
        result = self.clock.run(both())
        self.aws.executions[arn] = result.status
        return Run(self, arn, request, result, history)


@dataclass
class Run:
    """How an execution went."""

    world: World
    arn: str
    request: dict[str, Any]
    result: ExecutionResult
    history: History

    @property
    def id(self) -> str:
        given = self.request.get("resume") or self.request.get("run")
        return str(given or hashlib.sha256(self.arn.encode()).hexdigest()[:8])

    @property
    def ledger(self) -> dict[str, Any]:
        document: dict[str, Any] = self.world.aws.document(f"toy/{self.id}/ledger.json")
        return document

    def column(self, key: str) -> list[Any]:
        """One figure of every attempt."""
        return [attempt[key] for attempt in self.ledger["attempts"]]

    @property
    def reasons(self) -> list[str]:
        return [decision["reason"] for decision in self.ledger["decisions"]]


_MACHINES: dict[tuple[tuple[str, str], ...], StateMachine] = {}


def _machine(folder: Path, **changes: str) -> StateMachine:
    """Parsed once: it holds nothing of an execution."""
    key = tuple(sorted(changes.items()))
    if key not in _MACHINES:
        _MACHINES[key] = StateMachine.parse(toy_definition(folder, **changes))
    return _MACHINES[key]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def fates(world: World) -> Callable[..., None]:
    """Script what becomes of the Creates to come."""

    def script(*fates: Any) -> None:
        world.aws._fates.extend(fates)

    return script
