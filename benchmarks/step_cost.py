"""What a step of our loop costs, with everything a real run has inside, against PyTorch loops that do less.

ours: `Trainer` with shuffle, one-cycle schedule, logging, evaluation and early stopping after each epoch, checkpoints.
loader: `DataLoader(TensorDataset(...), shuffle=True)` and AdamW as it comes; no schedule, no evaluation, nothing saved.
bare: the same batches as ours, shuffled and gathered beforehand, and fused AdamW: what nothing can be faster than.
"""

from __future__ import annotations

import io
import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.record import arguments, in_order, publish, spread
from training.checkpoint import CheckpointManager, Owner, SaveTimer
from training.config import Hyperparameters, Metric
from training.hold import Hold
from training.loop import Trainer
from training.order import epoch_order, ordered_batches
from training.progress import Progress
from training.rng import seed_everything
from training.stop import StopRequest
from training.tasks import Batch, Channels, Task

NUM_FEATURES, HIDDEN_SIZE, BATCH_SIZE = 32, 64, 64
EPOCHS = 4
CHECKPOINT_INTERVAL_S = 0.25
"""Far more often than the 5 s that `auto` keeps to: a run here takes a second, and checkpoints are to count."""


class Rows(Task):
    """Random rows whose label a linear rule knows. A tenth as many are the validation data."""

    primary_metric = Metric("validation:loss", "min")

    def __init__(self, config: Hyperparameters, channels: Channels, device: torch.device, *, num_rows: int = 0) -> None:
        self._config = config
        generator = torch.Generator().manual_seed(config.seed)
        rows = torch.randn(num_rows + num_rows // 10, NUM_FEATURES, generator=generator)
        label = (rows @ torch.randn(NUM_FEATURES, generator=generator) > 0).float()
        self.train, self.validation = ((rows[part], label[part]) for part in (slice(num_rows), slice(num_rows, None)))

    @property
    def num_samples(self) -> int:
        return len(self.train[0])

    @property
    def data_hash(self) -> str:
        return "benchmark"

    @property
    def splits(self) -> tuple[str, ...]:
        return ("validation",)

    def build_model(self) -> nn.Module:
        return self.load_model(self.model_config())

    def batches(self, epoch: int, *, batch_size: int, start: int) -> Iterator[Batch]:
        order = epoch_order(self.num_samples, seed=self._config.seed, epoch=epoch)
        return ordered_batches(self.train, order, batch_size=batch_size, start=start)

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        rows, label = batch
        return functional.binary_cross_entropy_with_logits(model(rows).squeeze(1), label)

    def evaluate(self, model: nn.Module, split: str) -> dict[str, float]:
        return {"loss": float(self.loss(model, self.validation))}

    def model_config(self) -> Mapping[str, Any]:
        return {"num_features": NUM_FEATURES, "hidden_size": HIDDEN_SIZE}

    @classmethod
    def load_model(cls, config: Mapping[str, Any]) -> nn.Module:
        return nn.Sequential(
            nn.Linear(config["num_features"], config["hidden_size"]), nn.ReLU(), nn.Linear(config["hidden_size"], 1)
        )


class Arena:
    """The three loops over the same data, from the same weights."""

    def __init__(self, steps: int) -> None:
        self.config = Hyperparameters.from_mapping(
            {
                "epochs": EPOCHS,
                "global_batch_size": BATCH_SIZE,
                "learning_rate": 1e-3,
                "schedule": "one_cycle",
                "early_stopping": {"metric": "validation:loss", "mode": "min", "patience": EPOCHS},
            }
        )
        steps_per_epoch = max(1, steps // EPOCHS)
        self.num_steps = steps_per_epoch * EPOCHS
        num_rows = steps_per_epoch * BATCH_SIZE
        self.task = Rows(self.config, lambda name: None, torch.device("cpu"), num_rows=num_rows)

    def ours(self) -> float:
        model = self._model()
        with tempfile.TemporaryDirectory(prefix="slipstream-benchmark-") as folder:
            trainer = Trainer(
                self.config,
                self.task,
                model,
                micro_batch_size=BATCH_SIZE,
                checkpoints=CheckpointManager(Path(folder), keep=3, owner=Owner(), identity={}, execution={}),
                timer=SaveTimer(CHECKPOINT_INTERVAL_S),
                stop=StopRequest(),
            )
            progress = Progress(attempt=1, fence=1, total_steps=trainer.total_steps, epochs=EPOCHS, live_step=0)
            hold = Hold(None, after=0, stop=StopRequest())
            cpu_s = _cpu_s(lambda: trainer.run(progress, hold=hold, flush=lambda: None))
        assert trainer.step == self.num_steps
        return cpu_s

    def loader(self) -> float:
        model = self._model()
        batches = DataLoader(TensorDataset(*self.task.train), batch_size=BATCH_SIZE, shuffle=True)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        return _cpu_s(lambda: self._train(model, optimizer, [batches] * EPOCHS))

    def bare(self) -> float:
        model = self._model()
        epochs = [list(self.task.batches(epoch, batch_size=BATCH_SIZE, start=0)) for epoch in range(EPOCHS)]
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        return _cpu_s(lambda: self._train(model, optimizer, epochs))

    def _train(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, epochs: Iterable[Iterable[Sequence[torch.Tensor]]]
    ) -> None:
        for batches in epochs:
            for rows, label in batches:
                optimizer.zero_grad(set_to_none=True)
                functional.binary_cross_entropy_with_logits(model(rows).squeeze(1), label).backward()
                optimizer.step()

    def _model(self) -> nn.Module:
        seed_everything(0)
        return self.task.build_model()


def measure(steps: int, rounds: int) -> dict[str, dict[str, float]]:
    """Interleaved, one round to warm up; ratios are taken within a round, where the machine was the same for all."""
    arena = Arena(steps)
    arms: dict[str, Callable[[], float]] = {"ours": arena.ours, "loader": arena.loader, "bare": arena.bare}
    step_us: dict[str, list[float]] = {name: [] for name in arms}
    for number in range(-1, rounds):
        for name in in_order(list(arms), number):
            cpu_s = arms[name]()
            if number >= 0:
                step_us[name].append(1e6 * cpu_s / arena.num_steps)
    figures = {f"{name}_us_per_step": spread(values) for name, values in step_us.items()}
    for other in ("loader", "bare"):
        ratios = [ours / theirs for ours, theirs in zip(step_us["ours"], step_us[other], strict=True)]
        figures[f"ours_to_{other}"] = spread(ratios)
    return figures


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = arguments("Step cost of the training loop against plain PyTorch loops.", rounds=9, steps=3000)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    log = logging.getLogger("training")
    handler = logging.StreamHandler(io.StringIO())  # formatted and written, but not to the terminal
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        figures = measure(options.steps, options.rounds)
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
    return publish("step_cost", figures, options)


def _cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of all threads, the checkpoint writer's among them."""
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
