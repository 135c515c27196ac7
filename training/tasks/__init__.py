"""What is learned: one module per bundled task, or a class of the user's own."""

from __future__ import annotations

import importlib

from training.tasks.base import Batch, Channels, Task

__all__ = ["Batch", "Channels", "Task", "task_class"]

_BUNDLED = {"tabular": "training.tasks.tabular:Tabular"}


def task_class(name: str) -> type[Task]:
    """Class of a bundled task, or of `package.module:Class` in the job's source_dir. Raises ValueError, ImportError."""
    module_name, _, class_name = _BUNDLED.get(name, name).partition(":")
    if not class_name:
        raise ValueError(f"task {name!r} is neither bundled ({', '.join(_BUNDLED)}) nor written 'package.module:Class'")
    found = getattr(importlib.import_module(module_name), class_name, None)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ValueError(f"task {name!r}: {class_name} in {module_name} is not a subclass of training.tasks.Task")
    return found
