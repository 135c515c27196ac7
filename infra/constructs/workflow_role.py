"""The role of a job's state machine: what the machine calls, on this job's things."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.constructs.names import arn, bucket_arn, state_machine_name
from infra.constructs.security import allow, allow_finding

__all__ = ["WorkflowRole", "allow_logging"]

_ITS_OWN = "ends at the job's own prefix"


class WorkflowRole(Construct):
    """`role` is the IAM role of the state machine `slipstream-<job>`.

    Args:
        execution_role: passed to SageMaker, and to nobody else.
        key: encrypts the buckets and the notifications.
        topic_arn: where the machine says how a run ended.
    """

    def __init__(
        self, scope: Construct, id: str, *, job: str, execution_role: iam.IRole, key: kms.IKey, topic_arn: str
    ) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("states.amazonaws.com"),
            description=f"Runs the state machine of '{job}'",
        )
        self._allow_jobs(job, execution_role)
        self._allow_state(job)
        allow(self.role, ["sns:Publish"], [topic_arn])
        allow(self.role, ["kms:Decrypt", "kms:GenerateDataKey"], [key.key_arn])
        allow_logging(self.role)

    def _allow_jobs(self, job: str, execution_role: iam.IRole) -> None:
        for kind in ("Training", "Processing"):
            allow(
                self.role,
                [f"sagemaker:{verb}{kind}Job" for verb in ("Create", "Describe", "Stop")] + ["sagemaker:AddTags"],
                [arn("sagemaker", f"{kind.lower()}-job/{job}-*")],
                because="each attempt has a name of its own; all begin with the job's name",
            )
        allow(self.role, ["sagemaker:ListTrainingJobs"], ["*"], because="AWS defines no resource for lists")
        # The condition keeps the machine from handing the role to any other service.
        allow(
            self.role,
            ["iam:PassRole"],
            [execution_role.role_arn],
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
        )
        # How `.sync` hears that the processing job has ended. Without it the deployment fails with "not authorized
        # to create managed-rule".
        allow(
            self.role,
            ["events:PutTargets", "events:PutRule", "events:DescribeRule"],
            [arn("events", "rule/StepFunctionsGetEventsForSageMakerProcessingJobsRule")],
        )

    def _allow_state(self, job: str) -> None:
        own = f"{job}/*"
        allow(self.role, ["s3:GetObject", "s3:PutObject"], [bucket_arn("artifacts", own)], because=_ITS_OWN)
        allow_finding(self.role, ("artifacts", "data"), job)
        allow(self.role, ["ssm:GetParameter"], [arn("ssm", f"parameter/slipstream/{job}/data_version")])
        allow(
            self.role,
            ["states:DescribeExecution"],
            [arn("states", f"execution:{state_machine_name(job)}:*")],
            because="whether the lock's holder still runs; ends at this machine's executions",
        )


def allow_logging(role: iam.Role) -> None:
    """Log delivery and X-Ray, which AWS grants on `*` only."""
    allow(
        role,
        [
            "logs:CreateLogDelivery",
            "logs:GetLogDelivery",
            "logs:UpdateLogDelivery",
            "logs:DeleteLogDelivery",
            "logs:ListLogDeliveries",
            "logs:PutResourcePolicy",
            "logs:DescribeResourcePolicies",
            "logs:DescribeLogGroups",
            "xray:PutTraceSegments",
            "xray:PutTelemetryRecords",
            "xray:GetSamplingRules",
            "xray:GetSamplingTargets",
        ],
        ["*"],
        because="log delivery and X-Ray define no resources",
    )
