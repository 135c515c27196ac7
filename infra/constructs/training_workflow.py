"""Spot training with checkpoints, a deadline and a pool ladder, as one state machine."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.constructs.logged_machine import logged_machine
from infra.constructs.names import state_machine_name
from infra.spec import Job
from infra.workflow import Bindings, training_definition

__all__ = ["TrainingWorkflow"]


class TrainingWorkflow(Construct):
    """`machine` is the state machine `slipstream-<job>`: one per job, so that a running one keeps its definition.

    Args:
        role: what the machine runs as, see `WorkflowRole`.
        key: encrypts its logs.
    """

    def __init__(
        self, scope: Construct, id: str, *, job: Job, bindings: Bindings, role: iam.Role, key: kms.IKey
    ) -> None:
        super().__init__(scope, id)
        definition = Stack.of(self).to_json_string(training_definition(job, bindings=bindings))
        self.machine: sfn.StateMachine = logged_machine(
            self, name=state_machine_name(job.name), definition=definition, role=role, key=key
        )
