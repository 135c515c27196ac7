"""What the CDK CLI meets in moto's CloudFormation and AWS's has, and the stacks' survival.

- `UsePreviousValue` for a parameter that was never passed means its default. moto looks among the passed ones only,
  so that every second `cdk deploy` died on BootstrapVersion.
- Deleting a change set that is not there is no error (`cdk diff` begins with it).
- A stack that cannot be created says why, and leaves its name free, where moto answers 500 and keeps half a stack.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from moto.cloudformation.exceptions import ValidationError
from moto.cloudformation.models import CloudFormationBackend, Stack, cloudformation_backends
from moto.core.exceptions import ServiceException

from ..files import write_atomically

__all__ = ["install", "restore"]

log = logging.getLogger(__name__)

_CHANGES = ("create_stack", "update_stack", "delete_stack", "execute_change_set")
_create_stack = CloudFormationBackend.create_stack
_resolve_update_parameters = CloudFormationBackend._resolve_update_parameters


def install(record: Path) -> None:
    """Mend CloudFormation. `record` is where the stacks are written down after each change."""
    CloudFormationBackend.create_stack = _create_stack_or_say_why  # type: ignore[method-assign]
    CloudFormationBackend._resolve_update_parameters = _with_defaults  # type: ignore[method-assign]
    CloudFormationBackend.delete_change_set = _delete_change_set  # type: ignore[method-assign]
    for name in _CHANGES:
        setattr(CloudFormationBackend, name, _recorded(getattr(CloudFormationBackend, name), record))


def restore(record: Path, *, account: str, region: str) -> None:
    """Create the stacks of an earlier life of the account again, in their order."""
    if not record.exists():
        return
    backend = cloudformation_backends[account][region]
    for stack in json.loads(record.read_text()):
        try:
            backend.create_stack(**stack)
        except Exception:
            log.exception("stack %s cannot be created again; deploy it anew", stack["name"])


def _create_stack_or_say_why(self: CloudFormationBackend, name: str, *args: Any, **options: Any) -> Stack:
    try:
        return _create_stack(self, name, *args, **options)
    except ServiceException:
        raise
    except Exception as error:
        log.exception("stack %s cannot be created", name)
        for stack_id in [stack.stack_id for stack in self.stacks.values() if stack.name == name]:
            del self.stacks[stack_id]
        raise ValidationError(message=f"The offline account cannot create stack {name}: {error!r}") from error


def _with_defaults(self: CloudFormationBackend, instance: Any, incoming_params: list[dict[str, Any]]) -> dict[str, str]:
    passed = [
        parameter
        for parameter in incoming_params
        if not parameter.get("UsePreviousValue") or parameter["ParameterKey"] in instance.parameters
    ]
    return _resolve_update_parameters(self, instance, passed)


def _delete_change_set(self: CloudFormationBackend, change_set_name: str) -> None:
    for arn, change_set in list(self.change_sets.items()):
        if change_set_name in (arn, change_set.change_set_name):
            del self.change_sets[arn]


def _recorded(change: Callable[..., Any], record: Path) -> Callable[..., Any]:
    def changed(self: CloudFormationBackend, *args: Any, **options: Any) -> Any:
        try:
            return change(self, *args, **options)
        finally:
            _write(self, record)

    return changed


def _write(backend: CloudFormationBackend, record: Path) -> None:
    stacks = [
        {
            "name": stack.name,
            "template": stack.template,
            "parameters": stack.parameters,
            "tags": stack.tags,
            "role_arn": stack.role_arn,
        }
        for stack in backend.stacks.values()
        if stack.template
    ]
    write_atomically(record, json.dumps(stacks))
