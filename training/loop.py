"""The training loop: optimizer steps, evaluations, checkpoints, and nothing that knows of SageMaker.

Everything that shapes the trajectory lives in `Trainer.state` and goes into the checkpoint as it is; what a step costs
beyond forward, backward and optimizer is a few comparisons.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from training.checkpoint import CheckpointManager, Restored, SaveTimer
from training.config import Hyperparameters, Metric
from training.early_stopping import EarlyStopping, improves
from training.hold import Hold
from training.losses import DivergedError, LossTrace
from training.optimizers import build_optimizer
from training.order import num_steps
from training.progress import Progress
from training.rng import get_rng_state, set_rng_state
from training.schedules import learning_rates
from training.stop import StopRequest
from training.tasks import Batch, Task

__all__ = ["Best", "Trainer", "watched_metric"]

_log = logging.getLogger(__name__)
_LOG_EVERY_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best model so far, by the watched metric on the validation data."""

    value: float
    epoch: int
    metrics: Mapping[str, float]
    weights: Mapping[str, torch.Tensor]


def watched_metric(config: Hyperparameters, task: type[Task] | Task) -> Metric:
    """By what the best model is kept: what early stopping watches, or else the task's own."""
    early = config.early_stopping
    return Metric(early.metric, early.mode) if early else task.primary_metric


class Trainer:
    """`run` trains until done or until `stop.requested`; what is left to do is in `finished`."""

    def __init__(
        self,
        config: Hyperparameters,
        task: Task,
        model: nn.Module,
        *,
        micro_batch_size: int,
        checkpoints: CheckpointManager,
        timer: SaveTimer,
        stop: StopRequest,
    ) -> None:
        self.config = config
        self.task = task
        self.model = model
        self.step = self.epoch = self.offset = 0
        """Optimizer steps in all, epochs completed, steps within the current epoch."""
        self.finished = self.stopped_early = False
        self.best: Best | None = None
        self.steps_per_epoch = num_steps(task.num_samples, config.global_batch_size)
        self.total_steps = config.epochs * self.steps_per_epoch
        self._optimizer = build_optimizer(config, model)
        self._learning_rate = learning_rates(config, total_steps=self.total_steps)
        self._decaying = [parameter for parameter in model.parameters() if parameter.ndim >= 2]
        self._early = EarlyStopping(config=config.early_stopping) if config.early_stopping else None
        self._metric = watched_metric(config, task)
        self._losses = LossTrace()
        self._micro_batch_size = micro_batch_size
        self._checkpoints = checkpoints
        self._timer = timer
        self._stop = stop

    # -- state ------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All of it, by reference: the checkpoint manager copies."""
        return {
            "step": self.step,
            "epoch": self.epoch,
            "offset": self.offset,
            "finished": self.finished,
            "stopped_early": self.stopped_early,
            "model": dict(self.model.state_dict()),
            "optimizer": self._optimizer.state_dict(),
            "losses": self._losses.state(),
            "early_stopping": [self._early.best, self._early.num_bad] if self._early else None,
            "best": vars(self.best) if self.best else None,
            "rng": get_rng_state(),
        }

    def restore(self, restored: Restored) -> None:
        """Continue exactly where `restored` was taken."""
        state = restored.state
        self.step, self.epoch, self.offset = state["step"], state["epoch"], state["offset"]
        self.finished, self.stopped_early = state["finished"], state["stopped_early"]
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._losses = LossTrace.of(state["losses"], next(self.model.parameters()).device)
        if self._early:
            best, num_bad = state["early_stopping"]
            self._early = replace(self._early, best=best, num_bad=num_bad)
        self.best = Best(**state["best"]) if state["best"] else None
        set_rng_state(state["rng"])  # last: building any of the above may draw numbers

    # -- running ----------------------------------------------------------------------------------------------------

    def run(self, progress: Progress, *, hold: Hold, flush: Callable[[], object]) -> None:
        """Raises DivergedError, and whatever torch raises."""
        while not self.finished and not self._stop.requested:
            self._run_epoch(progress, hold, flush)
            if self.offset == self.steps_per_epoch and not self._stop.requested:
                self._end_epoch(progress)
        if not self._stop.fenced:
            self.save()
            self._checkpoints.wait()

    def save(self) -> None:
        """Begin to write a checkpoint of this step, unless there is one. Raises DivergedError rather than keep NaN."""
        if self.step in (0, self._checkpoints.last_step):
            return
        self._losses.check(self.step)
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.model.parameters()):
            raise DivergedError(self.step, "a weight is NaN or infinite")
        self._checkpoints.save(self.step, self.state())

    def _run_epoch(self, progress: Progress, hold: Hold, flush: Callable[[], object]) -> None:
        self.model.train()
        log_at = time.monotonic() + _LOG_EVERY_S
        batches = self.task.batches(self.epoch, batch_size=self.config.global_batch_size, start=self.offset)
        for batch in batches:
            self._losses.add(self._optimize(batch), self.step + 1)
            self.step += 1
            self.offset += 1
            progress.live_step = self.step
            if self.step == hold.step:
                hold.reach(self.step, flush)
            if self._stop.requested:
                return
            now = time.monotonic()
            if now >= self._timer.due:
                self._save_on_time(now)
            if now >= log_at:
                log_at = now + _LOG_EVERY_S
                _log.info(
                    "step=%d/%d epoch=%d/%d steps_per_s=%.1f",
                    *(self.step, self.total_steps, self.epoch + 1, self.config.epochs, progress.steps_per_s),
                )

    def _save_on_time(self, now: float) -> None:
        if not self._checkpoints.busy:  # a slow disk must not hold the loop; the next step asks again
            self.save()
            self._timer.saved(now)

    def _optimize(self, batch: Batch) -> torch.Tensor:
        """One optimizer step; returns the loss over the whole batch, detached."""
        rate = self._learning_rate(self.step)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        num_samples = len(batch[0])
        if num_samples <= self._micro_batch_size:
            loss = self._loss(batch)
            loss.backward()
            total = loss.detach()
        else:
            total = torch.zeros((), device=batch[0].device)
            for micro in zip(*(tensor.split(self._micro_batch_size) for tensor in batch), strict=True):
                # Weighted by size: the last one may be smaller, and the sum has to be the whole batch's mean.
                loss = self._loss(micro) * (len(micro[0]) / num_samples)
                loss.backward()
                total += loss.detach()
        if self.config.max_grad_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)
        self._optimizer.step()
        return total

    def _loss(self, batch: Batch) -> torch.Tensor:
        loss = self.task.loss(self.model, batch)
        if self.config.l1:
            loss = loss + self.config.l1 * sum(parameter.abs().sum() for parameter in self._decaying)
        return loss

    # -- evaluating -------------------------------------------------------------------------------------------------

    def evaluate(self, split: str) -> dict[str, float]:
        """Measures of the model as it is, `split:name`."""
        self.model.eval()
        with torch.no_grad():
            return {f"{split}:{name}": value for name, value in self.task.evaluate(self.model, split).items()}

    def evaluate_best(self) -> dict[str, float]:
        """Measures of the best model, on every split there is; its weights are in the model afterwards."""
        if self.best is None:  # the watched metric was NaN each time
            return {}
        self.model.load_state_dict(self.best.weights)
        measured = (self.evaluate(split) for split in self.task.splits)
        return {name: value for measures in measured for name, value in measures.items()}

    def _end_epoch(self, progress: Progress) -> None:
        self._losses.check(self.step)
        metrics = {**self.evaluate("validation"), "train:loss": self._losses.mean()}
        if self._metric.name not in metrics:
            raise ValueError(
                f"early_stopping.metric {self._metric.name!r} is not among those measured: {sorted(metrics)}"
            )
        value = metrics[self._metric.name]
        if improves(value, self.best.value if self.best else None, mode=self._metric.mode):
            weights = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
            self.best = Best(value=value, epoch=self.epoch + 1, metrics=metrics, weights=weights)
        if self._early:
            self._early = self._early.update(value)
        self.epoch, self.offset, self._losses = self.epoch + 1, 0, LossTrace()
        self.stopped_early = bool(self._early and self._early.should_stop and self.epoch < self.config.epochs)
        self.finished = self.stopped_early or self.epoch == self.config.epochs
        self._report(progress, value)
        _log.info("epoch=%d step=%d %s", self.epoch, self.step, " ".join(f"{k}={v:.6f}" for k, v in metrics.items()))

    def _report(self, progress: Progress, value: float) -> None:
        progress.epoch = self.epoch
        progress.metric = {
            "name": self._metric.name,
            "value": value if math.isfinite(value) else None,  # JSON has no NaN
            "best": self.best.value if self.best else None,
        }
