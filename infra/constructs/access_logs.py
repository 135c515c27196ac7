"""Where S3 writes who asked for what."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Duration, RemovalPolicy, Validations
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.names import bucket_name
from infra.constructs.security import accept

__all__ = ["AccessLogs"]


class AccessLogs(Construct):
    """`bucket` takes the server access logs of the other buckets, for 90 days."""

    def __init__(self, scope: Construct, id: str, *, removal_policy: RemovalPolicy) -> None:
        super().__init__(scope, id)
        # In an app without this flag S3 would ask for ACLs, which the ownership below forbids.
        self.node.set_context("@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy", True)
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=bucket_name("access-logs"),
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[s3.LifecycleRule(id="expire", expiration=Duration.days(90))],
            removal_policy=removal_policy,
        )
        Validations.of(self.bucket).acknowledge(
            Acknowledgment(id="AwsSolutions-S1", reason="takes the logs itself; logging into itself would never end")
        )
        accept(
            self.bucket,
            CKV_AWS_18="takes the logs itself; logging into itself would never end",
            CKV_AWS_21="log files are written once",
            CKV_AWS_145="S3 delivers access logs only to buckets with its own keys (SSE-S3)",
        )
