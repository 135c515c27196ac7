"""Objects in S3, as the engine needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

__all__ = ["ObjectStore", "S3Objects", "S3Uri", "below", "download"]

_URI = re.compile(r"(?:s3:/|https://s3[.a-z0-9-]*\.amazonaws\.com)/(?P<bucket>[^/]+)(?:/(?P<key>.*))?", re.DOTALL)


@dataclass(frozen=True)
class S3Uri:
    """`s3://bucket/key`, where key may be a prefix."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, uri: str) -> S3Uri:
        """Raises `ValueError` for anything but s3://bucket[/key], or the https form that some CDK constructs render."""
        match = _URI.fullmatch(uri)
        if match is None:
            raise ValueError(f"'{uri}' is not an S3 URI (s3://bucket/key)")
        return cls(match["bucket"], match["key"] or "")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> S3Uri:
        key = self.key if not self.key or self.key.endswith("/") else f"{self.key}/"
        return S3Uri(self.bucket, f"{key}{name}")


class ObjectStore(Protocol):
    """What the engine asks of S3. Implementations raise their own errors; none is expected."""

    def list(self, prefix: S3Uri) -> list[str]:
        """Keys that start with the prefix, as text: `trial-1` finds `trial-10/x`. Sorted; none without a bucket."""
        ...

    def get(self, uri: S3Uri, path: Path) -> None:
        """Write the object's bytes to a file."""
        ...

    def put(self, uri: S3Uri, path: Path) -> None:
        """Make an object of a file's bytes."""
        ...

    def delete(self, uri: S3Uri) -> None:
        """Remove the object; no error where there is none."""
        ...


class S3Objects:
    """Through a boto3 client.

    Args:
        client: makes the client at first use; boto3 takes a third of a second to come up.
    """

    def __init__(self, client: Callable[[], Any]) -> None:
        self._client = client

    def list(self, prefix: S3Uri) -> list[str]:
        client = self._client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=prefix.bucket, Prefix=prefix.key)
        try:
            return sorted(item["Key"] for page in pages for item in page.get("Contents", []))
        except client.exceptions.NoSuchBucket:
            return []

    def get(self, uri: S3Uri, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        body = self._client().get_object(Bucket=uri.bucket, Key=uri.key)["Body"]
        with path.open("wb") as file:
            for chunk in body.iter_chunks(1 << 20):
                file.write(chunk)

    def put(self, uri: S3Uri, path: Path) -> None:
        with path.open("rb") as file:
            self._client().put_object(Bucket=uri.bucket, Key=uri.key, Body=file)

    def delete(self, uri: S3Uri) -> None:
        self._client().delete_object(Bucket=uri.bucket, Key=uri.key)


def below(prefix: str, key: str) -> PurePosixPath:
    """Where File mode puts an object of a channel: relative to the prefix as a folder.

    >>> below("flights/train", "flights/train/part-0.parquet")
    PurePosixPath('part-0.parquet')
    >>> below("code/abc.zip", "code/abc.zip")
    PurePosixPath('abc.zip')
    """
    folder = prefix if prefix.endswith("/") else f"{prefix}/"
    if prefix and key.startswith(folder):
        return PurePosixPath(key[len(folder) :])
    return PurePosixPath(key[prefix.rfind("/") + 1 :])


def download(store: ObjectStore, objects: Iterator[tuple[S3Uri, PurePosixPath]], folder: Path) -> None:
    """Fetch objects to their places below `folder`. Raises `ValueError` for a name that would leave it."""
    folder.mkdir(parents=True, exist_ok=True)
    for uri, relative in objects:
        if relative.is_absolute() or ".." in relative.parts:
            raise ValueError(f"the name of {uri} leads out of {folder.name}/")
        if not str(uri).endswith("/"):  # a "folder" made in the console
            store.get(uri, folder / relative)
