"""A bucket as every bucket of the kit is: encrypted with the kit's key, TLS only, closed to the public."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.constructs.names import Purpose, bucket_name
from infra.constructs.security import accept

__all__ = ["SecureBucket"]


class SecureBucket(Construct):
    """`bucket` is the bucket, named `slipstream-<account>-<region>-<purpose>`.

    Args:
        access_logs: where requests are logged, under `<purpose>/`.
        versioned: keep overwritten and deleted objects for 30 days.
        lifecycle: rules beside the one that every bucket has.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        purpose: Purpose,
        key: kms.IKey,
        access_logs: s3.IBucket,
        removal_policy: RemovalPolicy,
        versioned: bool = True,
        lifecycle: Sequence[s3.LifecycleRule] = (),
    ) -> None:
        super().__init__(scope, id)
        housekeeping = s3.LifecycleRule(
            id="housekeeping",
            # A container killed in the middle of an upload leaves parts behind that are billed and never listed.
            abort_incomplete_multipart_upload_after=Duration.days(1),
            noncurrent_version_expiration=Duration.days(30) if versioned else None,
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            bucket_name=bucket_name(purpose),
            encryption=s3.BucketEncryption.KMS,
            encryption_key=key,
            bucket_key_enabled=True,  # one KMS request for many objects: a sharded data set has thousands
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            server_access_logs_bucket=access_logs,
            server_access_logs_prefix=f"{purpose}/",
            versioned=versioned,
            lifecycle_rules=[housekeeping, *lifecycle],
            removal_policy=removal_policy,
        )
        if not versioned:
            accept(self.bucket, CKV_AWS_21="objects here are written once; a deleted one has to free its storage")
