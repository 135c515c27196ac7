"""The little of S3 that the container does itself, through whatever boto3 the container has (imported when needed)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["Prefix"]


class Prefix:
    """Objects under one `s3://bucket/prefix/`. Every method raises botocore's errors, except for a missing object."""

    def __init__(self, uri: str, *, client: Any = None) -> None:
        if not uri.startswith("s3://") or not uri.endswith("/"):
            raise ValueError(f"{uri!r} must be 's3://bucket/prefix/' with the final slash: S3 matches prefixes as text")
        self._bucket, _, self._prefix = uri.removeprefix("s3://").partition("/")
        self._client = client or _client()

    def get_json(self, name: str) -> Any | None:
        """None when there is no such object."""
        try:
            return json.loads(self._client.get_object(Bucket=self._bucket, Key=self._prefix + name)["Body"].read())
        except self._client.exceptions.NoSuchKey:
            return None

    def put_json(self, name: str, value: Any) -> None:
        body = json.dumps(value).encode()
        self._client.put_object(Bucket=self._bucket, Key=self._prefix + name, Body=body, ContentType="application/json")

    def put_file(self, name: str, path: Path) -> None:
        self._client.upload_file(str(path), self._bucket, self._prefix + name)

    def sizes(self) -> dict[str, int]:
        """Bytes of every object, by name below the prefix."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
        found = (entry for page in pages for entry in page.get("Contents", []))
        return {entry["Key"][len(self._prefix) :]: entry["Size"] for entry in found}


def _client() -> Any:
    import boto3  # half a second, and not there at all where training is tried without AWS
    from botocore.config import Config

    patient = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "max_attempts": 4})
    return boto3.client("s3", config=patient)
