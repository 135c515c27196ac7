"""From YAML and JSONata files to a definition."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from infra.offline.states import StateMachine
from infra.workflow import expression, fill_in, reaper_definition
from tests.stacks.lint import lint
from tests.workflow.jobs import BINDINGS, toy_definition

GOLDEN = Path(__file__).parent / "golden"
WORKFLOW = Path("infra/workflow")


def definitions(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        "training": toy_definition(folder),
        "reaper": reaper_definition(artifacts="artifacts-bucket", partition="aws"),
    }


@pytest.mark.parametrize("name", ["training", "reaper"])
def test_golden(name: str, tmp_path: Path) -> None:
    """Whoever changes a machine sees in the diff what it becomes: `UPDATE_GOLDEN=1 pytest tests/workflow`."""
    text = as_yaml(definitions(tmp_path)[name])
    path = GOLDEN / f"{name}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "if this is wanted: UPDATE_GOLDEN=1 pytest tests/workflow"


@pytest.mark.parametrize("name", ["training", "reaper"])
def test_machines_are_clean(name: str, tmp_path: Path) -> None:
    definition = definitions(tmp_path)[name]
    assert lint(definition) == []
    assert StateMachine.parse(definition).comment


def test_statelint_still_finds_what_is_wrong(tmp_path: Path) -> None:
    broken = definitions(tmp_path)["training"]
    broken["States"]["Limits"]["Next"] = "Nowhere"
    assert any("Nowhere" in problem for problem in lint(broken))


def test_every_expression_is_used() -> None:
    machines = [path.read_text() for path in WORKFLOW.glob("*.asl.yaml")]
    used = {name for text in machines for name in re.findall(r"\"\{% ([a-z_]+) %\}\"", text)}
    assert used == {path.stem for path in (WORKFLOW / "expressions").glob("*.jsonata")}


def test_every_expression_says_what_it_is_for() -> None:
    for path in (WORKFLOW / "expressions").glob("*.jsonata"):
        assert expression(path.stem).startswith("/*"), path


def test_a_text_of_the_job_file_is_never_run_as_an_expression() -> None:
    with pytest.raises(ValueError, match=r"settings\.hyperparameters\[1\] begins with '\{%'"):
        fill_in("training", {"job": "toy", "settings": {"hyperparameters": ["a", "{% $states.context %}"]}})


def test_a_placeholder_without_a_value() -> None:
    with pytest.raises(KeyError, match="settings"):
        fill_in("training", {"job": "toy"})


def test_a_definition_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bytes long"):
        toy_definition(tmp_path, bindings=replace(BINDINGS, code_uri="s3://" + "x" * 1_000_000))


def as_yaml(definition: dict[str, Any]) -> str:
    """YAML with expressions as blocks: a diff shows the line that changed."""
    writer = YAML()
    writer.width = 1000
    stream = StringIO()
    writer.dump(_with_blocks(definition), stream)
    return stream.getvalue()


def _with_blocks(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _with_blocks(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_with_blocks(item) for item in node]
    return LiteralScalarString(node + "\n") if isinstance(node, str) and "\n" in node else node
