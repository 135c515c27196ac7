"""What makes two runs follow the same trajectory, and in what they differ when they do not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["difference", "identity_hash"]


def identity_hash(identity: Mapping[str, Any]) -> str:
    """16 hex digits over the canonical JSON of `identity`."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """One line per leaf that differs, `hyperparameters.learning_rate: 0.01 -> 0.02`."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    return [
        f"{key}: {old.get(key, '(absent)')} -> {new.get(key, '(absent)')}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, json.dumps(value, sort_keys=True)
