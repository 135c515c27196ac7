"""Checkpoints true to S3: only what a manifest vouches for is loaded, and nothing that is loaded can execute code."""

from training.checkpoint.identity import difference, identity_hash
from training.checkpoint.interval import SaveTimer, young_daly_s
from training.checkpoint.manager import CheckpointManager, FencedError, IdentityError, Owner, Restored
from training.checkpoint.tensors import read_tensors, write_tensors

__all__ = [
    "CheckpointManager",
    "FencedError",
    "IdentityError",
    "Owner",
    "Restored",
    "SaveTimer",
    "difference",
    "identity_hash",
    "read_tensors",
    "write_tensors",
    "young_daly_s",
]
