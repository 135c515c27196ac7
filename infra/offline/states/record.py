"""What is known of one execution: the answers to DescribeExecution and GetExecutionHistory come from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from infra.offline.states.history import History

__all__ = ["ABORTED", "RUNNING", "ExecutionRecord"]

RUNNING = "RUNNING"
ABORTED = "ABORTED"


@dataclass(slots=True)
class ExecutionRecord:
    """One execution; `input` and `output` are JSON text, times are epoch seconds.

    Attributes:
        status: `RUNNING`, `SUCCEEDED`, `FAILED`, `TIMED_OUT` or `ABORTED`.
        definition: the machine's definition when the execution started.
    """

    arn: str
    name: str
    machine_arn: str
    role_arn: str
    definition: str
    input: str
    history: History
    start_time: float
    status: str = RUNNING
    stop_time: float | None = None
    output: str | None = None
    error: str | None = None
    cause: str | None = None

    def status_change(self) -> dict[str, Any]:
        """The `detail` of EventBridge's event "Step Functions Execution Status Change"; times in milliseconds."""
        whole = {"included": True}
        return {
            "executionArn": self.arn,
            "stateMachineArn": self.machine_arn,
            "name": self.name,
            "status": self.status,
            "startDate": round(self.start_time * 1000),
            "stopDate": None if self.stop_time is None else round(self.stop_time * 1000),
            "input": self.input,
            "inputDetails": whole,
            "output": self.output,
            "outputDetails": None if self.output is None else whole,
            "error": self.error,
            "cause": self.cause,
        }

    def to_json(self) -> dict[str, Any]:
        """Everything but the definition, which many records share."""
        return {
            "arn": self.arn,
            "name": self.name,
            "machine_arn": self.machine_arn,
            "role_arn": self.role_arn,
            "input": self.input,
            "start_time": self.start_time,
            "status": self.status,
            "stop_time": self.stop_time,
            "output": self.output,
            "error": self.error,
            "cause": self.cause,
            "events": list(self.history.events),
        }

    @classmethod
    def from_json(cls, document: dict[str, Any], definition: str, history: History) -> ExecutionRecord:
        """The record that `to_json` wrote; its events go into `history`."""
        members = dict(document)
        history.events.extend(json.loads(json.dumps(members.pop("events"))))
        return cls(definition=definition, history=history, **members)
