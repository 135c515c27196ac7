"""What a change set shows: the resources that differ between two templates, as DescribeChangeSet tells them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["resource_changes"]

Resource = Mapping[str, Any]

_ATTRIBUTES = ("CreationPolicy", "DeletionPolicy", "Metadata", "UpdatePolicy", "UpdateReplacePolicy")
_REPLACEMENT = {"Always": "True", "Conditionally": "Conditional", "Never": "False"}
_REGION = "us-east-1"


def resource_changes(
    before: Mapping[str, Resource],
    after: Mapping[str, Resource],
    *,
    physical_ids: Mapping[str, str],
    changed_parameters: Set[str],
) -> list[dict[str, Any]]:
    """The API's `ResourceChange`s.

    Args:
        before, after: `Resources` of the templates.
        physical_ids: of what is deployed, by logical id.
        changed_parameters: names of parameters whose values differ.
    """
    changes = []
    for name in [*after, *(name for name in before if name not in after)]:
        change: dict[str, Any] = {"LogicalResourceId": name, "ResourceType": (after.get(name) or before[name])["Type"]}
        if name not in before:
            changes.append(change | {"Action": "Add"})
            continue
        change["PhysicalResourceId"] = physical_ids.get(name)
        if name not in after:
            changes.append(change | {"Action": "Remove"})
        elif details := list(_details(before[name], after[name], changed_parameters)):
            recreations = {detail["Target"].get("RequiresRecreation", "Never") for detail in details}
            (worst,) = [each for each in _REPLACEMENT if each in recreations][:1]
            change |= {"Replacement": _REPLACEMENT[worst], "Details": details}
            change["Scope"] = sorted({detail["Target"]["Attribute"] for detail in details})
            changes.append(change | {"Action": "Modify"})
    return changes


def _details(before: Resource, after: Resource, changed_parameters: Set[str]) -> Iterator[dict[str, Any]]:
    old, new = before.get("Properties", {}), after.get("Properties", {})
    for name in sorted({*old, *new}):
        target = {
            "Attribute": "Properties",
            "Name": name,
            "RequiresRecreation": _requires_recreation(after["Type"], name),
        }
        if old.get(name) != new.get(name):
            # What an intrinsic function gives is known only when the change set is executed.
            evaluation = "Dynamic" if _functions(new.get(name)) else "Static"
            yield {"Target": target, "Evaluation": evaluation, "ChangeSource": "DirectModification"}
        for parameter in sorted(changed_parameters & _functions(new.get(name))):
            yield {
                "Target": target,
                "Evaluation": "Static",
                "ChangeSource": "ParameterReference",
                "CausingEntity": parameter,
            }
    for name in _ATTRIBUTES:
        if before.get(name) != after.get(name):
            yield {"Target": {"Attribute": name}, "Evaluation": "Static", "ChangeSource": "DirectModification"}


def _functions(value: Any) -> set[str]:
    """Names that intrinsic functions in the value refer to; the functions' own names among them."""
    if isinstance(value, list):
        return set().union(*map(_functions, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(_functions, value.values()))
    for key, of in value.items():
        if key == "Ref" or key.startswith("Fn::"):
            found |= {key, of} if isinstance(of, str) else {key}
    return found


def _requires_recreation(resource_type: str, name: str) -> str:
    schema = _schema(resource_type)
    if schema is None:
        return "Conditionally"
    if f"/properties/{name}" in schema.get("createOnlyProperties", ()):
        return "Always"
    inner = [*schema.get("createOnlyProperties", ()), *schema.get("conditionalCreateOnlyProperties", ())]
    return "Conditionally" if any(f"{path}/".startswith(f"/properties/{name}/") for path in inner) else "Never"


@cache
def _schema(resource_type: str) -> dict[str, Any] | None:
    """AWS's schema of a resource type, from cfn-lint's files, which moto requires: importing it takes over a second."""
    spec = importlib.util.find_spec("cfnlint")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "data" / "schemas"
    try:
        digest = json.loads((folder / "providers" / f"{_REGION}.json").read_text())[resource_type]
        schema: dict[str, Any] = json.loads((folder / "resources" / f"{digest}.json").read_text())
    except (OSError, KeyError, ValueError):
        return None
    return schema
