"""Which objects a channel brings to which host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from .objects import ObjectStore, S3Uri, below

__all__ = ["channel_objects"]


def channel_objects(
    store: ObjectStore, channel: Mapping[str, Any], *, host: int, num_hosts: int
) -> list[tuple[S3Uri, PurePosixPath]]:
    """(object, path in the channel's folder) for one host.

    Args:
        channel: an entry of InputDataConfig with an S3Prefix.
        host: from 0.

    Raises:
        ValueError: with SageMaker's words, when there is nothing under the prefix, or too little to share.
    """
    source = channel["DataSource"]["S3DataSource"]
    prefix = S3Uri.parse(source["S3Uri"])
    keys = store.list(prefix)
    if not keys:
        raise ValueError(
            f'Data download failed:No S3 objects found under S3 URL "{prefix}" given in input data source. Please '
            "ensure that the bucket exists in the selected region, that objects exist under that S3 prefix, and that "
            "the role has s3:ListBucket permissions on the bucket."
        )
    if source.get("S3DataDistributionType") == "ShardedByS3Key":
        if len(keys) < num_hosts:
            raise ValueError(
                f'Data download failed:Number of objects ({len(keys)}) under S3 URL "{prefix}" is less than the '
                f"number of instances ({num_hosts})"
            )
        keys = keys[host::num_hosts]
    return [(S3Uri(prefix.bucket, key), below(prefix.key, key)) for key in keys]
