"""What the offline account and its interpreter cost: bring-up, memory, transitions and decisions per CPU second."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import arguments, publish, spread
from infra.offline.account import Account
from infra.offline.clock import VirtualClock
from infra.offline.states import History, StateMachine, TaskContext, run_execution
from infra.offline.states.functions import Frame, execution_frame
from infra.offline.states.jsonata import Expression
from infra.offline.states.values import inward, outward
from infra.workflow import expression

SITUATION = Path(__file__).with_name("situation.json")
"""What decide.jsonata was asked in a run of the whole machine: seven refusals lie behind it, the eighth job learns."""

LOOP = {
    "QueryLanguage": "JSONata",
    "StartAt": "Wait",
    "States": {
        "Wait": {"Type": "Wait", "Seconds": "{% $states.input.look_s %}", "Next": "Look"},
        "Look": {
            "Type": "Task",
            "Resource": "arn:aws:states:::aws-sdk:toy:look",
            "Arguments": {"turn": "{% $states.input.turn %}"},
            "Output": {
                "look_s": "{% $states.input.look_s %}",
                "turns": "{% $states.input.turns %}",
                "turn": "{% $states.result.turn + 1 %}",
            },
            "Next": "Again",
        },
        "Again": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% $states.input.turn < $states.input.turns %}", "Next": "Wait"}],
            "Default": "Done",
        },
        "Done": {"Type": "Succeed"},
    },
}


class Echo:
    """A service that answers with its arguments at once."""

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        return arguments


def measure_account(folder: Path) -> dict[str, float]:
    """One life of an account, with the environment and the imports of a fresh process."""
    account = Account(folder)
    started = time.perf_counter()
    info = account.up()
    up_s = time.perf_counter() - started
    try:
        up_cpu_s = _cpu_s(info.pid)
        memory_mb = account.details()["memory_bytes"] / 1e6
        started = time.perf_counter()
    finally:
        account.down()
    down_s = time.perf_counter() - started
    return {"up_s": up_s, "up_cpu_s": up_cpu_s, "idle_memory_mb": memory_mb, "down_s": down_s}


def transitions_per_cpu_s(turns: int) -> float:
    """Of a Wait, Task, Choice loop in virtual time, history included."""
    machine = StateMachine.parse(LOOP)
    clock = VirtualClock(1_800_000_000.0)
    history = History(clock.now, max_events=sys.maxsize)
    execution = run_execution(
        machine,
        {"look_s": 60, "turn": 0, "turns": turns},
        arn="arn:aws:states:us-east-1:123456789012:execution:loop:benchmark",
        name="benchmark",
        role_arn="arn:aws:iam::123456789012:role/loop",
        services=Echo(),
        clock=clock,
        history=history,
    )
    started = time.process_time()
    result = clock.run(execution)
    cpu_s = time.process_time() - started
    assert result.status == "SUCCEEDED", result
    entered: int = sum(event["type"].endswith("StateEntered") for event in history.events)
    assert entered == 3 * turns + 1
    return entered / cpu_s


def decisions_per_cpu_s(decisions: int) -> float:
    """Of decide.jsonata, compiled once, in the situation that was recorded."""
    situation = json.loads(SITUATION.read_text(encoding="utf-8"))
    decide = Expression(expression("decide"), "decide")
    variables = {name: inward(value) for name, value in situation["variables"].items()}
    scope = Frame(execution_frame(lambda: situation["variables"]["now"]))
    scope.bindings.update(variables)
    decision = outward(decide.evaluate(scope))
    # What it was when it was recorded; the policy may have learned since, but it must still decide.
    assert decision["do"] == situation["decision"]["do"], decision
    started = time.process_time()
    for _ in range(decisions):
        decide.evaluate(scope)
    return decisions / (time.process_time() - started)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments(__doc__, rounds=5, turns=2000, decisions=500)
    options = parser.parse_args(argv)
    lives = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="slipstream-benchmark-") as folder:
            lives.append(measure_account(Path(folder) / "account"))
    figures = {name: spread([life[name] for life in lives]) for name in lives[0]}
    rates = [
        (transitions_per_cpu_s(options.turns), decisions_per_cpu_s(options.decisions)) for _ in range(options.rounds)
    ]
    figures["transitions_per_cpu_s"] = spread([transitions for transitions, _ in rates])
    figures["decisions_per_cpu_s"] = spread([decisions for _, decisions in rates])
    return publish("offline", figures, options)


def _cpu_s(pid: int) -> float:
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
