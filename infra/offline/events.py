"""EventBridge: changes of executions and jobs, delivered to the state machines that rules name as targets."""

from __future__ import annotations

import json
import logging
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from moto.events.models import events_backends

from .sagemaker.jobs import TrainingJob

__all__ = ["EventBus", "job_detail", "target_input"]

log = logging.getLogger(__name__)

_PLACEHOLDER = re.compile(r"<([A-Za-z0-9_.\-]+)>")
_MISSING = object()

Event = dict[str, Any]


class EventBus:
    """The default event bus.

    Args:
        start_execution: starts a state machine, by ARN, with an input (JSON text).
    """

    def __init__(self, *, account: str, region: str, start_execution: Callable[[str, str], None]) -> None:
        self._account = account
        self._region = region
        self._start_execution = start_execution

    def publish(self, source: str, detail_type: str, *, resources: list[str], detail: Mapping[str, Any]) -> None:
        """Deliver an event to every enabled rule that matches. A target that fails does not keep it from others."""
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": detail_type,
            "source": source,
            "account": self._account,
            "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": self._region,
            "resources": resources,
            "detail": dict(detail),
        }
        rules = list(events_backends[self._account][self._region].event_buses["default"].rules.values())
        for rule in rules:
            if rule.state == "ENABLED" and rule.event_pattern.matches_event(event):  # type: ignore[arg-type]
                for target in list(rule.targets):
                    self._deliver(rule.name, target, event)

    def _deliver(self, rule: str, target: Mapping[str, Any], event: Event) -> None:
        arn = target["Arn"]
        try:
            if ":stateMachine:" not in arn:
                log.warning("rule %s: the offline account delivers to state machines only, not to %s", rule, arn)
                return
            self._start_execution(arn, target_input(target, event))
        except Exception:
            log.exception("rule %s: cannot deliver to %s", rule, arn)


def target_input(target: Mapping[str, Any], event: Event) -> str:
    """What a target receives: its constant Input, its InputPath, its InputTransformer, or the event (JSON text)."""
    if "Input" in target:
        return str(target["Input"])
    if "InputPath" in target:
        value = _at(event, target["InputPath"])
        return json.dumps(None if value is _MISSING else value)
    if "InputTransformer" in target:
        transformer = target["InputTransformer"]
        paths = transformer.get("InputPathsMap", {})
        return _transform(transformer["InputTemplate"], {name: _at(event, path) for name, path in paths.items()}, event)
    return json.dumps(event)


def job_detail(job: TrainingJob) -> dict[str, Any]:
    """Detail of a 'SageMaker Training Job State Change': DescribeTrainingJob with times in milliseconds."""
    detail: dict[str, Any] = json.loads(json.dumps(job.describe(), default=_milliseconds))
    return detail | {"Tags": {tag["Key"]: tag["Value"] for tag in job.request.get("Tags", [])}}


def _milliseconds(value: Any) -> int:
    assert isinstance(value, datetime)
    return int(value.timestamp() * 1000)


def _at(event: Any, path: str) -> Any:
    """The value at `$.a.b[0]`."""
    value = event
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path.removeprefix("$")):
        try:
            value = value[int(index)] if index else value[name]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return value


def _transform(template: str, values: Mapping[str, Any], event: Event) -> str:
    """Fill a template. A placeholder is replaced by JSON, or, inside a string of the template, by text."""
    known = dict(values) | {
        "aws.events.event.json": event,
        "aws.events.event": event,
        "aws.events.event.ingestion-time": event["time"],
    }
    parts: list[str] = []
    position = 0
    for match in _PLACEHOLDER.finditer(template):
        parts.append(template[position : match.start()])
        position = match.end()
        name = match.group(1)
        if name not in known:
            parts.append(match.group())
            continue
        value = known[name]
        parts.append(_as_text(value) if _inside_string("".join(parts)) else _as_json(value))
    return "".join(parts) + template[position:]


def _as_json(value: Any) -> str:
    return "null" if value is _MISSING else json.dumps(value)


def _as_text(value: Any) -> str:
    if value is _MISSING:
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    return json.dumps(text)[1:-1]


def _inside_string(text: str) -> bool:
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', text)) % 2 == 1
