"""The loop in one process: stopped after any step and resumed, it ends where it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.conftest import HYPERPARAMETERS
from training.checkpoint import CheckpointManager, Owner, SaveTimer
from training.config import Hyperparameters
from training.digest import weights_digest
from training.loop import Trainer
from training.losses import DivergedError
from training.progress import Progress
from training.rng import seed_everything
from training.stop import StopRequest
from training.tasks.tabular import Tabular

EPOCH = 15


class StopAt:
    """In the place of the hold: stops the loop after one step."""

    def __init__(self, step: int, stop: StopRequest) -> None:
        self.step = step
        self._stop = stop

    def reach(self, step: int, flush: Callable[[], object]) -> None:
        self._stop.request("test")


def run(
    prepared: Path, folder: Path, *, stop_at: int = -1, micro_batch_size: int = 1000, **given: Any
) -> tuple[Trainer, Progress]:
    config = Hyperparameters.from_mapping({**HYPERPARAMETERS, **given})
    stop = StopRequest()
    seed_everything(config.seed)
    channels: dict[str, Path] = {"manifest": prepared, **{s: prepared / s for s in ("train", "validation", "test")}}
    task = Tabular(config, channels.get, torch.device("cpu"))
    trainer = Trainer(
        config,
        task,
        task.build_model(),
        micro_batch_size=micro_batch_size,
        checkpoints=CheckpointManager(folder, keep=3, owner=Owner(), identity={}, execution={}),
        timer=SaveTimer(1000.0),
        stop=stop,
    )
    restored = trainer._checkpoints.restore()
    if restored:
        trainer.restore(restored)
    progress = Progress(attempt=1, fence=1, total_steps=60, epochs=config.epochs, live_step=trainer.step)
    trainer.run(progress, hold=StopAt(stop_at, stop), flush=lambda: None)  # type: ignore[arg-type]
    return trainer, progress


def outcome(trainer: Trainer) -> dict[str, Any]:
    """Everything that has to be the same to the last bit."""
    assert trainer.best is not None
    return {
        "step": trainer.step,
        "epoch": trainer.epoch,
        "stopped_early": trainer.stopped_early,
        "last": weights_digest(trainer.model.state_dict()),
        "best": (trainer.best.value, trainer.best.epoch, trainer.best.metrics, weights_digest(trainer.best.weights)),
        "optimizer": weights_digest(
            {
                f"{i}.{name}": value
                for i, entries in trainer._optimizer.state_dict()["state"].items()
                for name, value in entries.items()
                if isinstance(value, torch.Tensor)
            }
        ),
        "quality": trainer.evaluate_best(),
    }


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulation, clipping, l1": {"micro_batch_size": 12, "max_grad_norm": 0.5, "l1": 1e-4},
    "early stopping": {
        "epochs": 12,
        "learning_rate": 0.1,
        "schedule": "constant",
        "early_stopping": {"metric": "validation:loss", "mode": "min", "patience": 2},
    },
    "sgd, cosine, smoothing": {"optimizer": "sgd", "schedule": "cosine", "label_smoothing": 0.1},
    "rmsprop, step": {"optimizer": "rmsprop", "schedule": "step", "weight_decay": 0.01},
    "adagrad, warm-up": {"optimizer": "adagrad", "schedule": "exponential", "warmup_steps": 20},
    "adam, constant": {"optimizer": "adam", "schedule": "constant"},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_resume_is_exact(prepared: Path, tmp_path: Path, variant: str) -> None:
    given = VARIANTS[variant]
    whole = outcome(run(prepared, tmp_path / "whole", **given)[0])
    stopped, _ = run(prepared, tmp_path / "cut", stop_at=EPOCH + 4, **given)
    assert (stopped.step, stopped.offset, stopped.finished) == (EPOCH + 4, 4, False)
    assert outcome(run(prepared, tmp_path / "cut", **given)[0]) == whole


def test_resume_is_exact_after_every_step(prepared: Path, tmp_path: Path) -> None:
    """Epoch edges, the first step and the last among them; each run is cut once more than the last."""
    given: dict[str, Any] = {"epochs": 2, "dropout": 0.3}
    whole = outcome(run(prepared, tmp_path / "whole", **given)[0])
    for step in range(1, 2 * EPOCH + 1):
        stopped, _ = run(prepared, tmp_path / "cut", stop_at=step, **given)
        assert stopped.step == step
    assert outcome(run(prepared, tmp_path / "cut", **given)[0]) == whole
    assert outcome(run(prepared, tmp_path / "cut", **given)[0]) == whole  # nothing is left to do


def test_early_stopping_neither_forgives_nor_forgets_over_an_interruption(prepared: Path, tmp_path: Path) -> None:
    given = VARIANTS["early stopping"]
    trainer, _ = run(prepared, tmp_path / "whole", **given)
    for edge in range(EPOCH, trainer.step + 1, EPOCH):
        for step in (edge, edge + 1):  # before and after the evaluation
            run(prepared, tmp_path / "cut", stop_at=step, **given)
    assert outcome(run(prepared, tmp_path / "cut", **given)[0]) == outcome(trainer)


def test_early_stopping_stops_early_and_says_so(prepared: Path, tmp_path: Path) -> None:
    trainer, progress = run(prepared, tmp_path, **VARIANTS["early stopping"])
    assert trainer.stopped_early
    assert trainer.epoch < 12
    assert progress.epoch == trainer.epoch
    assert trainer.best is not None
    assert trainer.best.epoch == trainer.epoch - 2
    assert progress.metric is not None
    assert progress.metric["best"] == trainer.best.value


def test_accumulation_keeps_the_global_batch(prepared: Path, tmp_path: Path) -> None:
    """Without dropout, micro-batches (the last one smaller) differ from the whole batch by rounding alone."""
    whole, _ = run(prepared, tmp_path / "whole", dropout=0.0, epochs=1)
    parts, _ = run(prepared, tmp_path / "parts", dropout=0.0, epochs=1, micro_batch_size=5)
    assert parts.step == whole.step == EPOCH
    for name, tensor in whole.model.state_dict().items():
        torch.testing.assert_close(parts.model.state_dict()[name], tensor, rtol=1e-3, atol=1e-4)


def test_l1_makes_weights_small(prepared: Path, tmp_path: Path) -> None:
    def size(trainer: Trainer) -> float:
        return sum(p.detach().abs().sum().item() for p in trainer.model.parameters() if p.ndim >= 2)

    plain, _ = run(prepared, tmp_path / "plain")
    sparse, _ = run(prepared, tmp_path / "sparse", l1=0.01)
    assert size(sparse) < 0.5 * size(plain)


def test_divergence_is_found_and_nothing_bad_is_kept(prepared: Path, tmp_path: Path) -> None:
    with pytest.raises(DivergedError, match="at step"):
        run(prepared, tmp_path, optimizer="sgd", schedule="constant", learning_rate=1e30, momentum=0.0)
    assert not list(tmp_path.glob("step-*"))


def test_the_best_model_is_the_best_not_the_last(prepared: Path, tmp_path: Path) -> None:
    trainer, _ = run(prepared, tmp_path, **VARIANTS["early stopping"])
    assert trainer.best is not None
    measured = trainer.evaluate_best()
    assert measured["validation:loss"] == trainer.best.value
    assert {name.partition(":")[0] for name in measured} == {"validation", "test"}


def test_an_unknown_metric_is_refused_with_the_known_ones(prepared: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'validation:f1' is not among those measured: .*validation:auc"):
        run(prepared, tmp_path, early_stopping={"metric": "validation:f1", "mode": "max"})
