"""Permissions with their reasons, and findings of the security checks that are accepted, with theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Acknowledgment, CfnResource, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import IConstruct

from infra.constructs.names import Purpose, bucket_arn

__all__ = ["accept", "allow", "allow_finding"]


def allow(
    role: iam.Role,
    actions: Sequence[str],
    resources: Sequence[str],
    *,
    because: str | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> None:
    """Add one statement to the role's policy.

    Args:
        because: why a `*` in `resources` is needed and where it ends; required when there is one, and recorded as the
            answer to cdk-nag's question. `accept_policy` in the template's metadata is how a reviewer finds it.
    """
    role.add_to_policy(
        iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=dict(conditions or {}))
    )
    for resource in resources:
        flat = _flat(Stack.of(role).resolve(resource))
        if "*" in flat:
            assert because, f"{flat}: say why the wildcard is needed"
            Validations.of(role).acknowledge(Acknowledgment(id=f"AwsSolutions-IAM5[Resource::{flat}]", reason=because))


def allow_finding(role: iam.Role, purposes: Sequence[Purpose], job: str) -> None:
    """Let the role list the job's prefix of these buckets, and hear of an object there that it is missing.

    Who may not list a bucket is told 403 instead of 404, and a first run, which has neither lock nor progress, looks
    forbidden. A GetObject has no `s3:prefix`: without `IfExists` the condition would fail for it. What is given away is
    that a list without any prefix names other jobs' objects, too; reading them stays forbidden.
    """
    buckets = [bucket_arn(purpose) for purpose in purposes]
    allow(role, ["s3:ListBucket"], buckets, conditions={"StringLikeIfExists": {"s3:prefix": f"{job}/*"}})


def accept(construct: IConstruct, **checks: str) -> None:
    """Accept findings of checkov on a construct's resource: `accept(bucket, CKV_AWS_21="why")`.

    They go into the template's metadata, where checkov reads them.
    """
    resource = construct if isinstance(construct, CfnResource) else construct.node.default_child
    assert isinstance(resource, CfnResource), f"{construct.node.path} is not a CloudFormation resource"
    resource.add_metadata("checkov", {"skip": [{"id": rule, "comment": why} for rule, why in sorted(checks.items())]})


def _flat(resolved: Any) -> str:
    """As cdk-nag writes a reference in a finding's id."""
    match resolved:
        case {"Fn::Join": [delimiter, items]}:
            return str(delimiter).join(_flat(item) for item in items)
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<{resource}.{attribute}>"
        case _:
            return str(resolved)
