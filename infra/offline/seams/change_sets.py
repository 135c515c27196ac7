"""Change sets, with which the CDK CLI deploys unless told otherwise.

moto's change a stack's resources behind its back: its outputs and exports are lost, and a second one meets half a
stack. These keep what CreateChangeSet was given, and carry it out the way CreateStack and UpdateStack go. They are
gone with the account's process; what they made stays.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from moto.cloudformation import models
from moto.cloudformation.exceptions import (
    AlreadyExistsException,
    CloudFormationError,
    MissingParameterError,
    ValidationError,
)
from moto.cloudformation.models import CloudFormationBackend, Stack
from moto.cloudformation.parsing import ResourceMap
from moto.cloudformation.responses import CloudFormationResponse
from moto.cloudformation.utils import generate_stack_id
from moto.core.responses import ActionResult, EmptyResult

from .changes import resource_changes

__all__ = ["install", "make_obsolete"]

REVIEW = "REVIEW_IN_PROGRESS"
NO_CHANGES = "The submitted information didn't contain changes. Submit different information to create a change set."

_reviewed: ContextVar[str] = ContextVar("id of the stack that a change set creates", default="")


class ChangeSetNotFoundError(CloudFormationError):
    code = "ChangeSetNotFoundException"


class InvalidChangeSetStatusError(CloudFormationError):
    code = "InvalidChangeSetStatusException"


@dataclass(kw_only=True)
class ChangeSet:
    """What CreateChangeSet was given, what it would change, and what has become of it."""

    id: str
    name: str
    type: str
    stack: Stack
    template: str
    parameters: dict[str, str]
    tags: dict[str, str] | None
    role_arn: str | None
    notification_arns: list[str]
    description: str | None
    capabilities: list[str]
    changes: list[dict[str, Any]]
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    status: str = "CREATE_COMPLETE"
    status_reason: str | None = None
    execution_status: str = "AVAILABLE"

    def summary(self) -> dict[str, Any]:
        return {
            "StackId": self.stack.stack_id,
            "StackName": self.stack.name,
            "ChangeSetId": self.id,
            "ChangeSetName": self.name,
            "ExecutionStatus": self.execution_status,
            "Status": self.status,
            "StatusReason": self.status_reason,
            "CreationTime": self.created,
            "Description": self.description,
        }

    def describe(self) -> dict[str, Any]:
        return self.summary() | {
            "Parameters": self.parameters,
            "NotificationARNs": self.notification_arns,
            "Capabilities": self.capabilities,
            "Tags": [{"Key": key, "Value": value} for key, value in (self.tags or {}).items()],
            "Changes": self.changes,
        }


def install() -> None:
    """Put these change sets in the place of moto's."""
    models.generate_stack_id = _stack_id  # type: ignore[attr-defined]
    for handler in (create_change_set, describe_change_set, execute_change_set, delete_change_set, list_change_sets):
        setattr(CloudFormationResponse, handler.__name__, handler)


def make_obsolete(backend: CloudFormationBackend, stack: Stack) -> None:
    """A stack was changed: what was to change it before does not fit any more."""
    for change_set in _of(backend, stack):
        if change_set.execution_status == "AVAILABLE":
            change_set.execution_status = "OBSOLETE"


def create_change_set(request: CloudFormationResponse) -> ActionResult:
    backend = request.cloudformation_backend
    name, stack_name = request._get_param("ChangeSetName"), request._get_param("StackName")
    change_type = request._get_param("ChangeSetType", "UPDATE")
    given = request._get_param("Parameters", [])
    tags = {item["Key"]: item["Value"] for item in request._get_param("Tags", [])} or None
    stack = _find_stack(backend, stack_name)
    _check(change_type, name, stack_name, stack, [each.name for each in _of(backend, stack)] if stack else [])
    template = _template(request, stack)
    target = stack or _placeholder(backend, stack_name)
    parameters = backend._resolve_update_parameters(target, given)
    planned = _plan(target, template, parameters, tags)
    change_set = ChangeSet(
        id=f"arn:aws:cloudformation:{backend.region_name}:{backend.account_id}:changeSet/{name}/{uuid.uuid4()}",
        name=name,
        type=change_type,
        stack=target,
        template=template,
        parameters=parameters,
        tags=tags,
        role_arn=request._get_param("RoleARN"),
        notification_arns=request._get_param("NotificationARNs", []),
        description=request._get_param("Description"),
        capabilities=request._get_param("Capabilities", []),
        changes=_changes(target, planned),
    )
    if target.status != REVIEW and _is_the_same(target, planned, tags):
        change_set.status, change_set.execution_status, change_set.status_reason = "FAILED", "UNAVAILABLE", NO_CHANGES
    backend.stacks.setdefault(target.stack_id, target)
    _all(backend)[change_set.id] = change_set
    return ActionResult({"Id": change_set.id, "StackId": target.stack_id})


def describe_change_set(request: CloudFormationResponse) -> ActionResult:
    return ActionResult(_get(request).describe())


def list_change_sets(request: CloudFormationResponse) -> ActionResult:
    backend = request.cloudformation_backend
    stack = _existing_stack(backend, request._get_param("StackName"))
    return ActionResult({"Summaries": [each.summary() for each in _of(backend, stack)]})


def delete_change_set(request: CloudFormationResponse) -> ActionResult:
    try:
        change_set = _get(request)
    except ChangeSetNotFoundError:
        return EmptyResult()  # as on AWS
    del _all(request.cloudformation_backend)[change_set.id]
    return EmptyResult()


def execute_change_set(request: CloudFormationResponse) -> ActionResult:
    backend, change_set = request.cloudformation_backend, _get(request)
    if change_set.status != "CREATE_COMPLETE":
        raise InvalidChangeSetStatusError(
            f"ChangeSet [{change_set.id}] cannot be executed in its current status of [{change_set.status}]"
        )
    if change_set.execution_status != "AVAILABLE":
        raise InvalidChangeSetStatusError(
            f"ChangeSet [{change_set.id}] cannot be executed in its current execution status of "
            f"[{change_set.execution_status}]"
        )
    for other in _of(backend, change_set.stack):
        if other is not change_set:
            del _all(backend)[other.id]
    change_set.execution_status = "EXECUTE_IN_PROGRESS"
    try:
        change_set.stack = (_create if change_set.type == "CREATE" else _update)(backend, change_set)
    except Exception:
        change_set.execution_status = "EXECUTE_FAILED"
        raise
    finally:
        if change_set.stack.stack_id not in backend.stacks:
            del _all(backend)[change_set.id]
    change_set.execution_status = "EXECUTE_COMPLETE"
    return EmptyResult()


def _create(backend: CloudFormationBackend, change_set: ChangeSet) -> Stack:
    """The stack in the place of the one in review, with its id. When it fails the name is free, as with CreateStack."""
    review = backend.stacks.pop(change_set.stack.stack_id)
    with _creating(review.stack_id):
        stack = backend.create_stack(
            name=review.name,
            template=change_set.template,
            parameters=change_set.parameters,
            notification_arns=change_set.notification_arns,
            tags=change_set.tags,
            role_arn=change_set.role_arn,
        )
    stack.events[:0] = review.events
    return stack


def _update(backend: CloudFormationBackend, change_set: ChangeSet) -> Stack:
    return backend.update_stack(
        name=change_set.stack.name,
        template=change_set.template,
        role_arn=change_set.role_arn,
        parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in change_set.parameters.items()],
        tags=change_set.tags,
    )


@contextmanager
def _creating(stack_id: str) -> Iterator[None]:
    token = _reviewed.set(stack_id)
    try:
        yield
    finally:
        _reviewed.reset(token)


def _stack_id(stack_name: str, region: str, account: str) -> str:
    reviewed = _reviewed.get()
    made: str = reviewed if f":stack/{stack_name}/" in reviewed else generate_stack_id(stack_name, region, account)
    return made


def _check(change_type: str, name: str, stack_name: str, stack: Stack | None, taken: list[str]) -> None:
    """Raise what CreateChangeSet does, in AWS's words."""
    if change_type not in ("CREATE", "UPDATE"):
        raise ValidationError(message=f"The offline account has no change sets of type {change_type}")
    if change_type == "UPDATE":
        if stack is None:
            raise ValidationError(message=f"Stack [{stack_name}] does not exist")
        if stack.status == REVIEW:
            raise ValidationError(message=f"Stack:{stack.stack_id} is in {REVIEW} state and can not be updated.")
    elif stack is not None and stack.status != REVIEW:
        raise ValidationError(
            message=f"Stack [{stack.name}] already exists and cannot be created again with the changeSet [{name}]."
        )
    if name in taken:
        raise AlreadyExistsException(f"ChangeSet [{name}] already exists")


def _template(request: CloudFormationResponse, stack: Stack | None) -> str:
    body: Any = request._get_param("TemplateBody")
    url = request._get_param("TemplateURL")
    previous = request._get_bool_param("UsePreviousTemplate", False)
    if previous and (body or url):
        raise ValidationError(message="You cannot specify both usePreviousTemplate and Template Body/Template URL.")
    if previous and stack is not None and stack.status != REVIEW:
        body = stack.template
    elif url:
        body = request._get_stack_from_s3_url(url)
    if not body:
        raise ValidationError(message="Either Template URL or Template Body must be specified.")
    return cast(str, body)


def _placeholder(backend: CloudFormationBackend, name: str) -> Stack:
    stack = Stack(  # type: ignore[abstract]
        stack_id=generate_stack_id(name, backend.region_name, backend.account_id),
        name=name,
        template={},
        parameters={},
        account_id=backend.account_id,
        region_name=backend.region_name,
    )
    stack.status = REVIEW
    stack._add_stack_event(REVIEW, resource_status_reason="User Initiated")
    return stack


def _plan(stack: Stack, template: str, parameters: dict[str, str], tags: dict[str, str] | None) -> ResourceMap:
    """The template with its parameters resolved; nothing is made yet. Raises what is wrong with them."""
    try:
        planned = ResourceMap(
            stack.stack_id,
            stack.name,
            parameters,
            tags or {},
            account_id=stack.account_id,
            region_name=stack.region_name,
            template=Stack.parse_template(template),
            cross_stack_resources=stack.cross_stack_resources,
        )
        planned.load()
    except MissingParameterError as error:
        name = error.message.rpartition(" ")[2]
        raise ValidationError(message=f"Parameters: [{name}] must have values") from error
    return planned


def _changes(stack: Stack, planned: ResourceMap) -> list[dict[str, Any]]:
    before, after = stack.stack_parameters, planned.resolved_parameters
    deployed = {
        name: resource.physical_resource_id
        for name, resource in stack.resource_map._parsed_resources.items()
        if hasattr(resource, "physical_resource_id")
    }
    return resource_changes(
        stack.template_dict.get("Resources", {}),
        planned._template["Resources"],
        physical_ids=deployed,
        changed_parameters={name for name in after if before.get(name) != after[name]},
    )


def _is_the_same(stack: Stack, planned: ResourceMap, tags: dict[str, str] | None) -> bool:
    same_template = stack.template_dict == planned._template
    same_parameters = stack.stack_parameters == planned.resolved_parameters
    return same_template and same_parameters and tags in (None, stack.tags)


def _get(request: CloudFormationResponse) -> ChangeSet:
    backend, name = request.cloudformation_backend, request._get_param("ChangeSetName")
    stack_name = request._get_param("StackName")
    if name.startswith("arn:"):
        found = _all(backend).get(name)
    elif not stack_name:
        raise ValidationError(message="StackName must be specified if ChangeSetName is not specified as an ARN.")
    else:
        of_stack = _of(backend, _existing_stack(backend, stack_name))
        found = next((each for each in of_stack if each.name == name), None)
    if found is None:
        raise ChangeSetNotFoundError(f"ChangeSet [{name}] does not exist")
    return found


def _all(backend: CloudFormationBackend) -> dict[str, ChangeSet]:
    return cast("dict[str, ChangeSet]", backend.change_sets)


def _of(backend: CloudFormationBackend, stack: Stack) -> list[ChangeSet]:
    return [each for each in _all(backend).values() if each.stack.stack_id == stack.stack_id]


def _find_stack(backend: CloudFormationBackend, name_or_id: str) -> Stack | None:
    return next((stack for stack in backend.stacks.values() if name_or_id in (stack.name, stack.stack_id)), None)


def _existing_stack(backend: CloudFormationBackend, name_or_id: str) -> Stack:
    stack = _find_stack(backend, name_or_id)
    if stack is None:
        raise ValidationError(message=f"Stack [{name_or_id}] does not exist")
    return stack
