"""Who may do what: two roles for each job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.constructs.code_bundle import CodeBundle
from infra.constructs.names import arn, topic_name
from infra.constructs.training_role import TrainingExecutionRole
from infra.constructs.workflow_role import WorkflowRole
from infra.spec import Job
from infra.spec.images import image_name
from infra.spec.sections import S3Source

__all__ = ["AccessStack", "JobAccess"]


@dataclass(frozen=True, kw_only=True)
class JobAccess:
    """What a job may run, and as whom."""

    code: CodeBundle
    execution_role: iam.Role
    workflow_role: iam.Role


class AccessStack(Stack):
    """Stack `slipstream-access`. The code belongs to it, because a role may read its own job's bundle and no other."""

    def __init__(self, scope: Construct, id: str, *, jobs: Sequence[Job], project: Path, key: kms.IKey) -> None:
        super().__init__(scope, id, description="Slipstream: roles of jobs and of their state machines")
        self.jobs = {job.name: self._access(job, project, key) for job in jobs}

    def _access(self, job: Job, project: Path, key: kms.IKey) -> JobAccess:
        scope = Construct(self, job.name)
        code = CodeBundle(scope, "Code", job=job, project=project)
        execution = TrainingExecutionRole(
            scope,
            "Execution",
            job=job.name,
            key=key,
            code_arn=code.arn,
            repositories=sorted({image_name(job.framework, pool.instance).split(":")[0] for pool in job.compute.pools}),
            raw_uri=job.data.raw.uri if isinstance(job.data.raw, S3Source) else None,
        )
        workflow = WorkflowRole(
            scope,
            "Workflow",
            job=job.name,
            execution_role=execution.role,
            key=key,
            topic_arn=arn("sns", topic_name(job.name)),
        )
        return JobAccess(code=code, execution_role=execution.role, workflow_role=workflow.role)
