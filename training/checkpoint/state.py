"""Nested state (dicts, lists, numbers, tensors) as JSON plus named tensors, and back, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

__all__ = ["pack", "unpack"]

_TENSOR, _ITEMS, _TUPLE = "$tensor", "$items", "$tuple"


def pack(state: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """(tree for json.dumps, tensors by dotted path). Raises TypeError for what JSON could not give back unchanged."""
    tensors: dict[str, torch.Tensor] = {}
    return _pack(state, "", tensors), tensors


def unpack(tree: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """The state that `pack` was given."""
    if isinstance(tree, list):
        return [unpack(item, tensors) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if _TENSOR in tree:
        return tensors[tree[_TENSOR]]
    if _TUPLE in tree:
        return tuple(unpack(item, tensors) for item in tree[_TUPLE])
    if _ITEMS in tree:
        return {key: unpack(item, tensors) for key, item in tree[_ITEMS]}
    return {key: unpack(item, tensors) for key, item in tree.items()}


def _pack(value: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors[path] = value.detach()
        return {_TENSOR: path}
    if isinstance(value, Mapping):
        items = [(key, _pack(item, f"{path}.{key}" if path else str(key), tensors)) for key, item in value.items()]
        # JSON knows text keys only; an optimizer numbers its parameters.
        plain = all(isinstance(key, str) and not key.startswith("$") for key, _ in items)
        return dict(items) if plain else {_ITEMS: [list(item) for item in items]}
    if isinstance(value, (list, tuple)):
        packed = [_pack(item, f"{path}.{i}" if path else str(i), tensors) for i, item in enumerate(value)]
        return packed if isinstance(value, list) else {_TUPLE: packed}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{path or 'state'}: {type(value).__name__} cannot be kept in a checkpoint; use numbers or tensors")
