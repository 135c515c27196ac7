"""One number for a set of weights, equal exactly when every bit is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

import torch

from training.checkpoint.tensors import tensor_bytes

__all__ = ["weights_digest"]


def weights_digest(weights: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 (hex) over (name, dtype, shape, little-endian bytes) of all tensors, sorted by name."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name]
        digest.update(json.dumps([name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]).encode())
        digest.update(tensor_bytes(tensor))
    return digest.hexdigest()
