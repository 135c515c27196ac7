"""The published schemas: in step with the models, and agreeing with them on good files."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from infra.spec.schema import DOCS, execution_input_schema, job_schema, main, render

from .jobs import FULL, LEAST, changed
from .test_rules import GOOD


def test_the_published_schemas_are_in_step() -> None:
    for name, schema in (("job", job_schema()), ("execution-input", execution_input_schema())):
        published = (DOCS / f"{name}.schema.json").read_text(encoding="utf-8")
        assert published == render(schema), "run `python -m infra.spec.schema`"
        Draft202012Validator.check_schema(schema)


def test_check_says_what_is_stale(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("infra.spec.schema.DOCS", tmp_path)
    assert main(["--check"]) == 1
    assert "docs/job.schema.json is out of step" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0


@pytest.mark.parametrize("content", [YAML(typ="safe").load(FULL), *map(changed, GOOD)], ids=lambda _: "good")
def test_good_files_pass(content: dict[str, Any]) -> None:
    assert [error.message for error in Draft202012Validator(job_schema()).iter_errors(content)] == []


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "X Y"},
        {"limits": {"deadline": 10}},
        {"limits": {"deadline": "10"}},
        {"limits": {"deadline": ""}},
        {"data.raw": {"example": "titanic"}},
        {"data.raw": "s3://bucket/no-slash"},
        {"data.channels.holdout": {}},
        {"checkpoint": {"interval": "often"}},
        {"compute.pools": []},
        {"compute.volume_size": 30},
        {"unknown": 1},
    ],
    ids=str,
)
def test_an_editor_sees_the_common_mistakes(changes: dict[str, Any]) -> None:
    assert list(Draft202012Validator(job_schema()).iter_errors(changed(changes, LEAST)))


def test_keys_are_explained() -> None:
    limits = job_schema()["$defs"]["Limits"]["properties"]
    assert "no new checkpoint" in limits["attempts_without_progress"]["description"]
