"""What a job file may already say although nothing carries it out yet.

Accepting such a key in silence would be a lie about what runs, so `deploy` and `run` refuse it. Whoever builds the
feature deletes its line here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from training.config import ConfigError, Hyperparameters, NotYetAvailable, PrepareConfig

from .catalogue import catalogue
from .problems import KeyPath, Problem
from .rules.compute import known_pools
from .rules.data import config_path

if TYPE_CHECKING:
    from .job import Job

__all__ = ["find_unavailable"]


def find_unavailable(job: Job) -> list[Problem]:
    """One problem per key, at its line."""
    return [
        job.problem(path, f"{what} is not available yet; leave it out", rule="not-available-yet")
        for path, what in _unavailable(job)
    ]


def _unavailable(job: Job) -> Iterator[tuple[KeyPath, str]]:
    compute = job.compute
    if compute.instance_count > 1:
        yield ("compute", "instance_count"), "training on several instances"
    if compute.distribution not in ("auto", "none"):
        yield ("compute", "distribution"), f"distribution '{compute.distribution}'"
    elif compute.distribution == "auto":
        for number, name in known_pools(compute):
            if (gpus := catalogue.instance(name).gpus) > 1:  # one rank trains, and all GPUs are paid for
                yield (
                    ("compute", "pools", number, "instance"),
                    f"training on the {gpus} GPUs of {name!r} (distribution 'none' takes one)",
                )
    if job.tuning is not None:
        yield ("tuning",), "tuning"
    for name, channel in job.data.channels.items():
        if channel.mode != "file":
            yield ("data", "channels", name, "mode"), f"mode '{channel.mode}'"
    recipe = job.data.recipe()
    if recipe is None:
        yield ("data", "raw"), "training on data that are not prepared by the kit"
    else:
        yield from _named(("data", "prepare"), PrepareConfig.check(recipe))
    yield from _named(("hyperparameters",), Hyperparameters.check(job.hyperparameters))


def _named(section: KeyPath, problems: list[ConfigError]) -> Iterator[tuple[KeyPath, str]]:
    for problem in problems:
        if isinstance(problem, NotYetAvailable):
            yield (*section, *config_path(problem)), problem.message.split(" is not available yet")[0]
