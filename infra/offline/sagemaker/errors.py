"""Refusals of the SageMaker API, with AWS's codes and texts."""

from __future__ import annotations

__all__ = ["SageMakerError", "limit_exceeded", "not_found", "resource_in_use", "throttled", "validation"]


class SageMakerError(Exception):
    """A call that SageMaker answers with an error (HTTP status 400).

    Attributes:
        code: for example `ValidationException`.
        message: AWS's text.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def validation(message: str) -> SageMakerError:
    return SageMakerError("ValidationException", message)


def not_found() -> SageMakerError:
    """An unknown training or processing job. A ValidationException, where other services have ResourceNotFound."""
    return validation("Requested resource not found.")


def resource_in_use(kind: str, arn: str) -> SageMakerError:
    return SageMakerError(
        "ResourceInUse",
        f"{kind} job names must be unique within an AWS account and region, "
        f"and a {kind.lower()} job with this name already exists ({arn})",
    )


def throttled() -> SageMakerError:
    return SageMakerError("ThrottlingException", "Rate exceeded")


def limit_exceeded(instance_type: str, num_instances: int, *, market: str) -> SageMakerError:
    """`market` is how Service Quotas names the quota: `training job usage` or `spot training job usage`."""
    return SageMakerError(
        "ResourceLimitExceeded",
        f"The account-level service limit '{instance_type} for {market}' is 0 Instances, with current utilization of "
        f"0 Instances and a request delta of {num_instances} Instances. Please use AWS Service Quotas to request an "
        "increase for this quota. If AWS Service Quotas is not available, contact AWS support to request an increase "
        "for this quota.",
    )
