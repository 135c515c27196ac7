"""The role a job's containers run as: its own prefixes and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from infra.constructs.names import Purpose, bucket_arn
from infra.constructs.security import allow, allow_finding

__all__ = ["TrainingExecutionRole"]

_ITS_OWN = "ends at the job's own prefix"


class TrainingExecutionRole(Construct):
    """One per job, so that no job can read another's checkpoints.

    `role` is the IAM role to pass to CreateTrainingJob and CreateProcessingJob.

    Args:
        key: encrypts the three buckets.
        code_arn: ARN of the job's code bundle, one object.
        repositories: ECR repositories that its images come from, for example `pytorch-training`.
        raw_uri: `s3://bucket/prefix/` of raw data outside the kit's own bucket.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        job: str,
        key: kms.IKey,
        code_arn: str,
        repositories: Sequence[str],
        raw_uri: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            description=f"Runs the training and processing jobs of '{job}'",
        )
        self._allow_buckets(job, raw_uri)
        self._allow_code(code_arn)
        # Encrypt: asked for by OutputDataConfig.KmsKeyId, although the upload itself takes a data key.
        allow(self.role, ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"], [key.key_arn])
        # CreateGrant: SageMaker encrypts the instances' volumes with the key, through a grant that it makes itself.
        allow(
            self.role,
            ["kms:CreateGrant"],
            [key.key_arn],
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        )
        self._allow_container(repositories)

    def _allow_buckets(self, job: str, raw_uri: str | None) -> None:
        own = f"{job}/*"
        # Write on data: prepare.py uploads what it made. Not bucket.grant_read(): that lists other jobs' names too.
        both = [bucket_arn("data", own), bucket_arn("artifacts", own)]
        allow(self.role, ["s3:GetObject", "s3:PutObject"], both, because=_ITS_OWN)
        # Delete: the sync agent mirrors deletions, and the trainer keeps only the newest checkpoints.
        allow(
            self.role,
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"],
            [bucket_arn("checkpoints", own)],
            because=_ITS_OWN,
        )
        purposes: tuple[Purpose, ...] = ("data", "artifacts", "checkpoints")
        allow_finding(self.role, purposes, job)
        allow(self.role, ["s3:GetBucketLocation"], [bucket_arn(purpose) for purpose in purposes])
        if raw_uri is not None:
            name, _, prefix = raw_uri.removeprefix("s3://").partition("/")
            there = f"arn:{Aws.PARTITION}:s3:::{name}"
            allow(self.role, ["s3:GetObject"], [f"{there}/{prefix}*"], because="ends at data.raw of the job file")
            self._allow_listing(there, f"{prefix}*")

    def _allow_code(self, code_arn: str) -> None:
        """CreateTrainingJob lists each channel's objects itself: it refuses a role that may only read them."""
        bucket, _, key = code_arn.partition("/")
        allow(self.role, ["s3:GetObject"], [code_arn])
        self._allow_listing(bucket, key)

    def _allow_listing(self, bucket: str, prefix: str) -> None:
        allow(self.role, ["s3:ListBucket"], [bucket], conditions={"StringLike": {"s3:prefix": prefix}})
        allow(self.role, ["s3:GetBucketLocation"], [bucket])

    def _allow_container(self, repositories: Sequence[str]) -> None:
        allow(
            self.role,
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            # AWS keeps its containers in an account of its own for each group of regions.
            [f"arn:{Aws.PARTITION}:ecr:{Aws.REGION}:*:repository/{name}" for name in repositories],
            because="AWS's container accounts differ from region to region; ends at the repository",
        )
        allow(
            self.role,
            ["ecr:GetAuthorizationToken", "cloudwatch:PutMetricData"],
            ["*"],
            because="AWS defines no resource for these two actions",
        )
        for kind in ("TrainingJobs", "ProcessingJobs"):
            allow(
                self.role,
                ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
                [f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:/aws/sagemaker/{kind}*"],
                because="SageMaker names log group and streams; ends at its own groups",
            )
