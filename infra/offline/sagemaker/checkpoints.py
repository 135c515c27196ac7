"""The checkpoint agent: /opt/ml/checkpoints and S3, kept alike the way SageMaker's agent does it on a bad day.

It knows nothing of checkpoints. Files go up one by one, in any order, while they are still being written; deletions
are mirrored; `.sagemaker-uploading` markers lie among the files meanwhile; restoring matches the S3 URI as a mere
prefix. What a trainer may rely on is only what its own manifest proves.
"""

from __future__ import annotations

import logging
import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from .objects import ObjectStore, S3Uri, download

__all__ = ["MARKER", "CheckpointAgent", "restore"]

log = logging.getLogger(__name__)

MARKER = ".sagemaker-uploading"

_Stamp = tuple[int, int]
"""Size and modification time in ns: what makes a file look changed."""


def restore(store: ObjectStore, prefix: S3Uri, folder: Path) -> None:
    """Fill an empty folder at the start of a container.

    `s3://b/trial-1` also brings `s3://b/trial-10/x`, as `0/x`: AWS compares text.
    """
    keys = store.list(prefix)
    relative = (PurePosixPath(key[len(prefix.key) :].lstrip("/")) for key in keys)
    download(store, ((S3Uri(prefix.bucket, key), name) for key, name in zip(keys, relative, strict=True)), folder)


class CheckpointAgent:
    """Mirrors a folder to a prefix until it is told to finish.

    Args:
        seed: makes the order of uploads repeatable.
        interval_s: pause between two looks at the folder.
    """

    def __init__(self, store: ObjectStore, folder: Path, prefix: S3Uri, *, seed: str, interval_s: float) -> None:
        self._store = store
        self._folder = folder
        self._prefix = prefix
        self._random = random.Random(seed)
        self._interval_s = interval_s
        self._mirrored = _scan(folder)  # what was restored is in S3 already
        self._stalled = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"checkpoints {prefix}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stall(self) -> None:
        """Upload nothing more, silently, to the end of the container (sagemaker-python-sdk#3062)."""
        self._stalled = True

    def finish(self, *, sync: bool) -> None:
        """End the agent; with `sync`, after everything still in the folder has gone up."""
        self._done.set()
        self._thread.join()
        if sync:
            self._look()

    def _run(self) -> None:
        while not self._done.wait(self._interval_s):
            try:
                self._look()
            except Exception:
                log.exception("cannot mirror checkpoints to %s; trying again", self._prefix)

    def _look(self) -> None:
        if self._stalled:
            return
        present = _scan(self._folder)
        changed = [name for name, stamp in present.items() if self._mirrored.get(name) != stamp]
        removed = [name for name in self._mirrored if name not in present]
        self._random.shuffle(changed)
        for name in removed:
            self._store.delete(self._prefix / name)
            del self._mirrored[name]
        for name in changed:
            path = self._folder / name
            with suppress(FileNotFoundError), _marker(path):  # removed while we worked
                self._store.put(self._prefix / name, path)
                self._mirrored[name] = present[name]


@contextmanager
def _marker(path: Path) -> Iterator[None]:
    marker = path.with_name(path.name + MARKER)
    marker.touch()
    try:
        yield
    finally:
        marker.unlink(missing_ok=True)


def _scan(folder: Path) -> dict[str, _Stamp]:
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with suppress(OSError):  # the trainer works on while we look
                if path.is_file() and not path.is_symlink() and not name.endswith(MARKER):
                    status = path.stat()
                    found[path.relative_to(folder).as_posix()] = (status.st_size, status.st_mtime_ns)
    return dict(sorted(found.items()))
