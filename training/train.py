"""One rank: reads what it is told, resumes, trains, writes the model, says how it ended.

Started by launch.py, or as a file by SageMaker's script mode (`python train.py --epochs 3`), or by hand.
"""

from __future__ import annotations

import sys

if __package__ in (None, ""):  # as a file, from wherever script mode has unpacked this folder, under whatever name
    import importlib.util
    from pathlib import Path as _Path

    sys.path.pop(0)  # else `import metrics` and the like anywhere would find this package's modules
    _spec = importlib.util.spec_from_file_location("training", _Path(__file__).with_name("__init__.py"))
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["training"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["training"])

import ctypes
import logging
import os
import signal
import traceback
from collections.abc import Sequence
from pathlib import Path

from training.cgroup import available_cpus, threads_per_rank
from training.config import ConfigError, Hyperparameters
from training.environment import Environment
from training.outcome import CODE_ERROR, INTERRUPTED, Outcome
from training.stop import StopRequest

__all__ = ["main"]


def main(arguments: Sequence[str] = ()) -> int:
    """Exit code of this rank; never 0 with work left. `arguments` are script mode's `--name value` pairs."""
    stop = StopRequest().listen()
    _die_with_the_launcher()
    logging.basicConfig(stream=sys.stdout, format="slipstream %(message)s", level=logging.INFO, force=True)
    logging.getLogger("botocore").setLevel(logging.WARNING)  # it tells where it found its credentials
    environment = Environment.read()
    try:
        outcome = _run(environment, arguments, stop)
    except ConfigError as error:
        outcome = Outcome(code=CODE_ERROR, step=None, reason=f"hyperparameters.{error}")
    except (Exception, SystemExit) as error:  # a task that calls sys.exit(0) is not done
        traceback.print_exc()
        outcome = Outcome(code=CODE_ERROR, step=None, reason=f"{type(error).__name__}: {error}")
    _report(environment, outcome)
    return outcome.code


def _run(environment: Environment, arguments: Sequence[str], stop: StopRequest) -> Outcome:
    # SageMaker's file wins: the training toolkit repeats it as arguments, nested values in Python's notation.
    given = {**_pairs(arguments), **environment.hyperparameters}
    config = Hyperparameters.from_strings(given)  # before torch: a typing error should not cost seconds
    if environment.world_size > 1:
        raise ValueError(f"world size {environment.world_size}: training over several ranks is not available yet")
    if stop.requested:
        return Outcome(code=INTERRUPTED, step=None, reason=f"{stop.reason} before the start; nothing was learned yet")
    # torch counts the machine's cores, not this container's, unless told before it is imported.
    os.environ.setdefault("OMP_NUM_THREADS", str(threads_per_rank(available_cpus(), environment.ranks_per_host)))
    from training.session import run  # torch, a second

    return run(config, environment, stop)


def _pairs(arguments: Sequence[str]) -> dict[str, str]:
    if len(arguments) % 2 or not all(name.startswith("--") for name in arguments[::2]):
        raise ValueError(f"arguments are pairs of --name value, got {' '.join(arguments)!r}")
    return {name[2:].replace("-", "_"): value for name, value in zip(arguments[::2], arguments[1::2], strict=True)}


def _report(environment: Environment, outcome: Outcome) -> None:
    told = environment.variables.get("SLIPSTREAM_OUTCOME")
    if told:
        outcome.write(Path(told))  # the launcher prints the line, after the last of the other ranks
        return
    if outcome.code:
        outcome.write_failure(environment.failure_file)
    print(outcome.line, flush=True)


def _die_with_the_launcher() -> None:
    """A rank without its launcher would train on, unheard, and write checkpoints beside its successor."""
    launcher = os.environ.get("SLIPSTREAM_LAUNCHER")
    if launcher and sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != int(launcher):  # it died before the line above
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
