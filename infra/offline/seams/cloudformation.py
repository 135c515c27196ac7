"""What the CDK CLI meets in moto's CloudFormation and AWS's has, and the stacks' survival.

- `UsePreviousValue` for a parameter that was never passed means its default. moto looks among the passed ones only,
  so that every second `cdk deploy` died on BootstrapVersion.
- Change sets: change_sets.py.
- A stack that cannot be created, updated or deleted says why, in XML, and is what it was before (its name is free,
  where it was new). moto answers 500 with a page for people and keeps half a stack.
- An update's exports are seen by the stacks after it.
- A resource whose type moto cannot update (a KMS key, say) stays as it is, where moto loses it, and with it the stack.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from moto.cloudformation import parsing
from moto.cloudformation.exceptions import CloudFormationError, ValidationError
from moto.cloudformation.models import CloudFormationBackend, Stack, cloudformation_backends
from moto.cloudformation.responses import CloudFormationResponse
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import ActionResult

from ..files import write_atomically
from . import change_sets

__all__ = ["install", "restore"]

log = logging.getLogger(__name__)

_CHANGES = ("create_stack", "update_stack", "delete_stack")
_call_action = CloudFormationResponse.call_action
_create_stack = CloudFormationBackend.create_stack
_delete_stack = CloudFormationBackend.delete_stack
_parse_and_update_resource = parsing.parse_and_update_resource
_resolve_update_parameters = CloudFormationBackend._resolve_update_parameters
_update_stack = CloudFormationBackend.update_stack


class InvalidActionError(CloudFormationError):
    code = "InvalidAction"


def install(record: Path) -> None:
    """Mend CloudFormation. `record` is where the stacks are written down after each change."""
    CloudFormationBackend.create_stack = _create_stack_or_say_why  # type: ignore[method-assign]
    CloudFormationBackend.update_stack = _update_stack_or_say_why  # type: ignore[method-assign]
    CloudFormationBackend.delete_stack = _delete_stack_or_say_why  # type: ignore[method-assign]
    CloudFormationBackend._resolve_update_parameters = _with_defaults  # type: ignore[method-assign]
    CloudFormationResponse.call_action = _answer_in_xml  # type: ignore[assignment,method-assign]
    parsing.parse_and_update_resource = _update_resource_or_keep_it
    change_sets.install()
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
    before = set(self.stacks)
    try:
        return _create_stack(self, name, *args, **options)
    except Exception as error:
        for stack in [stack for stack_id, stack in self.stacks.items() if stack_id not in before]:
            del self.stacks[stack.stack_id]
            _forget_exports(self, stack)
            with suppress(Exception):  # what it made would be in the way of the next try
                stack.delete()
        raise _reason(error, f"create stack {name}") from error


def _update_stack_or_say_why(self: CloudFormationBackend, name: str, *args: Any, **options: Any) -> Stack:
    stack = self.get_stack(name)
    # moto's knew only the exports that were there when it was created, and none where there were none.
    stack.cross_stack_resources = stack.resource_map.cross_stack_resources = self.exports
    template, parameters = stack.template, stack.parameters
    try:
        _update_stack(self, name, *args, **options)
        _replace_exports(self, stack)
    except Exception as error:
        _roll_back(stack, template, parameters)
        raise _reason(error, f"update stack {stack.name}") from error
    change_sets.make_obsolete(self, stack)
    return stack


def _delete_stack_or_say_why(self: CloudFormationBackend, name_or_stack_id: str) -> None:
    stack = self.stacks.get(name_or_stack_id)
    if stack is None:
        _delete_stack(self, name_or_stack_id)  # comes back with the id
        return
    for export in stack.exports:
        self.exports.setdefault(export.name, export)  # moto pops each of them
    try:
        _delete_stack(self, name_or_stack_id)
    except Exception as error:
        stack.status = "DELETE_FAILED"
        self.stacks[stack.stack_id] = stack
        raise _reason(error, f"delete stack {stack.name}") from error
    for arn, change_set in list(self.change_sets.items()):
        if change_set.stack is stack:
            del self.change_sets[arn]


def _update_resource_or_keep_it(
    logical_id: str, resource_json: dict[str, Any], resources_map: parsing.ResourceMap, *args: Any, **options: Any
) -> Any:
    updated = _parse_and_update_resource(logical_id, resource_json, resources_map, *args, **options)
    if updated is None:
        log.warning("%s: moto cannot update a resource of type %s; it stays", logical_id, resource_json["Type"])
        return resources_map[logical_id]
    return updated


def _replace_exports(backend: CloudFormationBackend, stack: Stack) -> None:
    exports = stack.exports
    for export in exports:
        owner = backend.exports.get(export.name)
        if owner is not None and owner.exporting_stack_id != stack.stack_id:
            other = backend.get_stack(owner.exporting_stack_id).name
            raise ValidationError(message=f"Export with name {export.name} is already exported by stack {other}.")
    _forget_exports(backend, stack)
    backend.exports.update({export.name: export for export in exports})


def _forget_exports(backend: CloudFormationBackend, stack: Stack) -> None:
    for name, export in list(backend.exports.items()):
        if export.exporting_stack_id == stack.stack_id:
            del backend.exports[name]


def _roll_back(stack: Stack, template: Any, parameters: dict[str, str]) -> None:
    """As far as it goes: the next update must begin from what the stack was, not from what it was to be."""
    stack.template, stack.parameters = template, parameters
    stack._parse_template()
    try:
        stack.resource_map.update(stack.template_dict, parameters)
    except Exception:
        log.exception("stack %s cannot be rolled back", stack.name)
        stack.resource_map._template = stack.template_dict
        stack.resource_map._resource_json_map = stack.template_dict["Resources"]
    stack.output_map = stack._create_output_map()
    stack.status = "UPDATE_ROLLBACK_COMPLETE"
    stack._add_stack_event("UPDATE_ROLLBACK_COMPLETE")


def _reason(error: Exception, doing: str) -> CloudFormationError:
    """What the client is told. Other services' errors are in other services' formats."""
    if isinstance(error, CloudFormationError):
        return error
    log.error("cannot %s", doing, exc_info=error)
    return ValidationError(message=f"The offline account cannot {doing}: {error!r}")


def _answer_in_xml(self: CloudFormationResponse) -> TYPE_RESPONSE:
    try:
        return _call_action(self)
    except NotImplementedError:
        error: CloudFormationError = InvalidActionError(f"The offline account has no {self._get_action()}")
    except Exception as cause:
        error = _reason(cause, f"carry out {self._get_action()}")
    return self.serialized(ActionResult(error))


def _with_defaults(self: CloudFormationBackend, instance: Any, incoming_params: list[dict[str, Any]]) -> dict[str, str]:
    passed = [
        parameter
        for parameter in incoming_params
        if not parameter.get("UsePreviousValue") or parameter["ParameterKey"] in instance.parameters
    ]
    return _resolve_update_parameters(self, instance, passed)


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
