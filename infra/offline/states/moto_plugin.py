"""Puts the interpreter behind moto's Step Functions API.

moto keeps the state machines (those that CloudFormation makes included) with their tags, versions and aliases;
executions and the check of definitions are ours. `install` replaces members of moto's classes, so it acts on the whole
process; moto's version is pinned, and a test covers each operation.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final

from moto.core.exceptions import AWSError
from moto.core.responses import ActionResult
from moto.stepfunctions.models import StateMachine as MotoStateMachine
from moto.stepfunctions.models import StepFunctionBackend
from moto.stepfunctions.responses import StepFunctionResponse

from infra.offline.states.errors import InvalidDefinition
from infra.offline.states.executions import ExecutionError, Executions, parse_machine
from infra.offline.states.record import RUNNING, ExecutionRecord

__all__ = ["install"]

_PAYLOADS: Final = frozenset({"input", "output", "parameters", "assignedVariables"})
_create_state_machine = StepFunctionBackend.create_state_machine
_update_state_machine = StepFunctionBackend.update_state_machine


def install(executions: Executions, replace: Callable[[type, str, Any], None] = setattr) -> None:
    """Serve executions from this registry, and refuse state machines that the interpreter cannot read.

    Args:
        replace: puts a member into a class; a test gives one that can be undone.
    """
    api = _Api(executions)
    for operation in (
        "start_execution",
        "describe_execution",
        "describe_state_machine_for_execution",
        "list_executions",
        "stop_execution",
        "get_execution_history",
        "redrive_execution",
        "start_sync_execution",
        "validate_state_machine_definition",
    ):
        replace(StepFunctionResponse, operation, _operation(getattr(api, operation)))
    replace(StepFunctionBackend, "create_state_machine", _create)
    replace(StepFunctionBackend, "update_state_machine", _update)


def _operation(method: Callable[[StepFunctionResponse], dict[str, Any]]) -> Callable[[StepFunctionResponse], Any]:
    @wraps(method)
    def respond(request: StepFunctionResponse) -> ActionResult:
        try:
            return ActionResult(method(request))
        except ExecutionError as error:
            raise AWSError(str(error), error.code) from error
        except InvalidDefinition as error:
            raise AWSError(str(error), "InvalidDefinition") from error

    return respond


def _create(self: StepFunctionBackend, name: str, definition: str, *args: Any, **options: Any) -> MotoStateMachine:
    _check(definition)
    machine = _create_state_machine(self, name, definition, *args, **options)
    if machine.definition != definition:  # moto hands out the old one
        raise AWSError(f"State Machine Already Exists: '{machine.arn}'", "StateMachineAlreadyExists")
    return machine


def _update(
    self: StepFunctionBackend, arn: str, definition: str | None = None, *args: Any, **options: Any
) -> MotoStateMachine:
    if definition is not None:
        _check(definition)
    return _update_state_machine(self, arn, definition, *args, **options)


def _check(definition: str) -> None:
    try:
        parse_machine(definition)
    except InvalidDefinition as error:
        raise AWSError(str(error), "InvalidDefinition") from error


class _Api:
    """The operations; each takes moto's request and returns the answer of the API's model."""

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    def start_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        machine = request.stepfunction_backend.describe_state_machine(request._get_param("stateMachineArn"))
        record = self._executions.start(
            machine.arn,
            machine.definition,
            machine.roleArn,
            name=request._get_param("name"),
            input=request._get_param("input", if_none="{}"),
        )
        return {"executionArn": record.arn, "startDate": _date(record.start_time)}

    def start_sync_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        raise ExecutionError("StateMachineTypeNotSupported", "Express state machines are not emulated")

    def redrive_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        message = "Redrive is not emulated: start a new execution"
        raise ExecutionError("ExecutionNotRedrivable", message)

    def describe_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        record = self._record(request)
        answer: dict[str, Any] = {
            **_list_item(record),
            "input": record.input,
            "inputDetails": {"included": True},
            "redriveStatus": "NOT_REDRIVABLE",
            "redriveStatusReason": "Redrive is not emulated",
        }
        if record.output is not None:
            answer |= {"output": record.output, "outputDetails": {"included": True}}
        return answer | {
            name: value for name, value in (("error", record.error), ("cause", record.cause)) if value is not None
        }

    def describe_state_machine_for_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        record = self._record(request)
        return {
            "stateMachineArn": record.machine_arn,
            "name": record.machine_arn.split(":")[6],
            "definition": record.definition,
            "roleArn": record.role_arn,
            "updateDate": _date(record.start_time),
        }

    def list_executions(self, request: StepFunctionResponse) -> dict[str, Any]:
        machine = request.stepfunction_backend.describe_state_machine(request._get_param("stateMachineArn"))
        page, token = self._executions.list_executions(
            machine.arn,
            status=request._get_param("statusFilter"),
            max_results=request._get_int_param("maxResults") or 100,
            next_token=request._get_param("nextToken"),
        )
        return {"executions": [_list_item(record) for record in page], "nextToken": token}

    def stop_execution(self, request: StepFunctionResponse) -> dict[str, Any]:
        record = self._executions.stop(
            request._get_param("executionArn"), error=request._get_param("error"), cause=request._get_param("cause")
        )
        return {"stopDate": _date(record.stop_time or record.start_time)}

    def get_execution_history(self, request: StepFunctionResponse) -> dict[str, Any]:
        events, token = self._executions.get_history(
            request._get_param("executionArn"),
            reverse=bool(request._get_param("reverseOrder")),
            max_results=request._get_int_param("maxResults") or 100,
            next_token=request._get_param("nextToken"),
        )
        with_data = request._get_param("includeExecutionData", if_none=True)
        return {"events": [_event(event, with_data) for event in events], "nextToken": token}

    def validate_state_machine_definition(self, request: StepFunctionResponse) -> dict[str, Any]:
        try:
            parse_machine(request._get_param("definition"))
        except InvalidDefinition as error:
            limit = request._get_int_param("maxResults") or 100
            diagnostics = [
                {
                    "severity": "ERROR",
                    "code": problem.code,
                    "message": problem.message,
                    "location": problem.location or "/",
                }
                for problem in error.problems
            ]
            return {"result": "FAIL", "diagnostics": diagnostics[:limit], "truncated": len(diagnostics) > limit}
        return {"result": "OK", "diagnostics": [], "truncated": False}

    def _record(self, request: StepFunctionResponse) -> ExecutionRecord:
        return self._executions.describe(request._get_param("executionArn"))


def _list_item(record: ExecutionRecord) -> dict[str, Any]:
    item: dict[str, Any] = {
        "executionArn": record.arn,
        "stateMachineArn": record.machine_arn,
        "name": record.name,
        "status": record.status,
        "startDate": _date(record.start_time),
        "redriveCount": 0,
    }
    if record.status != RUNNING and record.stop_time is not None:
        item["stopDate"] = _date(record.stop_time)
    return item


def _event(event: dict[str, Any], with_data: bool) -> dict[str, Any]:
    shown = {**event, "timestamp": _date(event["timestamp"])}
    if with_data:
        return shown
    return {
        name: {key: item for key, item in value.items() if key not in _PAYLOADS} if isinstance(value, dict) else value
        for name, value in shown.items()
    }


def _date(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
