"""The guides name what there is: links lead somewhere, and no key, fault, verdict or hyperparameter is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from infra.offline.faults import AT_CREATE, AT_START, WHILE_RUNNING, Fault
from infra.spec import Job
from infra.spec.execution import ExecutionInput
from infra.spec.rules import RULES
from infra.workflow import expression
from training.config import NOT_YET, Hyperparameters, PrepareConfig

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted(DOCS.rglob("*.md"))


def text(guide: str) -> str:
    return (DOCS / guide).read_text(encoding="utf-8")


def anchors(path: Path) -> set[str]:
    """Of a file's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def named(words: Iterator[str] | set[str], guide: str) -> list[str]:
    """Those that the guide's text does not name as code; its blocks do not count."""
    prose = re.sub(r"^```.*?^```", "", text(guide), flags=re.MULTILINE | re.DOTALL)
    code = {word for span in re.findall(r"`([^`]+)`", prose) for word in re.findall(r"[\w-]+", span)}
    return sorted(set(words) - code)


def keys(schema: dict[str, Any]) -> Iterator[str]:
    """All property names of a JSON Schema, definitions included."""
    for part in (schema, *schema.get("$defs", {}).values()):
        yield from part.get("properties", {})


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_links_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", guide.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        path = (guide.parent / file).resolve() if file else guide
        assert path.exists(), f"{guide.name}: {target}"
        assert not anchor or anchor in anchors(path), f"{guide.name}: {target}"


def test_the_job_file_guide_names_every_key_and_rule() -> None:
    schema_keys = set(keys(Job.model_json_schema())) - {"uri", "example"}
    recipe = {field.name.rstrip("_") for field in fields(PrepareConfig)}
    assert named(schema_keys | recipe | set(NOT_YET) | set(RULES), "job-file.md") == []


def test_the_training_guide_names_every_hyperparameter() -> None:
    assert named({field.name for field in fields(Hyperparameters)}, "training.md") == []


def test_the_offline_guide_names_every_fault_and_key() -> None:
    kinds = {*AT_CREATE, *AT_START, *WHILE_RUNNING}
    assert named(kinds | {field.name for field in fields(Fault)}, "offline.md") == []


def test_the_workflow_guide_names_every_input_verdict_and_error() -> None:
    verdicts = set(re.findall(r"'([a-z_]+)' +:", expression("create_error"))) | {"completed", "interrupted", "timeout"}
    errors = set(re.findall(r"\$refuse\('([A-Za-z]+)'", expression("decide")))
    assert "quota" in verdicts
    assert "NoProgress" in errors
    assert named(verdicts | errors | set(ExecutionInput.model_fields), "workflow.md") == []


def test_the_training_guide_shows_the_example_that_is_tested() -> None:
    assert (DOCS / "examples" / "logistic" / "logistic.py").read_text(encoding="utf-8") in text("training.md")
