"""L3 constructs: each is of use alone in somebody else's CDK app."""

from infra.constructs.access_logs import AccessLogs
from infra.constructs.code_bundle import CodeBundle
from infra.constructs.names import bucket_arn, bucket_name
from infra.constructs.notifications import Notifications
from infra.constructs.reaper import Reaper
from infra.constructs.secure_bucket import SecureBucket
from infra.constructs.training_role import TrainingExecutionRole
from infra.constructs.training_workflow import TrainingWorkflow
from infra.constructs.workflow_role import WorkflowRole

__all__ = [
    "AccessLogs",
    "CodeBundle",
    "Notifications",
    "Reaper",
    "SecureBucket",
    "TrainingExecutionRole",
    "TrainingWorkflow",
    "WorkflowRole",
    "bucket_arn",
    "bucket_name",
]
