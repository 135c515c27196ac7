"""Names of what the stacks make. They follow from account and region, so that one part can name another before it is
there, and so that two stacks need no CloudFormation export between them (an export in use cannot be changed)."""

from __future__ import annotations

from typing import Literal

from aws_cdk import Aws

__all__ = ["REAPER", "Purpose", "arn", "bucket_arn", "bucket_name", "state_machine_name", "topic_name"]

Purpose = Literal["data", "checkpoints", "artifacts", "access-logs"]

REAPER = "slipstream-reaper"


def bucket_name(purpose: Purpose) -> str:
    return f"slipstream-{Aws.ACCOUNT_ID}-{Aws.REGION}-{purpose}"


def bucket_arn(purpose: Purpose, objects: str | None = None) -> str:
    """ARN of a bucket of the kit, or of the objects in it that match a pattern."""
    return f"arn:{Aws.PARTITION}:s3:::{bucket_name(purpose)}" + (f"/{objects}" if objects else "")


def state_machine_name(job: str) -> str:
    """Raises ValueError for a job that would take the reaper's name."""
    if (name := f"slipstream-{job}") == REAPER:
        raise ValueError(f"a job cannot be called {job!r}: '{REAPER}' is the machine that all jobs share; rename it")
    return name


def topic_name(job: str) -> str:
    return f"slipstream-{job}"


def arn(service: str, resource: str) -> str:
    """ARN of a resource in this account and region."""
    return f"arn:{Aws.PARTITION}:{service}:{Aws.REGION}:{Aws.ACCOUNT_ID}:{resource}"
