"""Check the state machines of synthesized templates with statelint: `python -m tests.stacks.lint cdk.out`.

Left aside, each because statelint 3.1 is narrower than AWS:
- a float for `BackoffRate`: JavaScript, and so CDK, writes 2.0 as 2;
- JSONata over several lines, which its pattern does not reach across;
- JSONata in a Wait's `Seconds`, which the States Language allows.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from statelint.config import Config
from statelint.linter import Linter
from statelint.problem import ProblemType

__all__ = ["lint", "machines", "main"]

_SECONDS = re.compile(r'\.Seconds is "\{%.*%\}" but should be an Integer$')


def lint(definition: dict[str, Any]) -> list[str]:
    """Problems of one definition, in statelint's words."""
    problems: list[str] = Linter.validate(_on_one_line(definition), Config({ProblemType.FLOAT}))
    return [problem for problem in problems if not _SECONDS.search(problem)]


def machines(template: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Logical ids and definitions of a template's state machines; references become texts of their own."""
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::StepFunctions::StateMachine":
            yield name, json.loads(_plain(resource["Properties"]["DefinitionString"]))


def _plain(value: Any) -> str:
    match value:
        case str():
            return value
        case {"Fn::Join": [delimiter, items]}:
            return str(delimiter).join(_plain(item) for item in items)
        case _:
            return "-".join(re.findall(r"\w+", json.dumps(value)))


def _on_one_line(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _on_one_line(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_on_one_line(item) for item in node]
    return node.replace("\n", " ") if isinstance(node, str) else node


def main(arguments: Sequence[str]) -> int:
    """Lint every template in the folders given; returns the exit code."""
    found = 0
    problems: list[str] = []
    for path in sorted(path for folder in arguments for path in Path(folder).glob("*.template.json")):
        for name, definition in machines(json.loads(path.read_text(encoding="utf-8"))):
            found += 1
            problems += [f"{path.name}: {name}: {problem}" for problem in lint(definition)]
    print("\n".join(problems) if problems else f"statelint: {found} state machines, no problems")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
