"""One checkpoint on disk: a folder `step-00001234` that is whole when its MANIFEST.json says so.

A temporary name, fsync, rename: a process killed at any moment leaves either a whole folder or one that nobody reads.
That is not enough where the folder has been to S3 and back: the sync agent uploads in any order, so the newest may be
torn, and only sizes and checksums tell.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from training.checkpoint.state import unpack
from training.checkpoint.tensors import TensorFileError, read_tensors, write_tensors
from training.checksum import Checksum

__all__ = ["MANIFEST", "TornError", "clean", "list_steps", "load", "read_manifest", "step_folder", "write"]

MANIFEST = "MANIFEST.json"
FORMAT = 1
_TENSORS, _TREE = "state.safetensors", "state.json"
_TEMPORARY = ".writing-"
_NAME = re.compile(r"step-(\d{8,})")


class TornError(Exception):
    """Not whole: a file is missing, short or other than its manifest says."""


def step_folder(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def list_steps(folder: Path) -> list[int]:
    """Steps that have a folder, newest first; markers of the sync agent and temporary folders are no checkpoints."""
    names = (_NAME.fullmatch(path.name) for path in folder.glob("step-*") if path.is_dir())
    return sorted((int(name[1]) for name in names if name), reverse=True)


def write(
    folder: Path, step: int, tree: Any, tensors: Mapping[str, torch.Tensor], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Write a checkpoint of `step` and return its manifest; `facts` (JSON) go into it. Raises OSError."""
    temporary = folder / f"{_TEMPORARY}{step:08d}-{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    files = {
        _TENSORS: _write_file(temporary / _TENSORS, write_tensors(tensors)),
        _TREE: _write_file(temporary / _TREE, [json.dumps(tree).encode()]),
    }
    manifest = {"format": FORMAT, "step": step, **facts, "files": files}
    _write_file(temporary / MANIFEST, [json.dumps(manifest, indent=1).encode()])  # last: it vouches for the others
    _sync_folder(temporary)
    target = step_folder(folder, step)
    if target.exists():  # torn or foreign, else nobody would write it again; a rename cannot replace a full folder
        os.replace(target, folder / f"{_TEMPORARY}{step:08d}-old")
    os.replace(temporary, target)
    _sync_folder(folder)
    shutil.rmtree(folder / f"{_TEMPORARY}{step:08d}-old", ignore_errors=True)
    return manifest


def read_manifest(folder: Path, step: int) -> dict[str, Any]:
    """Raises TornError unless the manifest is there and all files have the sizes it says."""
    path = step_folder(folder, step)
    try:
        manifest: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
        if manifest["format"] != FORMAT or manifest["step"] != step:
            raise TornError(f"manifest is of format {manifest['format']}, step {manifest['step']}")
        for name in (_TENSORS, _TREE):
            size, expected = (path / name).stat().st_size, manifest["files"][name]["size"]
            if size != expected:
                raise TornError(f"{name} has {size} of {expected} bytes")
        missing = {"owner", "identity", "identity_hash", "execution"} - manifest.keys()
        if missing:
            raise TornError(f"manifest lacks {', '.join(sorted(missing))}")
        return manifest
    except FileNotFoundError as error:
        raise TornError(f"{Path(error.filename).name} is missing") from error
    except (ValueError, KeyError, TypeError) as error:
        raise TornError(f"manifest is damaged: {error!r}") from error


def load(folder: Path, step: int) -> Any:
    """The state, every byte of it verified. Raises TornError, UnknownAlgorithmError."""
    files = read_manifest(folder, step)["files"]
    data = {}
    for name in (_TENSORS, _TREE):
        data[name] = (step_folder(folder, step) / name).read_bytes()
        # An algorithm that is not installed here is no torn file: starting over in silence would throw the run away.
        if not Checksum.matches(data[name], files[name]["checksum"]):
            raise TornError(f"{name} differs from its checksum")
    try:
        return unpack(json.loads(data[_TREE]), read_tensors(data[_TENSORS]))
    except (TensorFileError, ValueError, KeyError) as error:
        raise TornError(f"state cannot be read: {error!r}") from error


def clean(folder: Path) -> None:
    """Remove what a killed process left half written."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)


def _write_file(path: Path, pieces: Iterable[bytes | memoryview]) -> dict[str, Any]:
    size, running = 0, Checksum()
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
            running.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return {"size": size, "checksum": str(running)}


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
