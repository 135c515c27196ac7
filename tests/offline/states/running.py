"""Small machines, run in virtual time against scripted services."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.offline.clock import VirtualClock
from infra.offline.states import ExecutionResult, History, StateMachine, StatesError, TaskContext, run_execution

START = 1_700_000_000.0  # 2023-11-14T22:13:20Z
MACHINE_ARN = "arn:aws:states:us-east-1:123456789012:stateMachine:machine"
EXECUTION_ARN = "arn:aws:states:us-east-1:123456789012:execution:machine:run"
ROLE_ARN = "arn:aws:iam::123456789012:role/machine"
RESOURCE = "arn:aws:states:::aws-sdk:toy:"

Answer = Any | StatesError | Callable[[Any], Any]


class Toy:
    """A service that answers each action from a list: a value, an error to raise, or a function of the arguments.

    The last answer is given again and again. `{"sleep": seconds}` as arguments makes a call take that long.
    """

    def __init__(self, **answers: list[Answer]) -> None:
        self._answers = answers
        self.calls: list[tuple[str, Any]] = []
        self.contexts: list[TaskContext] = []
        self.cancelled = 0

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        action = resource.removeprefix(RESOURCE)
        self.calls.append((action, arguments))
        self.contexts.append(context)
        if isinstance(arguments, dict) and "sleep" in arguments:
            try:
                await context.clock.sleep(arguments["sleep"])
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        answers = self._answers.get(action, [arguments])
        answer = answers[min(sum(name == action for name, _ in self.calls), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer(arguments) if callable(answer) else answer


@dataclass
class Run:
    """What came of a run."""

    result: ExecutionResult
    history: History
    seconds: float

    @property
    def output(self) -> Any:
        assert self.result.status == "SUCCEEDED", self.result
        return self.result.output

    @property
    def error(self) -> str | None:
        assert self.result.status in ("FAILED", "TIMED_OUT"), self.result
        return self.result.error

    @property
    def cause(self) -> str:
        return self.result.cause or ""

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.history.events]


def machine(states: Mapping[str, Any], **top: Any) -> dict[str, Any]:
    """A definition that starts at the first of the states; states without a `Next` end it."""
    filled = {name: dict(state) for name, state in states.items()}
    for state in filled.values():
        if state.get("Type") not in ("Succeed", "Fail", "Choice") and "Next" not in state:
            state["End"] = True
    return {"QueryLanguage": "JSONata", "StartAt": next(iter(filled)), "States": filled, **top}


def run(
    states: Mapping[str, Any],
    input: Any = None,
    *,
    services: Any = None,
    max_events: int = 25_000,
    **top: Any,
) -> Run:
    """Run the states from the first to the end, in virtual time."""
    clock = VirtualClock(START)
    history = History(clock.now, max_events=max_events)
    result = clock.run(
        run_execution(
            StateMachine.parse(machine(states, **top)),
            {} if input is None else input,
            arn=EXECUTION_ARN,
            name="run",
            role_arn=ROLE_ARN,
            services=services or Toy(),
            clock=clock,
            history=history,
        )
    )
    return Run(result, history, clock.now() - START)


def task(action: str = "act", **fields: Any) -> dict[str, Any]:
    """A Task state of the toy service."""
    return {"Type": "Task", "Resource": RESOURCE + action, **fields}
