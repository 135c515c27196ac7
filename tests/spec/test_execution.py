from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from infra.spec import ExecutionInput
from infra.spec.schema import execution_input_schema

GOOD: list[dict[str, Any]] = [
    {},
    {"run": "0a1b2c3d", "resume": "0a1b2c3d", "data_version": "9f86d081884c7d65", "look_s": 1, "short_attempt_s": 0},
    {"deadline_at": "2026-12-01T18:00:00+01:00"},
    {"hyperparameters": {"epochs": 3, "optimizer": "adam"}, "limits": {"deadline": 7200, "max_cost_usd": 4.5}},
]
BAD: list[dict[str, Any]] = [
    {"run": "nightly-01"},
    {"run": "0A1B2C3D"},
    {"data_version": "../other"},
    {"data_version": ""},
    {"look_s": 0},
    {"look_s": "1s"},
    {"limits": {"deadline": "2h"}},
    {"limits": {"deadline": 0}},
    {"limits": {"pools": []}},
    {"unknown": 1},
]


@pytest.mark.parametrize("content", GOOD, ids=str)
def test_accepted(content: dict[str, Any]) -> None:
    read = ExecutionInput.model_validate_json(json.dumps(content), strict=True)
    assert read.model_fields_set == set(content)
    assert list(Draft202012Validator(execution_input_schema()).iter_errors(content)) == []


@pytest.mark.parametrize("content", BAD, ids=str)
def test_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ExecutionInput.model_validate_json(json.dumps(content), strict=True)
    assert list(Draft202012Validator(execution_input_schema()).iter_errors(content))
