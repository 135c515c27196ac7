"""SSM parameters that clients put (not stacks: those bring theirs back themselves) survive the account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from moto.ssm.models import ssm_backends
from moto.ssm.responses import SimpleSystemManagerResponse

from ..files import write_atomically

__all__ = ["install", "restore"]

_KEPT = ("Name", "Description", "Value", "Type", "AllowedPattern", "KeyId", "Tags", "DataType", "Tier", "Policies")
_put_parameter = SimpleSystemManagerResponse.put_parameter
_delete_parameter = SimpleSystemManagerResponse.delete_parameter
_delete_parameters = SimpleSystemManagerResponse.delete_parameters


def install(record: Path) -> None:
    """Write down in `record` what clients put."""
    known: dict[str, dict[str, Any]] = json.loads(record.read_text()) if record.exists() else {}

    def write() -> None:
        write_atomically(record, json.dumps(known))

    def put_parameter(self: SimpleSystemManagerResponse) -> Any:
        answer = _put_parameter(self)
        name = self._get_param("Name")
        given = {key: self._get_param(key) for key in _KEPT if self._get_param(key) is not None}
        known[name] = known.get(name, {}) | given
        write()
        return answer

    def delete_parameter(self: SimpleSystemManagerResponse) -> Any:
        known.pop(self._get_param("Name"), None)
        write()
        return _delete_parameter(self)

    def delete_parameters(self: SimpleSystemManagerResponse) -> Any:
        for name in self._get_param("Names"):
            known.pop(name, None)
        write()
        return _delete_parameters(self)

    for handler in (put_parameter, delete_parameter, delete_parameters):
        setattr(SimpleSystemManagerResponse, handler.__name__, handler)


def restore(record: Path, *, account: str, region: str) -> None:
    """Put the parameters back."""
    if not record.exists():
        return
    backend = ssm_backends[account][region]
    for given in json.loads(record.read_text()).values():
        backend.put_parameter(
            given["Name"],
            given.get("Description"),
            given["Value"],
            given.get("Type"),
            given.get("AllowedPattern"),
            given.get("KeyId"),
            True,
            given.get("Tags"),
            given.get("DataType", "text"),
            tier=given.get("Tier"),
            policies=given.get("Policies"),
        )
