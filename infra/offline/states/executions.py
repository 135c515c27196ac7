"""The executions of an account: what StartExecution, StopExecution, ListExecutions and their kin act on.

Executions run on one event loop in a thread of its own; every public method may be called from any thread. Whatever
changes a running execution happens on the loop, so an end and a stop cannot both win.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Final, TypeVar

from infra.offline.clock import Clock, RealClock
from infra.offline.states.errors import MAX_CAUSE_CHARS, RUNTIME
from infra.offline.states.history import Event, History
from infra.offline.states.interpreter import ExecutionResult, run_execution
from infra.offline.states.machine import StateMachine
from infra.offline.states.record import ABORTED, RUNNING, ExecutionRecord
from infra.offline.states.services import Services
from infra.offline.states.values import dumps
from infra.offline.states.visit import MAX_PAYLOAD_BYTES

__all__ = ["ExecutionError", "Executions", "parse_machine"]

log = logging.getLogger(__name__)

T = TypeVar("T")

_FORBIDDEN_IN_NAMES: Final = frozenset(' <>{}[]?*"#%\\^|~`$&,;:/') | {
    chr(code) for code in (*range(32), *range(127, 160))
}
_MAX_NAME_CHARS: Final = 80
_CUT_OFF: Final = "The offline account ended while this execution ran."

parse_machine = lru_cache(maxsize=64)(StateMachine.parse)
"""`StateMachine.parse` for text; a machine is compiled once, however often it is started."""


class ExecutionError(Exception):
    """A refusal of the Step Functions API; `code` is AWS's name for it."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Executions:
    """Starts, follows and stops executions.

    Args:
        services: what their Task states call.
        clock: by which they live.
    """

    def __init__(self, services: Services, clock: Clock | None = None) -> None:
        self._services = services
        self._clock = clock or RealClock()
        self._records: dict[str, ExecutionRecord] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listeners: list[Callable[[dict[str, Any]], None]] = []
        self._lock = threading.Lock()
        self._loop = self._clock.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="states", daemon=True)
        self._thread.start()
        # One thread, so that an execution's changes arrive in order; not the loop's, as listeners may start executions.
        self._notifier = ThreadPoolExecutor(1, thread_name_prefix="states-events")

    def on_status_change(self, listener: Callable[[dict[str, Any]], None]) -> None:
        """Call `listener` with the detail of EventBridge's status change event at every start and end."""
        self._listeners.append(listener)

    # -- the API's operations --------------------------------------------------------------------------------------

    def start(
        self, machine_arn: str, definition: str, role_arn: str, *, name: str | None = None, input: str = "{}"
    ) -> ExecutionRecord:
        """Start an execution, or return the running one of the same name and input.

        Raises:
            ExecutionError: the name is taken or not one, or the input is not JSON or too long.
            InvalidDefinition: the definition is not one.
        """
        name = name or str(uuid.uuid4())
        _check_name(name)
        payload = _read_input(input)
        machine = parse_machine(definition)
        arn = f"{machine_arn.replace(':stateMachine:', ':execution:')}:{name}"
        with self._lock:
            if taken := self._records.get(arn):
                if taken.status == RUNNING and taken.input == input:
                    return taken
                raise ExecutionError("ExecutionAlreadyExists", f"Execution Already Exists: '{arn}'")
            history = History(self._clock.now)
            now = self._clock.now()
            record = ExecutionRecord(arn, name, machine_arn, role_arn, definition, input, history, now)
            self._records[arn] = record
        self._notify(record)
        self._loop.call_soon_threadsafe(self._begin, record, machine, payload)
        return record

    def describe(self, arn: str) -> ExecutionRecord:
        """The execution of this ARN.

        Raises:
            ExecutionError: there is none.
        """
        record = self._records.get(arn)
        if record is None:
            raise ExecutionError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")
        return record

    def stop(self, arn: str, *, error: str | None = None, cause: str | None = None) -> ExecutionRecord:
        """Abort an execution; one that has ended stays as it is. Its running tasks are cancelled.

        Raises:
            ExecutionError: there is none.
        """
        record = self.describe(arn)
        self._on_loop(self._abort(record, error, cause))
        return record

    def list_executions(
        self, machine_arn: str, *, status: str | None = None, max_results: int = 100, next_token: str | None = None
    ) -> tuple[list[ExecutionRecord], str | None]:
        """One page of a machine's executions, newest first, and the token of the next page.

        Raises:
            ExecutionError: the token is not one.
        """
        found = [
            record
            for record in reversed(list(self._records.values()))
            if record.machine_arn == machine_arn and status in (None, record.status)
        ]
        found.sort(key=lambda record: record.start_time, reverse=True)
        start = 0
        if next_token is not None:  # the last one shown: new executions come in front of it and shift nothing
            start = next((index + 1 for index, record in enumerate(found) if record.name == next_token), -1)
            if start < 0:
                raise ExecutionError("InvalidToken", f"Invalid Token: '{next_token}'")
        page = found[start : start + (max_results or 100)]
        more = start + len(page) < len(found)
        return page, page[-1].name if more else None

    def get_history(
        self, arn: str, *, reverse: bool = False, max_results: int = 100, next_token: str | None = None
    ) -> tuple[list[Event], str | None]:
        """One page of an execution's events and the token of the next page.

        Raises:
            ExecutionError: there is no such execution, or the token is not one.
        """
        events = self.describe(arn).history.events
        size = max_results or 100
        if next_token is not None and not next_token.isdecimal():
            raise ExecutionError("InvalidToken", f"Invalid Token: '{next_token}'")
        if reverse:
            end = len(events) if next_token is None else int(next_token)
            page = events[max(0, end - size) : end][::-1]
            return page, str(end - size) if end > size else None
        start = 0 if next_token is None else int(next_token)
        page = events[start : start + size]
        return page, str(start + size) if start + size < len(events) else None

    # -- survival --------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """All executions as JSON, for `restore` in a later life of the account."""
        definitions: dict[str, str] = {}
        executions = []
        for record in list(self._records.values()):
            digest = hashlib.sha256(record.definition.encode()).hexdigest()[:16]
            definitions[digest] = record.definition
            executions.append({**record.to_json(), "definition": digest})
        return {"definitions": definitions, "executions": executions}

    def restore(self, snapshot: Mapping[str, Any]) -> list[str]:
        """Take over the executions of a snapshot; those that ran then are aborted, and their ARNs returned."""
        cut_off = []
        for document in snapshot["executions"]:
            members = dict(document)
            definition = snapshot["definitions"][members.pop("definition")]
            record = ExecutionRecord.from_json(members, definition, History(self._clock.now))
            self._records[record.arn] = record
            if record.status == RUNNING:
                self._on_loop(self._abort(record, None, _CUT_OFF))
                cut_off.append(record.arn)
        return cut_off

    def join(self, arn: str, timeout_s: float | None = None) -> ExecutionRecord:
        """Wait until an execution has ended.

        Raises:
            TimeoutError: it still runs after `timeout_s` seconds.
        """
        record = self.describe(arn)
        self._on_loop(self._ended(arn), timeout_s)
        return record

    def close(self) -> None:
        """Cancel what runs and end the threads; executions keep their status for a snapshot."""
        self._on_loop(self._cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._notifier.shutdown()

    # -- on the loop -----------------------------------------------------------------------------------------------

    def _on_loop(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def _begin(self, record: ExecutionRecord, machine: StateMachine, payload: Any) -> None:
        if record.status == RUNNING:
            task = self._loop.create_task(self._run(record, machine, payload))
            self._tasks[record.arn] = task
            task.add_done_callback(lambda _: self._tasks.pop(record.arn, None))

    async def _run(self, record: ExecutionRecord, machine: StateMachine, payload: Any) -> None:
        try:
            result = await run_execution(
                machine,
                payload,
                arn=record.arn,
                name=record.name,
                role_arn=record.role_arn,
                services=self._services,
                clock=self._clock,
                history=record.history,
            )
        except Exception as error:  # a fault of the emulator: it must end the execution, and be seen
            log.exception("%s: the interpreter failed", record.arn)
            result = ExecutionResult("FAILED", error=RUNTIME, cause=f"{type(error).__name__}: {error}")
            details = {"error": RUNTIME, "cause": result.cause}
            record.history.finish("ExecutionFailed", "executionFailedEventDetails", details)
        if record.status == RUNNING:
            record.output = None if result.error is not None else dumps(result.output)
            self._end(record, result.status, result.error, result.cause)

    async def _abort(self, record: ExecutionRecord, error: str | None, cause: str | None) -> None:
        if record.status != RUNNING:
            return
        cause = cause and cause[:MAX_CAUSE_CHARS]
        details = {name: value for name, value in (("error", error), ("cause", cause)) if value is not None}
        record.history.finish("ExecutionAborted", "executionAbortedEventDetails", details)
        self._end(record, ABORTED, error, cause)
        if task := self._tasks.get(record.arn):
            task.cancel()

    def _end(self, record: ExecutionRecord, status: str, error: str | None, cause: str | None) -> None:
        record.error, record.cause = error, cause
        record.stop_time = self._clock.now()
        record.status = status
        self._notify(record)

    async def _ended(self, arn: str) -> None:
        if task := self._tasks.get(arn):
            await asyncio.wait([task])

    async def _cancel_all(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _notify(self, record: ExecutionRecord) -> None:
        detail = record.status_change()
        for listener in self._listeners:
            self._notifier.submit(_tell, listener, detail)


def _tell(listener: Callable[[dict[str, Any]], None], detail: dict[str, Any]) -> None:
    try:
        listener(detail)
    except Exception:
        log.exception("a listener failed on %s of %s", detail["status"], detail["executionArn"])


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= _MAX_NAME_CHARS or any(character in _FORBIDDEN_IN_NAMES for character in name):
        raise ExecutionError("InvalidName", f"Invalid Name: '{name}'")


def _read_input(text: str) -> Any:
    if len(text.encode()) > MAX_PAYLOAD_BYTES:
        raise ExecutionError("ValidationException", f"The input is longer than {MAX_PAYLOAD_BYTES} bytes")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ExecutionError("InvalidExecutionInput", f"Invalid State Machine Execution Input: '{error}'") from None
