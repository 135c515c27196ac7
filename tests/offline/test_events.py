"""What EventBridge hands to a target."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.offline.events import target_input

EVENT: dict[str, Any] = {
    "id": "1",
    "time": "2026-11-30T20:00:00Z",
    "detail": {
        "executionArn": "arn:aws:states:us-east-1:123456789012:execution:slipstream-flights:x",
        "input": '{"note": "say \\"hi\\" <name>"}',
        "stopDate": 12,
        "output": None,
        "list": [{"a": 1}],
    },
}


def transformed(template: str, **paths: str) -> str:
    return target_input({"InputTransformer": {"InputPathsMap": paths, "InputTemplate": template}}, EVENT)


def test_without_anything_a_target_gets_the_event() -> None:
    assert json.loads(target_input({}, EVENT)) == EVENT


def test_a_constant_and_a_path() -> None:
    assert target_input({"Input": '{"a": 1}'}, EVENT) == '{"a": 1}'
    assert json.loads(target_input({"InputPath": "$.detail.stopDate"}, EVENT)) == 12
    assert json.loads(target_input({"InputPath": "$.detail.nothing"}, EVENT)) is None


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{"e": <arn>}', {"e": EVENT["detail"]["executionArn"]}),
        ('{"e": "run <arn>"}', {"e": f"run {EVENT['detail']['executionArn']}"}),
        ('{"i": <input>}', {"i": EVENT["detail"]["input"]}),
        ('{"i": "<input>"}', {"i": EVENT["detail"]["input"]}),
        ('{"n": <stop>, "o": <output>, "a": <first>}', {"n": 12, "o": None, "a": 1}),
        ('{"m": <missing>, "t": "<missing>"}', {"m": None, "t": ""}),
        ('{"keep": "<unknown>"}', {"keep": "<unknown>"}),
        ('{"quoted \\" mark": <stop>}', {'quoted " mark': 12}),
    ],
)
def test_input_transformers(template: str, expected: Any) -> None:
    text = transformed(
        template,
        arn="$.detail.executionArn",
        input="$.detail.input",
        stop="$.detail.stopDate",
        output="$.detail.output",
        first="$.detail.list[0].a",
        missing="$.detail.nothing.at.all",
    )
    assert json.loads(text) == expected


def test_the_whole_event_is_a_placeholder_of_its_own() -> None:
    assert json.loads(transformed('{"event": <aws.events.event.json>}')) == {"event": EVENT}
