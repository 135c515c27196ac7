"""Reads a definition: checks all of it, compiles its expressions, and tells every problem at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.offline.states import model
from infra.offline.states.errors import ALL, InvalidDefinition
from infra.offline.states.reader import IN_CATCHER, IN_RESULT, Fields, Report

__all__ = ["StateMachine"]

_MAX_DEFINITION_BYTES: Final = 1_048_576
_MAX_NAME_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class StateMachine:
    """A state machine ready to run; it holds nothing of an execution and may serve many at once."""

    block: model.Block
    timeout_s: float | None
    comment: str | None

    @classmethod
    def parse(cls, definition: Mapping[str, Any] | str) -> StateMachine:
        """Read a definition in Amazon States Language (JSONata only), a mapping or JSON text.

        Raises:
            InvalidDefinition: CreateStateMachine would refuse it; `problems` has every reason.
        """
        report = Report()
        document = _document(definition, report)
        fields = Fields(document, "", report)
        language = fields.text("QueryLanguage", default="JSONPath")
        timeout = fields.number("TimeoutSeconds", 1, 99_999_999)
        comment = fields.text("Comment")
        if fields.text("Version", default="1.0") != "1.0":
            report.schema("Version must be '1.0'", "/Version")
        names: set[str] = set()
        block = _Blocks(report, names, language or "").read(fields, outer=frozenset())
        fields.refuse_rest()
        if report.problems:
            raise InvalidDefinition(report.problems)
        return cls(block, timeout, comment)


def _document(definition: Mapping[str, Any] | str, report: Report) -> dict[str, Any]:
    if isinstance(definition, str):
        if len(definition.encode()) > _MAX_DEFINITION_BYTES:
            report.add("INVALID_JSON_DESCRIPTION", f"the definition is longer than {_MAX_DEFINITION_BYTES} bytes", "")
        try:
            definition = json.loads(definition)
        except ValueError as error:
            report.add("INVALID_JSON_DESCRIPTION", f"not JSON: {error}", "")
            raise InvalidDefinition(report.problems) from None
    if not isinstance(definition, Mapping):
        report.schema("the definition must be an object", "")
        raise InvalidDefinition(report.problems)
    return dict(definition)


class _Blocks:
    """Reads blocks of states; blocks nest in Parallel and Map, names are unique across all of them."""

    def __init__(self, report: Report, names: set[str], language: str) -> None:
        self._report = report
        self._names = names
        self._language = language

    def read(self, fields: Fields, outer: frozenset[str]) -> model.Block:
        """Read `StartAt` and `States`.

        Args:
            outer: variables that enclosing blocks assign; they can be read here but not assigned.
        """
        start_at = fields.text("StartAt", required=True) or ""
        documents = fields.mapping("States", required=True)
        location = f"{fields.location}/States"
        assigned = outer | frozenset(_assigned_names(documents))
        states: dict[str, model.State] = {}
        for name, document in documents.items():
            if not 1 <= len(name) <= _MAX_NAME_CHARS:
                self._report.schema(f"a state's name has 1 to {_MAX_NAME_CHARS} characters", f"{location}/{name}")
            if name in self._names:
                self._report.add("DUPLICATE_STATE_NAME", f"State name '{name}' is used twice", f"{location}/{name}")
            self._names.add(name)
            state = self._state(name, Fields(document, f"{location}/{name}", self._report, outer=outer), assigned)
            if state is not None:
                states[name] = state
        self._check_flow(start_at, documents, states, fields.location)
        return model.Block(start_at, states)

    def _state(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.State | None:
        kind = fields.text("Type")
        fields.text("Comment")
        if fields.text("QueryLanguage", default=self._language) != "JSONata":
            self._report.schema("QueryLanguage must be 'JSONata': JSONPath machines are not emulated", fields.location)
        read = _READERS.get(kind or "")
        if read is None:
            self._report.schema(f"Type must be one of {', '.join(_READERS)}", f"{fields.location}/Type")
            return None
        state = read(self, name, fields, assigned)
        fields.refuse_rest()
        return state

    def _check_flow(
        self, start_at: str, documents: Mapping[str, Any], states: Mapping[str, model.State], location: str
    ) -> None:
        if start_at and start_at not in documents:
            self._report.target("StartAt", start_at, f"{location}/StartAt")
        reachable = {start_at}
        for name, state in states.items():
            for target, where in _targets(state):
                reachable.add(target)
                if target not in documents:
                    self._report.target("Next", target, f"{location}/States/{name}{where}")
        for name in documents:
            if name not in reachable:
                self._report.add(
                    "MISSING_TRANSITION_TARGET", f"State '{name}' is not reachable", f"{location}/States/{name}"
                )
        ends = any(state.next is None and not isinstance(state, model.Choice) for state in states.values())
        if not ends and len(states) == len(documents):
            self._report.add("MISSING_END_STATE", "No state ends the block", f"{location}/States")

    # -- one reader per type of state ------------------------------------------------------------------------------

    def pass_(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Pass:
        return model.Pass(
            name=name, next=fields.next(), assign=fields.assign("Assign"), output=fields.template("Output")
        )

    def succeed(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Succeed:
        return model.Succeed(name=name, assign={}, output=fields.template("Output"))

    def fail(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Fail:
        error, cause = fields.template("Error", kind="string"), fields.template("Cause", kind="string")
        return model.Fail(name=name, assign={}, error=error, cause=cause)

    def wait(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Wait:
        seconds, timestamp = fields.template("Seconds", kind="number"), fields.template("Timestamp", kind="string")
        if (seconds is None) == (timestamp is None):
            self._report.schema("exactly one of Seconds and Timestamp is needed", fields.location)
        return model.Wait(
            name=name,
            next=fields.next(),
            assign=fields.assign("Assign"),
            output=fields.template("Output"),
            seconds=seconds,
            timestamp=timestamp,
        )

    def choice(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Choice:
        rules = tuple(_choice_rule(rule) for rule in fields.items("Choices", required=True))
        if not rules:
            self._report.schema("Choices must hold at least one rule", fields.location)
        return model.Choice(
            name=name,
            next=fields.text("Default"),
            assign=fields.assign("Assign"),
            output=fields.template("Output"),
            rules=rules,
        )

    def task(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Task:
        timeout = fields.template("TimeoutSeconds", kind="number")
        heartbeat = fields.template("HeartbeatSeconds", kind="number")
        resource = fields.text("Resource", required=True) or ""
        if not resource.startswith("arn:"):
            self._report.schema("Resource must be an ARN", f"{fields.location}/Resource")
        arguments = fields.template("Arguments")
        fields.mapping("Credentials")  # roles are not emulated
        return model.Task(
            name=name,
            **_resilient(fields),
            resource=resource,
            arguments=arguments,
            timeout=timeout,
            heartbeat=heartbeat,
        )

    def parallel(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Parallel:
        branches = []
        for branch in fields.items("Branches", required=True):
            branches.append(self.read(branch, assigned))
            branch.text("Comment")
            branch.refuse_rest()
        if not branches:
            self._report.schema("Branches must hold at least one branch", fields.location)
        arguments = fields.template("Arguments")
        return model.Parallel(name=name, **_resilient(fields), branches=tuple(branches), arguments=arguments)

    def map(self, name: str, fields: Fields, assigned: frozenset[str]) -> model.Map:
        processor = fields.child("ItemProcessor")
        config = processor.mapping("ProcessorConfig")
        if config.get("Mode", "INLINE") != "INLINE":
            self._report.schema("only Mode INLINE is emulated", f"{processor.location}/ProcessorConfig")
        block = self.read(processor, assigned)
        processor.text("Comment")
        processor.refuse_rest()
        return model.Map(
            name=name,
            processor=block,
            items=fields.template("Items", kind="array"),
            item_selector=fields.template("ItemSelector"),
            max_concurrency=fields.template("MaxConcurrency", kind="number"),
            tolerated_count=fields.template("ToleratedFailureCount", kind="number"),
            tolerated_percentage=fields.template("ToleratedFailurePercentage", kind="number"),
            **_resilient(fields),
        )


_READERS: Final[Mapping[str, Callable[[_Blocks, str, Fields, frozenset[str]], model.State]]] = {
    "Pass": _Blocks.pass_,
    "Task": _Blocks.task,
    "Choice": _Blocks.choice,
    "Wait": _Blocks.wait,
    "Succeed": _Blocks.succeed,
    "Fail": _Blocks.fail,
    "Parallel": _Blocks.parallel,
    "Map": _Blocks.map,
}


def _choice_rule(fields: Fields) -> model.ChoiceRule:
    rule = model.ChoiceRule(
        condition=fields.required_template("Condition", kind="boolean"),
        next=fields.text("Next", required=True) or "",
        assign=fields.assign("Assign"),
        output=fields.template("Output"),
    )
    fields.text("Comment")
    fields.refuse_rest()
    return rule


def _resilient(fields: Fields) -> dict[str, Any]:
    """The members that Task, Parallel and Map have in common."""
    return {
        "next": fields.next(),
        "assign": fields.assign("Assign", IN_RESULT),
        "output": fields.template("Output", available=IN_RESULT),
        "retry": tuple(_retrier(retrier) for retrier in fields.items("Retry")),
        "catch": tuple(_catcher(catcher) for catcher in fields.items("Catch")),
    }


def _retrier(fields: Fields) -> model.Retrier:
    defaults = model.Retrier(())
    interval = fields.number("IntervalSeconds", 1, 99_999_999, whole=True)
    attempts = fields.number("MaxAttempts", 0, 99_999_999, whole=True)
    max_delay = fields.number("MaxDelaySeconds", 1, 31_622_400, whole=True)
    rate = fields.number("BackoffRate", 1.0, float("inf"))
    jitter = fields.text("JitterStrategy", default="NONE")
    if jitter not in ("NONE", "FULL"):
        fields.report.schema("JitterStrategy must be 'NONE' or 'FULL'", fields.location)
    if max_delay is not None and max_delay <= (interval or defaults.interval_s):
        fields.report.schema("MaxDelaySeconds must be greater than IntervalSeconds", fields.location)
    retrier = model.Retrier(
        error_equals=_error_equals(fields),
        interval_s=defaults.interval_s if interval is None else interval,
        max_attempts=defaults.max_attempts if attempts is None else int(attempts),
        backoff_rate=defaults.backoff_rate if rate is None else rate,
        max_delay_s=max_delay,
        full_jitter=jitter == "FULL",
    )
    fields.text("Comment")
    fields.refuse_rest()
    return retrier


def _catcher(fields: Fields) -> model.Catcher:
    catcher = model.Catcher(
        error_equals=_error_equals(fields),
        next=fields.text("Next", required=True) or "",
        assign=fields.assign("Assign", IN_CATCHER),
        output=fields.template("Output", available=IN_CATCHER),
    )
    fields.text("Comment")
    fields.refuse_rest()
    return catcher


def _error_equals(fields: Fields) -> tuple[str, ...]:
    names = fields.texts("ErrorEquals")
    if not names:
        fields.report.schema("ErrorEquals must name at least one error", fields.location)
    if ALL in names and (len(names) > 1 or not fields.last):
        fields.report.schema(f"{ALL} must stand alone and in the last entry", f"{fields.location}/ErrorEquals")
    return names


def _targets(state: model.State) -> list[tuple[str, str]]:
    """Where a state can go, with the place that says so."""
    targets = [(state.next, "/Default" if isinstance(state, model.Choice) else "/Next")] if state.next else []
    if isinstance(state, model.Choice):
        targets += [(rule.next, f"/Choices/{index}/Next") for index, rule in enumerate(state.rules)]
    if isinstance(state, model.Resilient):
        targets += [(catcher.next, f"/Catch/{index}/Next") for index, catcher in enumerate(state.catch)]
    return targets


def _assigned_names(documents: Mapping[str, Any]) -> set[str]:
    """Variables that the states of one block assign, not counting blocks inside."""
    names: set[str] = set()
    for document in documents.values():
        if not isinstance(document, Mapping):
            continue
        rules = [*_list(document.get("Choices")), *_list(document.get("Catch"))]
        for holder in (document, *(rule for rule in rules if isinstance(rule, Mapping))):
            assign = holder.get("Assign")
            if isinstance(assign, Mapping):
                names.update(assign)
    return names


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
