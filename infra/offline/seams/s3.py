"""moto's S3 with its objects in files: they survive the account, cost no memory, and ETags are true.

moto keeps each object in a buffer that a reader and the lazy ETag seek in at once (a torn read), and keeps the parts
of a multipart upload beside the whole. Its conditional PutObject checks and then puts: that is atomic here because
requests to one service take turns (`serving.TakingTurns`).
"""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

import moto.s3.models
from moto.s3.models import FakeDeleteMarker, FakeKey, S3Backend, s3_backends

from ..storage import ObjectFiles, StoredObject

__all__ = ["install", "restore"]

_set_delete_marker = S3Backend._set_delete_marker


class FileKey(FakeKey):
    """An object of moto's whose bytes are in a file. Parts of an unfinished upload (no bucket) stay in memory."""

    files: ClassVar[ObjectFiles]
    stored: StoredObject | None = None

    def __init__(self, name: str, value: bytes | StoredObject, *args: Any, **options: Any) -> None:
        if isinstance(value, StoredObject):
            self.stored = value
        elif options.get("bucket_name"):
            self.stored = StoredObject(
                bucket=options["bucket_name"],
                key=name,
                version=options.get("version_id") or "null",
                etag=options.get("etag") or "",
                encryption=options.get("encryption"),
                kms_key_id=options.get("kms_key_id"),
            )
        super().__init__(name, value, *args, **options)  # type: ignore[arg-type]
        if self.multipart and self.stored:
            self.multipart.dispose()
            self.multipart.parts.clear()

    @property
    def value(self) -> bytes:
        return self.files.read(self.stored) if self.stored else super().value

    @value.setter
    def value(self, value: bytes | str | StoredObject) -> None:
        if not self.stored:
            FakeKey.value.fset(self, value)  # type: ignore[attr-defined]
            return
        if isinstance(value, StoredObject):
            self.last_modified = datetime.datetime.fromtimestamp(value.modified, datetime.UTC).replace(tzinfo=None)
        else:
            self.stored.modified = self.last_modified.replace(tzinfo=datetime.UTC).timestamp()
            self.files.write(self.stored, value.encode() if isinstance(value, str) else value)
        self.contentsize = self.stored.size
        self._etag = self.stored.etag

    def set_metadata(self, metadata: Any, replace: bool = False) -> None:
        super().set_metadata(metadata, replace)
        if self.stored:
            self.stored.metadata = {str(key): str(text) for key, text in self._metadata.items()}
            self.files.record(self.stored)

    def dispose(self, garbage: bool = False) -> None:
        if self.stored and not self.disposed and not garbage:
            self.files.remove(self.stored)
        super().dispose(garbage=False)


def install(files: ObjectFiles) -> None:
    """Put objects of all buckets into `files`."""

    def set_delete_marker(self: S3Backend, bucket_name: str, key_name: str) -> FakeDeleteMarker:
        marker = _set_delete_marker(self, bucket_name, key_name)
        files.record(StoredObject(bucket=bucket_name, key=key_name, version=marker.version_id))
        return marker

    FileKey.files = files
    moto.s3.models.FakeKey = FileKey  # type: ignore[misc]
    S3Backend._set_delete_marker = set_delete_marker  # type: ignore[method-assign]


def restore(files: ObjectFiles, *, account: str, region: str) -> None:
    """Put back what an earlier life of the account has left. Buckets of stacks have to be there already."""
    backend = s3_backends[account]["aws"]
    for item in files.recalled():
        if item.bucket not in backend.buckets:
            backend.create_bucket(item.bucket, region)
        bucket = backend.get_bucket(item.bucket)
        if not item.file:
            if item.key in bucket.keys:
                _set_delete_marker(backend, item.bucket, item.key)
            continue
        key = FileKey(
            item.key,
            item,
            account_id=account,
            region_name=region,
            bucket_name=item.bucket,
            is_versioned=item.version != "null",
            version_id=item.version,
            encryption=item.encryption,
            kms_key_id=item.kms_key_id,
        )
        key._metadata.update(item.metadata)
        bucket.keys.setlist(item.key, [*bucket.keys.getlist(item.key, []), key])
