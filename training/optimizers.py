"""torch's optimizers in the fastest form this build of torch has for this device."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn

from training.config import Hyperparameters
from training.schedules import scaled_learning_rate

__all__ = ["build_optimizer", "fastest_form", "parameter_groups"]

_CLASSES: dict[str, type[torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
}


def build_optimizer(config: Hyperparameters, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of the job file over all parameters that learn."""
    device = next(model.parameters()).device
    options: dict[str, Any] = {"lr": scaled_learning_rate(config)}
    if config.optimizer in ("sgd", "rmsprop"):
        options["momentum"] = config.momentum
    if config.optimizer in ("adam", "adamw"):
        options["betas"] = config.betas
    if config.optimizer != "sgd":
        options["eps"] = config.eps
    form = fastest_form(config.optimizer, device.type)
    return _CLASSES[config.optimizer](parameter_groups(model, config.weight_decay), **options, **form)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices decay; biases and the scales of norms, which decay would only cripple, do not."""
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in learning if parameter.ndim >= 2]
    vectors = [parameter for parameter in learning if parameter.ndim < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


@functools.cache
def fastest_form(optimizer: str, device: str) -> dict[str, Any]:
    """`{"fused": True}`, `{"foreach": True}` or `{}`: found by trying, since it differs by version and device.

    fused: one kernel for all parameters (CPU from torch 2.4 on). foreach helps on accelerators alone.
    """
    for form in ("fused",) if device == "cpu" else ("fused", "foreach"):
        if _works(_CLASSES[optimizer], form, device):
            return {form: True}
    return {}


def _works(kind: type[torch.optim.Optimizer], form: str, device: str) -> bool:
    parameter = nn.Parameter(torch.zeros(1, device=device))
    parameter.grad = torch.zeros_like(parameter)
    try:
        kind([parameter], lr=0.1, **{form: True}).step()  # type: ignore[arg-type, call-arg]
    except (TypeError, RuntimeError, ValueError):
        return False
    return True
