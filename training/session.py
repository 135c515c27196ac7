"""One attempt at a training, from the job's hyperparameters to the model on disk: puts the parts together."""

from __future__ import annotations

import hashlib
import importlib
import logging
import math
import platform
from contextlib import suppress
from typing import Any

import torch

from training.checkpoint import CheckpointManager, FencedError, Owner, Restored, SaveTimer, difference
from training.config import Hyperparameters
from training.digest import weights_digest
from training.environment import Environment
from training.hold import Hold
from training.loop import Trainer
from training.losses import DivergedError
from training.model_output import write_model
from training.outcome import DIVERGED, DONE, INTERRUPTED, OUT_OF_MEMORY, Outcome
from training.progress import Progress, Publisher
from training.rng import seed_everything
from training.stop import StopRequest
from training.tasks import Task, task_class

__all__ = ["run"]

_log = logging.getLogger(__name__)
_TRAJECTORY_CODE = ("training.loop", "training.losses", "training.optimizers", "training.order", "training.schedules")
_FINAL_PROGRESS_S = 120.0
_PARTING_PROGRESS_S = 5.0


def run(config: Hyperparameters, environment: Environment, stop: StopRequest) -> Outcome:
    """Train until done, stopped, out of memory or diverged. Any other exception is an error of the code or the data."""
    device = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    seed_everything(config.seed)
    task = task_class(environment.task)(config, environment.channel, device)
    checkpoints, timer = _checkpoints(config, environment, task, device)
    trainer = Trainer(
        config,
        task,
        task.build_model().to(device),
        micro_batch_size=_micro_batch_size(config, environment),
        checkpoints=checkpoints,
        timer=timer,
        stop=stop,
    )
    try:
        restored = checkpoints.restore()
    except FencedError as error:
        return Outcome(code=INTERRUPTED, step=None, reason=f"fenced: {error}")
    if restored:
        trainer.restore(restored)
    progress = Progress(
        attempt=environment.attempt,
        fence=environment.fence,
        total_steps=trainer.total_steps,
        epochs=config.epochs,
        live_step=trainer.step,
        epoch=trainer.epoch,
        resume=_kind_of_resume(restored, _execution(config, environment, device)),
    )
    publisher = _publisher(progress, environment, checkpoints, stop)
    try:
        return _train(trainer, progress, publisher, environment, stop)
    except DivergedError as error:
        return Outcome(code=DIVERGED, step=_kept_step(checkpoints), reason=str(error))
    except Exception as error:
        if not _is_out_of_memory(error):
            raise
        return Outcome(code=OUT_OF_MEMORY, step=_kept_step(checkpoints), reason=f"out of memory: {error}")
    finally:
        if publisher:
            publisher.close()


def _train(
    trainer: Trainer, progress: Progress, publisher: Publisher | None, environment: Environment, stop: StopRequest
) -> Outcome:
    hold = Hold(environment.variables.get("SLIPSTREAM_HOLD"), after=trainer.step, stop=stop)
    trainer.run(progress, hold=hold, flush=publisher.flush if publisher else lambda: None)
    if stop.fenced:
        return Outcome(code=INTERRUPTED, step=None, reason=f"fenced: {stop.reason}; nothing more was written")
    if not trainer.finished:
        if publisher:
            publisher.flush(_PARTING_PROGRESS_S)
        kept = f"checkpoint of step {trainer.step} is on disk" if trainer.step else "nothing was learned yet"
        return Outcome(code=INTERRUPTED, step=trainer.step, reason=f"{stop.reason}; {kept}")
    last = {name: tensor.detach().clone() for name, tensor in trainer.model.state_dict().items()}
    metrics = {name: value for name, value in trainer.evaluate_best().items() if math.isfinite(value)}
    _log.info("final step=%d %s", trainer.step, " ".join(f"{name}={value:.6f}" for name, value in metrics.items()))
    write_model(
        environment.model_dir,
        best=trainer.best.weights if trainer.best else last,
        last=last,
        config={
            "task": environment.task,
            "model": trainer.task.model_config(),
            "hyperparameters": trainer.config.to_mapping(),
            "metrics": metrics,
            "step": trainer.step,
            "best_epoch": trainer.best.epoch if trainer.best else None,
        },
    )
    progress.metrics = metrics
    progress.weights_digest = weights_digest(last)
    progress.stopped_early = trainer.stopped_early
    progress.done = True
    _log.info("weights_digest=%s", progress.weights_digest)
    if publisher and not publisher.flush(_FINAL_PROGRESS_S):
        # The workflow would wait for a figure that never comes; another attempt starts from the last checkpoint.
        why = f"fenced: {stop.reason}" if stop.fenced else "progress.json could not be written"
        return Outcome(code=INTERRUPTED, step=trainer.step, reason=f"trained, but {why}")
    return Outcome(code=DONE, step=trainer.step, reason="stopped early" if trainer.stopped_early else "done")


def _checkpoints(
    config: Hyperparameters, environment: Environment, task: Task, device: torch.device
) -> tuple[CheckpointManager, SaveTimer]:
    settings = environment.checkpoint
    timer = SaveTimer(settings.interval)
    manager = CheckpointManager(
        environment.checkpoint_dir,
        keep=settings.keep,
        owner=Owner(job=environment.job, run=environment.run, attempt=environment.attempt, fence=environment.fence),
        identity=_identity(config, environment, task),
        execution=_execution(config, environment, device),
        on_cost=timer.measured,
    )
    return manager, timer


def _identity(config: Hyperparameters, environment: Environment, task: Task) -> dict[str, Any]:
    """What the trajectory depends on: a checkpoint with another one is refused."""
    shaping = config.to_mapping()
    del shaping["micro_batch_size"]  # changes rounding, not the trajectory: the kit itself lowers it
    code = (_source(name) for name in (*_TRAJECTORY_CODE, type(task).__module__))
    return {
        "task": environment.task,
        "task_code": hashlib.sha256("\0".join(code).encode()).hexdigest()[:16],
        "data": task.data_hash,
        "hyperparameters": shaping,
    }


def _execution(config: Hyperparameters, environment: Environment, device: torch.device) -> dict[str, Any]:
    """What may differ between attempts. All equal: the resume is bit-exact, else it is order-exact."""
    on_cpu = device.type == "cpu"
    return {
        "world_size": environment.world_size,
        "micro_batch_size": _micro_batch_size(config, environment),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "device": f"{platform.machine()} {_cpu_capability()}" if on_cpu else torch.cuda.get_device_name(device),
    }


def _kind_of_resume(restored: Restored | None, execution: dict[str, Any]) -> Any:
    if restored is None:
        _log.info("step=0 a fresh start: no checkpoint of this run")
        return "fresh"
    changed = difference(restored.execution, execution)
    kind = "order-exact" if changed else "bit-exact"
    _log.info("step=%d resumed, %s %s", restored.step, kind, "; ".join(changed))
    return kind


def _micro_batch_size(config: Hyperparameters, environment: Environment) -> int:
    """Samples per forward pass, halved for each attempt that ran out of memory; the global batch stays."""
    share = -(-config.global_batch_size // environment.world_size)
    wanted = min(config.micro_batch_size or share, share)
    return max(1, -(-wanted // environment.micro_batch_divisor))


def _publisher(
    progress: Progress, environment: Environment, checkpoints: CheckpointManager, stop: StopRequest
) -> Publisher | None:
    if environment.artifacts is None:
        return None
    return Publisher(
        progress,
        artifacts=environment.artifacts,
        checkpoints=environment.checkpoints,
        sizes=lambda: checkpoints.sizes,
        stop=stop,
        interval_s=environment.progress_interval_s,
        on_durable=checkpoints.note_durable,
    )


def _kept_step(checkpoints: CheckpointManager) -> int:
    """Newest step on disk, when the save under way, if any, has ended: the process is about to."""
    with suppress(Exception):  # what has gone wrong before is the better reason
        checkpoints.wait()
    return max(checkpoints.sizes, default=0)


def _is_out_of_memory(error: Exception) -> bool:
    """torch has a class for an accelerator's memory and only words for the host's."""
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def _cpu_capability() -> str:
    backend = getattr(torch.backends, "cpu", None)  # torch 2.1, the whole module
    return backend.get_cpu_capability() if backend else "unknown"


def _source(module: str) -> str:
    """Also from inside a zip file."""
    loader = importlib.import_module(module).__loader__
    return loader.get_source(module) or ""  # type: ignore[union-attr]
