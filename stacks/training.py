"""The state machines: one for each job, and the reaper that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import Aws, CfnMapping, CfnOutput, Stack
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.constructs.names import bucket_name
from infra.constructs.notifications import Notifications
from infra.constructs.reaper import Reaper
from infra.constructs.training_workflow import TrainingWorkflow
from infra.spec import Job
from infra.spec.images import image_mapping, image_name
from infra.workflow import Bindings, recipe_hash
from stacks.access import JobAccess

__all__ = ["TrainingStack"]


class TrainingStack(Stack):
    """Stack `slipstream-training`."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        jobs: Sequence[Job],
        access: Mapping[str, JobAccess],
        project: Path,
        key: kms.IKey,
    ) -> None:
        super().__init__(scope, id, description="Slipstream: state machines")
        reaper = Reaper(self, "Reaper", key=key)
        for job in jobs:
            name = "".join(part.capitalize() for part in job.name.split("-"))
            notifications = Notifications(self, f"Notifications{name}", job=job.name, key=key, addresses=job.notify)
            granted = access[job.name]
            bindings = Bindings(
                partition=Aws.PARTITION,
                data=bucket_name("data"),
                checkpoints=bucket_name("checkpoints"),
                artifacts=bucket_name("artifacts"),
                key_arn=key.key_arn,
                execution_role_arn=granted.execution_role.role_arn,
                topic_arn=notifications.topic.topic_arn,
                code_uri=granted.code.uri,
                code_name=granted.code.name,
                recipe_hash=recipe_hash(project=project, recipe=job.data.recipe() or {}),
                images=self._images(job, name),
            )
            workflow = TrainingWorkflow(
                self, f"Workflow{name}", job=job, bindings=bindings, role=granted.workflow_role, key=key
            )
            reaper.watch(workflow.machine, id=f"Watch{name}")
            CfnOutput(self, f"StateMachineArn{name}", value=workflow.machine.state_machine_arn, description=job.name)
            CfnOutput(self, f"NotificationTopic{name}", value=notifications.topic.topic_arn, description=job.name)

    def _images(self, job: Job, name: str) -> dict[str, str]:
        """Image URI by instance type. AWS's container account differs by region, and the stack knows no region."""
        accounts = CfnMapping(self, f"ImageAccounts{name}", mapping=image_mapping(job.framework))
        registry = f"{accounts.find_in_map(Aws.REGION, 'Account')}.dkr.ecr.{Aws.REGION}.{Aws.URL_SUFFIX}"
        instances = {pool.instance for pool in job.compute.pools} | {job.data.prepare.instance}
        return {instance: f"{registry}/{image_name(job.framework, instance)}" for instance in sorted(instances)}
