"""From a machine written as YAML to Amazon States Language: expressions are put in, placeholders filled.

`{% decide %}` names `expressions/decide.jsonata`; any other `{% ... %}` is JSONata as it stands.
`${settings}` is replaced by a value that comes from the job file or the stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

__all__ = ["MAX_DEFINITION_BYTES", "expression", "fill_in"]

MAX_DEFINITION_BYTES = 1_000_000
"""`CreateStateMachine` refuses a longer definition (1 MB)."""

_FOLDER = Path(__file__).parent
_EXPRESSION_FILE = re.compile(r"\{%\s*([a-z_]+)\s*%\}")
_PLACEHOLDER = re.compile(r"\$\{([a-z_]+)\}")


@cache
def expression(name: str) -> str:
    """The text of `expressions/<name>.jsonata`. Raises `FileNotFoundError`."""
    return (_FOLDER / "expressions" / f"{name}.jsonata").read_text(encoding="utf-8").strip()


def fill_in(machine: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The States Language definition in `<machine>.asl.yaml`, ready for `json.dumps`.

    Args:
        machine: file name without its ending.
        values: what stands for each `${name}`; a placeholder that is the whole scalar may become any JSON value.

    Raises:
        KeyError: a placeholder without a value.
        ValueError: a value that Step Functions would evaluate, or a definition that is too long.
    """
    for name, value in values.items():
        _refuse_expressions(value, name)
    source = YAML(typ="safe", pure=True).load((_FOLDER / f"{machine}.asl.yaml").read_text(encoding="utf-8"))
    definition: dict[str, Any] = _filled(source, values)
    size = len(json.dumps(definition).encode())
    if size > MAX_DEFINITION_BYTES:
        raise ValueError(f"the state machine is {size:,} bytes long; Step Functions takes {MAX_DEFINITION_BYTES:,}")
    return definition


def _filled(node: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(node, Mapping):
        return {key: _filled(value, values) for key, value in node.items()}
    if isinstance(node, list):
        return [_filled(item, values) for item in node]
    if not isinstance(node, str):
        return node
    if named := _EXPRESSION_FILE.fullmatch(node):
        return f"{{% {expression(named[1])} %}}"
    if whole := _PLACEHOLDER.fullmatch(node):
        return values[whole[1]]
    return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), node)


def _refuse_expressions(value: Any, where: str) -> None:
    """A text of the user's that reads `{% ... %}` would be run as an expression by Step Functions."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_expressions(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_expressions(item, f"{where}[{index}]")
    elif isinstance(value, str) and value.strip().startswith("{%"):
        raise ValueError(f"{where} begins with '{{%', which Step Functions takes for an expression; write it otherwise")
