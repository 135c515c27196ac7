"""An object store in a folder, for tests of the engine without a server."""

from __future__ import annotations

import shutil
from pathlib import Path

from infra.offline.sagemaker import S3Uri


class FolderObjects:
    """`ObjectStore`; `puts` and `deletes` say what was done, in order."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.puts: list[str] = []
        self.deletes: list[str] = []

    def list(self, prefix: S3Uri) -> list[str]:
        bucket = self._folder / prefix.bucket
        keys = [path.relative_to(bucket).as_posix() for path in bucket.rglob("*") if path.is_file()]
        return sorted(key for key in keys if key.startswith(prefix.key))

    def get(self, uri: S3Uri, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._folder / uri.bucket / uri.key, path)

    def put(self, uri: S3Uri, path: Path) -> None:
        target = self._folder / uri.bucket / uri.key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        self.puts.append(uri.key)

    def delete(self, uri: S3Uri) -> None:
        (self._folder / uri.bucket / uri.key).unlink(missing_ok=True)
        self.deletes.append(uri.key)

    def write(self, uri: str, text: str) -> None:
        """Make an object."""
        parsed = S3Uri.parse(uri)
        target = self._folder / parsed.bucket / parsed.key
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def read(self, uri: str) -> bytes:
        parsed = S3Uri.parse(uri)
        return (self._folder / parsed.bucket / parsed.key).read_bytes()
