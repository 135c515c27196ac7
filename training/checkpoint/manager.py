"""Which checkpoint to resume from, which to keep, and writing them beside the training loop."""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.checkpoint import store
from training.checkpoint.identity import difference, identity_hash
from training.checkpoint.state import pack

__all__ = ["CheckpointManager", "FencedError", "IdentityError", "Owner", "Restored"]

_log = logging.getLogger(__name__)


class IdentityError(Exception):
    """The checkpoints found belong to another trajectory: resuming would mix two trainings."""


class FencedError(Exception):
    """A later attempt has written here: this one has been replaced."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Who writes. Empty names: a plain script outside any run, which takes what it finds."""

    job: str = ""
    run: str = ""
    attempt: int = 1
    fence: int = 0


@dataclass(frozen=True, kw_only=True)
class Restored:
    """A verified checkpoint."""

    step: int
    state: Any
    execution: Mapping[str, Any]
    """Of the process that wrote it: what may change without changing the trajectory, except in its last bits."""


class CheckpointManager:
    """One folder of checkpoints with one writer: rank 0 of the attempt with the highest fence.

    `identity` is what the trajectory depends on, `execution` what it should not depend on (both JSON).
    """

    def __init__(
        self,
        folder: Path,
        *,
        keep: int,
        owner: Owner,
        identity: Mapping[str, Any],
        execution: Mapping[str, Any],
        on_cost: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self.folder = folder
        self.sizes: dict[int, dict[str, int]] = {}
        """Step -> file -> bytes of every verified checkpoint here; replaced as a whole, so that threads may read it."""
        self.last_step: int | None = None
        """Step of the checkpoint restored or begun last."""
        self._keep = keep
        self._durable_step = 0
        self._owner = owner
        self._identity = dict(identity)
        self._execution = dict(execution)
        self._on_cost = on_cost
        self._buffers: dict[str, torch.Tensor] = {}
        self._writer: threading.Thread | None = None
        self._error: BaseException | None = None
        folder.mkdir(parents=True, exist_ok=True)
        store.clean(folder)

    # -- reading ----------------------------------------------------------------------------------------------------

    def restore(self) -> Restored | None:
        """The newest verified checkpoint of this trajectory, None when nothing was learned yet.

        Torn and foreign ones are passed over and logged. Raises FencedError, and IdentityError when there are whole
        checkpoints of this run but all of another trajectory.
        """
        others: list[tuple[int, Mapping[str, Any]]] = []
        for step in store.list_steps(self.folder):
            try:
                manifest = store.read_manifest(self.folder, step)
                if self._is_foreign(manifest["owner"]):
                    raise store.TornError("it belongs to job {job!r}, run {run!r}".format(**manifest["owner"]))
                if manifest["owner"]["fence"] > self._owner.fence:
                    raise FencedError(f"attempt {manifest['owner']['attempt']} has written step {step} here")
                if manifest["identity_hash"] != identity_hash(self._identity):
                    others.append((step, manifest["identity"]))
                    continue
                state = store.load(self.folder, step)
            except store.TornError as error:
                _log.warning("checkpoint of step %d passed over: %s", step, error)
                continue
            self._remember(step, manifest)
            self.last_step = step
            return Restored(step=step, state=state, execution=manifest["execution"])
        if others:
            step, identity = others[0]
            raise IdentityError(
                f"the checkpoint of step {step} was written by a training that differs from this one in "
                + "; ".join(difference(identity, self._identity))
                + ". Undo the change to resume, or start a new run"
            )
        return None

    # -- writing ----------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        return self._writer is not None and self._writer.is_alive()

    def save(self, step: int, state: Any) -> None:
        """Copy `state` and write it from a thread; waits for the one being written. Raises what that one raised."""
        self.wait()
        started = time.perf_counter()
        tree, tensors = pack(state)
        self._snapshot(tensors)
        self.last_step = step
        stall_s = time.perf_counter() - started
        self._writer = threading.Thread(target=self._write, args=(step, tree, stall_s), name="checkpoint", daemon=True)
        self._writer.start()

    def _snapshot(self, tensors: Mapping[str, torch.Tensor]) -> None:
        """Into the buffers of the last time where they fit: fresh pages cost more than the copy itself."""
        reused, self._buffers = self._buffers, {}
        for name, tensor in tensors.items():
            buffer = reused.get(name)
            if buffer is None or buffer.shape != tensor.shape or buffer.dtype != tensor.dtype:
                buffer = torch.empty(tensor.shape, dtype=tensor.dtype)
            self._buffers[name] = buffer.copy_(tensor)

    def note_durable(self, step: int) -> None:
        """S3 holds the checkpoint of `step` whole: it stays, beside the newest `keep`, until a newer one does.

        The sync agent mirrors deletions at once and uploads when it can: S3 could be left with halves alone.
        """
        self._durable_step = step

    def wait(self) -> None:
        """Until the last save is on disk. Raises what the writer raised: a full disk must not pass for safety."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _write(self, step: int, tree: Any, stall_s: float) -> None:
        try:
            cpu_started = time.thread_time()
            facts = {
                "owner": vars(self._owner),
                "identity": self._identity,
                "identity_hash": identity_hash(self._identity),
                "execution": self._execution,
                "created": round(time.time(), 3),
            }
            self._remember(step, store.write(self.folder, step, tree, self._buffers, facts))
            self._prune()
            # On one core the writer's own CPU time is taken from the loop as well.
            self._on_cost(stall_s + time.thread_time() - cpu_started)
        except BaseException as error:
            self._error = error

    def _remember(self, step: int, manifest: Mapping[str, Any]) -> None:
        files = {name: int(entry["size"]) for name, entry in manifest["files"].items()}
        manifest_file = store.step_folder(self.folder, step) / store.MANIFEST
        self.sizes = {**self.sizes, step: {**files, store.MANIFEST: manifest_file.stat().st_size}}

    def _prune(self) -> None:
        """Verified ones alone count: `keep` torn ones would be none."""
        newest = sorted(self.sizes, reverse=True)[: self._keep]
        if len(newest) < self._keep:
            return
        # At most: the one found durable just now may have been pruned while S3 was being listed.
        durable = max((step for step in self.sizes if step <= self._durable_step), default=None)
        for step in store.list_steps(self.folder):
            if step < newest[-1] and step != durable and not self._is_foreign_folder(step):
                shutil.rmtree(store.step_folder(self.folder, step), ignore_errors=True)
        self.sizes = {step: files for step, files in self.sizes.items() if step in newest or step == durable}

    def _is_foreign(self, owner: Mapping[str, Any]) -> bool:
        """CheckpointConfig.S3Uri is matched as a prefix: another run's files can come along."""
        return bool(self._owner.run) and (owner["job"], owner["run"]) != (self._owner.job, self._owner.run)

    def _is_foreign_folder(self, step: int) -> bool:
        try:
            return self._is_foreign(store.read_manifest(self.folder, step)["owner"])
        except store.TornError:
            return False
