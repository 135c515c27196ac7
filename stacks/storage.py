"""What outlives every deployment: data, checkpoints, artifacts and the key that encrypts them."""

from __future__ import annotations

from aws_cdk import Aws, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.access_logs import AccessLogs
from infra.constructs.names import arn
from infra.constructs.secure_bucket import SecureBucket

__all__ = ["StorageStack"]

CHECKPOINT_DAYS = 35
"""Longer than the longest run (28 days), so that no checkpoint expires under a run that needs it."""


class StorageStack(Stack):
    """Stack `slipstream-storage`.

    Args:
        removal_policy: what becomes of buckets and key when the stack is deleted. RETAIN unless context says
            `removal=destroy`, and even then CloudFormation deletes only empty buckets.
    """

    def __init__(self, scope: Construct, id: str, *, removal_policy: RemovalPolicy) -> None:
        super().__init__(scope, id, description="Slipstream: data, checkpoints, artifacts")
        self.key = kms.Key(
            self,
            "Key",
            alias="alias/slipstream",
            description="Data, checkpoints, models, logs and notifications of Slipstream",
            enable_key_rotation=True,
            removal_policy=removal_policy,
        )
        self._let_logs_use_key()
        logs = AccessLogs(self, "AccessLogs", removal_policy=removal_policy)
        data = SecureBucket(
            self, "Data", purpose="data", key=self.key, access_logs=logs.bucket, removal_policy=removal_policy
        )
        checkpoints = SecureBucket(
            self,
            "Checkpoints",
            purpose="checkpoints",
            key=self.key,
            access_logs=logs.bucket,
            removal_policy=removal_policy,
            versioned=False,
            lifecycle=[s3.LifecycleRule(id="expire", expiration=Duration.days(CHECKPOINT_DAYS))],
        )
        artifacts = SecureBucket(
            self, "Artifacts", purpose="artifacts", key=self.key, access_logs=logs.bucket, removal_policy=removal_policy
        )
        CfnOutput(self, "DataBucket", value=data.bucket.bucket_name, description="Raw and prepared data")
        CfnOutput(self, "CheckpointsBucket", value=checkpoints.bucket.bucket_name, description="Checkpoints of runs")
        CfnOutput(self, "ArtifactsBucket", value=artifacts.bucket.bucket_name, description="Ledgers and models of runs")

    def _let_logs_use_key(self) -> None:
        """CloudWatch Logs writes the state machines' logs itself, so it needs the key in its own name."""
        groups = arn("logs", "log-group:/aws/vendedlogs/states/slipstream-*")
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
                actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                resources=["*"],  # in a key's own policy: this key
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
            )
        )
