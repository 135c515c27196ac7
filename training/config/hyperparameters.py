"""`hyperparameters` of the job file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from training.config.base import Config, ConfigError

__all__ = ["NOT_YET", "EarlyStoppingConfig", "Hyperparameters"]

NOT_YET: Mapping[str, frozenset[str] | None] = {
    "optimizer": frozenset({"lamb", "lars", "muon"}),
    "precision": frozenset({"bf16", "fp16"}),
    "activation_checkpointing": None,
    "augmentation": None,
    "autotune": None,
    "channels_last": None,
    "compile": None,
    "ema_decay": None,
    "num_workers": None,
}
"""Keys (or single values of a key) that are spoken for: valid in a job file, refused before anything is started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyStoppingConfig(Config):
    """`hyperparameters.early_stopping`: one evaluation at the end of each epoch counts."""

    metric: str
    """Name as reported by the task, for example `validation:auc`."""
    mode: Literal["min", "max"]
    patience: int = 3
    """Evaluations without improvement that are borne before stopping."""
    min_delta: float = 0.0
    """Smallest change that counts as improvement, in the metric's own unit."""

    def _rules(self) -> Iterator[ConfigError]:
        if self.patience < 1:
            yield ConfigError(
                "patience",
                f"{self.patience}: with less than 1 a run stops at its first evaluation; leave early_stopping out to "
                "train to the end",
            )
        if self.min_delta < 0:
            yield ConfigError("min_delta", f"{self.min_delta:g} would count a loss as improvement; use 0 or more")
        if not self.metric.startswith("validation:"):
            yield ConfigError(
                "metric", f"{self.metric!r} is not measured on the validation data: name 'validation:...'"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Hyperparameters(Config):
    """Everything that shapes the trajectory of the weights, besides data and code.

    What serves flights well (temporal split, CPU, one thread):

        epochs: 5
        global_batch_size: 2048
        optimizer: adamw
        learning_rate: 0.004
        weight_decay: 0.05
        schedule: one_cycle
        dropout: 0.2
        hidden_sizes: [128, 64]
        early_stopping: {metric: "validation:auc", mode: max, patience: 3}
    """

    NOT_YET: ClassVar[Mapping[str, frozenset[str] | None]] = NOT_YET

    epochs: int = 10
    seed: int = 0
    global_batch_size: int = 512
    """Samples per optimizer step over all ranks, whatever the memory of one device allows."""
    micro_batch_size: int | None = None
    """Samples per forward pass and rank; gradients accumulate up to the global batch. None: all of the rank's share."""
    precision: Literal["fp32"] = "fp32"

    optimizer: Literal["sgd", "adam", "adamw", "rmsprop", "adagrad"] = "adamw"
    learning_rate: float = 1e-3
    """Peak of the schedule."""
    learning_rate_scaling: Literal["none", "linear", "sqrt"] = "none"
    """`linear` (Goyal et al. 2017, for SGD) or `sqrt` (Krizhevsky 2014, for Adam's family) in
    global_batch_size / base_batch_size."""
    base_batch_size: int = 256
    """Batch for which `learning_rate` was found; read by `learning_rate_scaling` alone."""
    momentum: float = 0.9
    """SGD and RMSprop; 0: none."""
    betas: tuple[float, ...] = (0.9, 0.999)
    """Adam and AdamW."""
    eps: float = 1e-8
    weight_decay: float = 0.0
    """Decoupled in AdamW, an L2 term of the gradient elsewhere; never on biases, norms or embeddings."""
    l1: float = 0.0
    """Weight of the sum of absolute weights in the loss, on the same parameters as weight_decay."""
    max_grad_norm: float | None = None
    """Gradients are scaled down to this global norm."""

    schedule: Literal["constant", "step", "exponential", "cosine", "one_cycle"] = "constant"
    warmup_steps: int = 0
    """Optimizer steps of linear warm-up before the schedule; one_cycle brings its own (30 % of all steps)."""
    decay_every_steps: int | None = None
    """`step`: optimizer steps between two decays. None: a third of all."""
    decay_factor: float = 0.1
    """`step`: factor at each decay; `exponential`: factor reached at the last step."""
    final_learning_rate: float = 0.0
    """Where cosine and one_cycle end, as a share of the peak."""

    label_smoothing: float = 0.0
    dropout: float = 0.0
    hidden_sizes: tuple[int, ...] = (128, 64)
    """Tabular: widths of the hidden layers."""
    max_embedding_size: int = 16
    """Tabular: a category with n values gets min(max_embedding_size, ceil(n ** 0.5)) numbers."""
    early_stopping: EarlyStoppingConfig | None = None

    @classmethod
    def from_strings(cls, strings: Mapping[str, str]) -> Hyperparameters:
        """From SageMaker's hyperparameters.json, where each value is text: JSON, or else a plain word."""
        own = {key: value for key, value in strings.items() if not key.startswith("sagemaker_")}
        return cls.from_mapping({key: _decode(value) for key, value in own.items()})

    def _rules(self) -> Iterator[ConfigError]:
        for key in ("epochs", "global_batch_size", "base_batch_size", "max_embedding_size"):
            yield from _at_least(self, key, 1)
        for key in ("micro_batch_size", "decay_every_steps"):
            if getattr(self, key) is not None:
                yield from _at_least(self, key, 1)
        for key in ("seed", "warmup_steps", "weight_decay", "l1"):
            yield from _at_least(self, key, 0)
        for key in ("learning_rate", "eps", "decay_factor"):
            if getattr(self, key) <= 0:
                yield ConfigError(key, f"{getattr(self, key):g} must be above 0")
        for key in ("dropout", "label_smoothing", "momentum"):
            if not 0 <= getattr(self, key) < 1:
                yield ConfigError(key, f"{getattr(self, key):g} must be in [0, 1)")
        if not 0 <= self.final_learning_rate <= 1:
            yield ConfigError("final_learning_rate", "is a share of learning_rate and lies in [0, 1]")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            yield ConfigError("betas", f"{list(self.betas)} must be two numbers in [0, 1)")
        if self.max_grad_norm is not None and self.max_grad_norm <= 0:
            yield ConfigError("max_grad_norm", f"{self.max_grad_norm:g} would stop all learning; leave it out")
        if any(size < 1 for size in self.hidden_sizes):
            yield ConfigError("hidden_sizes", f"{list(self.hidden_sizes)} must be widths of 1 or more")
        if self.micro_batch_size is not None and self.micro_batch_size > self.global_batch_size:
            yield ConfigError(
                "micro_batch_size",
                f"{self.micro_batch_size} is above global_batch_size {self.global_batch_size}; leave it out",
            )
        if self.schedule == "one_cycle" and self.warmup_steps:
            yield ConfigError("warmup_steps", "one_cycle brings its own warm-up; leave one of them out")


def _at_least(config: Hyperparameters, key: str, least: int) -> Iterator[ConfigError]:
    if getattr(config, key) < least:
        yield ConfigError(key, f"{getattr(config, key):g} must be {least} or more")


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
