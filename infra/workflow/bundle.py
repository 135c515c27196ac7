"""The code that a job runs, as one zip that Python starts: `python3 <hash>.zip`.

SageMaker does not unpack channels, so the bundle is run as it is. The same sources give the same bytes on every
machine: names are sorted, times fixed, and nothing is compressed (zlib's output differs between versions); otherwise
each synthesis would deploy anew.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["CONTAINER_PACKAGE", "recipe_hash", "write_bundle"]

CONTAINER_PACKAGE = "training"
"""The package that is bundled with every job; also the default `source_dir`."""

_PREPARED_FORMAT = "data/manifest.py"
"""What the manifest of prepared data looks like; beside the recipe and prepare*, the third that shapes their bytes."""

_EPOCH = (1980, 1, 1, 0, 0, 0)
_SKIPPED = {"__pycache__", ".git", ".venv", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

# A processing job's environment values end at 256 characters, too short for a recipe, so the recipe travels here.
_MAIN = '''\
"""Entry point of the bundle. The recipe of `data.prepare` is part of the code that carries it out."""

import os
import sys

os.environ.setdefault("SLIPSTREAM_PREPARE", {recipe!r})

from training.__main__ import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
'''


def write_bundle(target: Path, *, project: Path, source_dir: str, recipe: Mapping[str, Any]) -> Path:
    """Write the zip: package `training`, the files of `source_dir` at top level, and `__main__.py`.

    Args:
        target: the file to write; its folder is made.
        project: the folder that holds `training/` and that `source_dir` is relative to.
        source_dir: the job's own code.
        recipe: `data.prepare` of the job.

    Raises:
        FileNotFoundError: `source_dir` is not a folder.
        ValueError: `source_dir` holds a file whose name the bundle needs for itself.
    """
    files = {f"{CONTAINER_PACKAGE}/{name}": path for name, path in _sources(project / CONTAINER_PACKAGE)}
    if Path(source_dir) != Path(CONTAINER_PACKAGE):
        for name, path in _sources(project / source_dir):
            if name == "__main__.py" or name.split("/")[0].removesuffix(".py") == CONTAINER_PACKAGE:
                raise ValueError(f"{path}: the bundle has a '{name.split('/')[0]}' of its own; rename this one")
            files[name] = path
    content = {name: path.read_bytes() for name, path in files.items()}
    content["__main__.py"] = _MAIN.format(recipe=_canonical(recipe)).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16  # as on Unix, wherever it is made
            archive.writestr(entry, content[name])
    return target


def recipe_hash(*, project: Path, recipe: Mapping[str, Any]) -> str:
    """SHA-256 of what decides the prepared bytes beside the raw data: the recipe and the code that carries it out."""
    digest = hashlib.sha256(_canonical(recipe).encode())
    for name, path in _sources(project / CONTAINER_PACKAGE):
        if name == _PREPARED_FORMAT or any(part.startswith("prepare") for part in Path(name).parts):
            digest.update(f"\0{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _sources(folder: Path) -> Iterator[tuple[str, Path]]:
    """Relative POSIX names and paths, sorted, without caches and hidden files."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder: source_dir is relative to the project's root")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and path.suffix != ".pyc" and not any(p in _SKIPPED or p.startswith(".") for p in name.parts):
            yield name.as_posix(), path
