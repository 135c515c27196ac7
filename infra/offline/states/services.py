"""What Task states call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from infra.offline.clock import Clock

__all__ = ["Services", "TaskContext", "split_resource"]


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The task that calls.

    Attributes:
        execution_arn: of the execution the task belongs to.
        state_name: of the Task state.
        role_arn: the machine's role.
        clock: for whoever has to wait.
        submitted: `.sync` tasks call it with the answer to the request that started the job; history shows it.
        heartbeat: says the task is alive, for `HeartbeatSeconds`.
    """

    execution_arn: str
    state_name: str
    role_arn: str
    clock: Clock
    submitted: Callable[[Any], None]
    heartbeat: Callable[[], None]


class Services(Protocol):
    """The world outside the machine."""

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        """Carry out one attempt of a task; it is cancelled when the task times out or the execution stops.

        Args:
            resource: the state's `Resource`, such as `arn:aws:states:::aws-sdk:s3:getObject`.
            arguments: the evaluated `Arguments`, plain JSON.

        Returns:
            A JSON value.

        Raises:
            StatesError: the task failed.
        """
        ...


def split_resource(resource: str) -> tuple[str, str]:
    """`resourceType` and `resource` as history names them: `('aws-sdk:s3', 'getObject')`."""
    kind, _, action = resource.removeprefix("arn:aws:states:::").rpartition(":")
    return kind, action
