"""S3 objects as files in the account's folder, with a journal that says which object each file is.

A file has its object's name, so that a person can look at a model or a ledger without any client. The journal is what
counts: one JSON line per change, appended, so that a crash costs at most its unfinished last line.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import quote

from .files import write_atomically

__all__ = ["ObjectFiles", "StoredObject"]

_JOURNAL = "journal.jsonl"
_MAX_NAME = 200
"""Bytes of a path's part. File systems take 255, and a temporary name is longer than the name."""


@dataclass(kw_only=True)
class StoredObject:
    """One version of an object, or the marker that it was deleted in a versioned bucket (`file` is empty)."""

    bucket: str
    key: str
    version: str
    file: str = ""
    """Relative to the folder."""
    etag: str = ""
    """Without quotes."""
    size: int = 0
    modified: float = 0.0
    """Seconds since the epoch."""
    metadata: dict[str, str] = field(default_factory=dict)
    encryption: str | None = None
    kms_key_id: str | None = None


class ObjectFiles:
    """The files and their journal. Callers take turns (see `serving.TakingTurns`); there is no lock here.

    Args:
        folder: made if missing. What it holds is read at once; `objects()` gives it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owners: dict[str, StoredObject] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._recalled = list(_replay(folder / _JOURNAL))
        self._rewrite()
        self._journal = (folder / _JOURNAL).open("a", encoding="utf-8")

    def recalled(self) -> Iterator[StoredObject]:
        """What an earlier life of the account has left, oldest first."""
        for item in self._recalled:
            if item.file:
                self._owners[item.file] = item
            yield item

    def write(self, item: StoredObject, value: bytes) -> None:
        """Store an object's bytes; fills in `file`, `size` and, where empty, `etag`."""
        item.file = self._place(item)
        item.size = len(value)
        item.etag = item.etag or _md5(value)
        path = self._folder / item.file
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"@{uuid.uuid4().hex}")
        temporary.write_bytes(value)
        self.record(item)
        os.replace(temporary, path)
        self._owners[item.file] = item

    def record(self, item: StoredObject) -> None:
        """Note an object, again after its metadata changed, or a deletion marker."""
        self._append({"put": asdict(item)})

    def read(self, item: StoredObject) -> bytes:
        return (self._folder / item.file).read_bytes()

    def remove(self, item: StoredObject) -> None:
        """Forget a version. Its file stays when a newer object has taken the place over."""
        if self._owners.get(item.file) is item:
            del self._owners[item.file]
            self._append({"gone": item.file})
            (self._folder / item.file).unlink(missing_ok=True)

    def close(self) -> None:
        self._journal.close()

    def _append(self, entry: dict[str, object]) -> None:
        self._journal.write(json.dumps(entry) + "\n")
        self._journal.flush()

    def _place(self, item: StoredObject) -> str:
        """A file name like the key. Not where S3 allows what a file system does not: `a` beside `a/b`, long names."""
        parts = [_name(part) for part in item.key.split("/")]
        if item.version != "null":
            parts[-1] += f"@{item.version}"
        file = "/".join([item.bucket, *parts])
        path = self._folder / file
        parents = list(path.parents)[: len(parts) - 1]
        if max(map(len, parts)) > _MAX_NAME or path.is_dir() or any(parent.is_file() for parent in parents):
            digest = hashlib.sha256(f"{item.key}@{item.version}".encode()).hexdigest()
            return f"{item.bucket}/@other/{digest}"
        return file

    def _rewrite(self) -> None:
        """Start the journal anew with what is still true, and check it against the files."""
        kept = []
        for item in self._recalled:
            path = self._folder / item.file
            if not item.file:
                kept.append(item)
            elif path.is_file():
                if path.stat().st_size != item.size:  # the account died between the journal and the file
                    value = path.read_bytes()
                    item.size, item.etag = len(value), _md5(value)
                kept.append(item)
        write_atomically(self._folder / _JOURNAL, "".join(json.dumps({"put": asdict(item)}) + "\n" for item in kept))
        self._recalled = kept


def _replay(journal: Path) -> Iterator[StoredObject]:
    """Objects that the journal ends with, in the order in which they were first written."""
    items: dict[str, StoredObject] = {}
    if not journal.exists():
        return
    for number, line in enumerate(journal.read_text(encoding="utf-8").splitlines()):
        try:
            entry = json.loads(line)
        except ValueError:  # the last line, unfinished
            continue
        if "gone" in entry:
            items.pop(entry["gone"], None)
        else:
            item = StoredObject(**entry["put"])
            items[item.file or f"marker {number}"] = item
    yield from items.values()


def _name(part: str) -> str:
    """Part of a key as a file name. `@` never comes from a key, so it is free for names of our own."""
    return {"": "@", ".": "%2E", "..": "%2E%2E"}.get(part) or quote(part, safe=" +,=:()[]{}~!&'")


def _md5(value: bytes) -> str:
    return hashlib.md5(value, usedforsecurity=False).hexdigest()
