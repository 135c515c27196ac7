"""The machine that stops what an execution left running."""

from __future__ import annotations

from aws_cdk import Aws, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.logged_machine import logged_machine
from infra.constructs.names import REAPER, arn, bucket_arn, bucket_name
from infra.constructs.security import allow
from infra.constructs.workflow_role import allow_logging
from infra.workflow import reaper_definition

__all__ = ["Reaper"]


class Reaper(Construct):
    """One for all jobs. The loop looks at jobs that it started without `.sync`, so that nothing stops them when an
    execution is aborted, times out or breaks: EventBridge tells this machine, and it does.

    Args:
        key: encrypts logs and the locks in the artifacts bucket.
    """

    def __init__(self, scope: Construct, id: str, *, key: kms.IKey) -> None:
        super().__init__(scope, id)
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("states.amazonaws.com"),
            description="Stops the jobs of executions that ended without doing so",
        )
        allow(
            role,
            ["sagemaker:StopTrainingJob", "sagemaker:StopProcessingJob"],
            [arn("sagemaker", "training-job/*"), arn("sagemaker", "processing-job/*")],
            because="serves every job; the machine itself stops only those named after the dead execution",
        )
        allow(
            role,
            ["sagemaker:ListTrainingJobs", "sagemaker:ListProcessingJobs"],
            ["*"],
            because="AWS defines no resource for lists",
        )
        allow(
            role,
            ["s3:GetObject"],
            [bucket_arn("artifacts", "*/lock.json")],
            because="the lock of any run, and nothing else of it",
        )
        allow(role, ["s3:ListBucket"], [bucket_arn("artifacts")])
        allow(role, ["kms:Decrypt"], [key.key_arn])
        allow_logging(role)
        definition = reaper_definition(artifacts=bucket_name("artifacts"), partition=Aws.PARTITION)
        self.machine = logged_machine(
            self, name=REAPER, definition=Stack.of(self).to_json_string(definition), role=role, key=key
        )

    def watch(self, machine: sfn.IStateMachine, *, id: str) -> None:
        """Call the reaper whenever an execution of `machine` ends in a way that can leave jobs behind."""
        events.Rule(
            self,
            id,
            description="An execution ended without stopping its jobs",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={"status": ["ABORTED", "FAILED", "TIMED_OUT"], "stateMachineArn": [machine.state_machine_arn]},
            ),
            targets=[targets.SfnStateMachine(self.machine)],
        )
