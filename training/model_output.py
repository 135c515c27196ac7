"""/opt/ml/model: weights that nothing can execute, and what is needed to use them.

To use a tabular one, with `encode` of training.data.tables and `Manifest` of training.data.manifest:

    model, config = load_model(Path("model"))  # the best one, in evaluation mode
    numeric, categorical = encode(table, **Manifest.parse_features(config["model"]["features"]))
    probability = model(numeric, categorical).sigmoid()
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.checkpoint.tensors import read_tensors, write_tensors
from training.tasks import task_class

__all__ = ["load_model", "write_model"]

BEST, LAST, CONFIG = "model.safetensors", "last.safetensors", "config.json"


def write_model(
    folder: Path,
    *,
    best: Mapping[str, torch.Tensor],
    last: Mapping[str, torch.Tensor],
    config: Mapping[str, Any],
) -> None:
    """Best and last weights and `config` (JSON with `task` and `model`)."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, weights in ((BEST, best), (LAST, last)):
        with (folder / name).open("wb") as file:
            file.writelines(write_tensors(weights))
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n")


def load_model(folder: Path, *, which: str = BEST) -> tuple[nn.Module, dict[str, Any]]:
    """The module in evaluation mode, and its config."""
    config = json.loads((folder / CONFIG).read_text())
    model = task_class(config["task"]).load_model(config["model"])
    model.load_state_dict(read_tensors((folder / which).read_bytes()))
    return model.eval(), config
