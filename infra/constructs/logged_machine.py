"""A Standard state machine with logs and traces, given as a States Language document."""

from __future__ import annotations

from aws_cdk import CfnResource, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

__all__ = ["logged_machine"]


def logged_machine(scope: Construct, *, name: str, definition: str, role: iam.Role, key: kms.IKey) -> sfn.StateMachine:
    """Make the machine, its log group beside it.

    Args:
        definition: JSON. Not CDK's chain of states: its CustomState replaces `Next` by `End` without a word.
        role: has to allow log delivery and X-Ray; the machine waits for its policy.
    """
    group = logs.LogGroup(
        scope,
        "Logs",
        # Under /aws/vendedlogs/ the resource policy that log delivery writes never outgrows its limit.
        log_group_name=f"/aws/vendedlogs/states/{name}",
        encryption_key=key,
        retention=logs.RetentionDays.ONE_YEAR,
        removal_policy=RemovalPolicy.DESTROY,
    )
    # The L2 construct makes the machine wait for its role and its policy: else the first execution, or CloudFormation's
    # own check of the log permissions, may come before them.
    machine = sfn.StateMachine(
        scope,
        "Machine",
        state_machine_name=name,
        state_machine_type=sfn.StateMachineType.STANDARD,
        definition_body=sfn.DefinitionBody.from_string(definition),
        role=role.without_policy_updates(),  # CDK would add its own, wider statements for logs and X-Ray
        logs=sfn.LogOptions(destination=group, level=sfn.LogLevel.ALL, include_execution_data=True),
        tracing_enabled=True,
    )
    resource = machine.node.default_child
    assert isinstance(resource, CfnResource)
    # It depends on the role both by name and by reference; the former is CDK's doing and does no harm.
    resource.add_metadata("cfn-lint", {"config": {"ignore_checks": ["W3005"]}})
    return machine
