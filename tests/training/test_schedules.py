from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from training.config import Hyperparameters
from training.schedules import learning_rates, scaled_learning_rate

TOTAL = 100


def rates(**given: Any) -> list[float]:
    at = learning_rates(Hyperparameters.from_mapping({"learning_rate": 1.0, **given}), total_steps=TOTAL)
    return [at(step) for step in range(TOTAL)]


def test_constant() -> None:
    assert set(rates()) == {1.0}


def test_warm_up_is_linear_and_reaches_the_peak() -> None:
    found = rates(warmup_steps=10)
    assert found[:10] == pytest.approx([0.1 * (i + 1) for i in range(10)])
    assert set(found[10:]) == {1.0}


def test_step_decays_every_so_many_steps() -> None:
    found = rates(schedule="step", decay_every_steps=40, decay_factor=0.5)
    assert (found[39], found[40], found[80]) == (1.0, 0.5, 0.25)


def test_exponential_reaches_its_factor_at_the_end() -> None:
    found = rates(schedule="exponential", decay_factor=0.01)
    assert found[0] == 1.0
    assert found[50] == pytest.approx(0.1)
    assert all(a > b for a, b in itertools.pairwise(found))


def test_cosine_is_torch_s() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, TOTAL, eta_min=0.1)
    expected = []
    for _ in range(TOTAL):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    assert rates(schedule="cosine", final_learning_rate=0.1) == pytest.approx(expected)


def test_one_cycle_climbs_and_falls() -> None:
    found = rates(schedule="one_cycle")
    assert found[0] == pytest.approx(1 / 25)
    assert found[30] == max(found) == 1.0
    assert found[-1] < 0.01


def test_a_short_run_stays_within_its_bounds() -> None:
    for schedule in ("constant", "step", "exponential", "cosine", "one_cycle"):
        config = Hyperparameters.from_mapping({"learning_rate": 1.0, "schedule": schedule})
        at = learning_rates(config, total_steps=1)
        assert 0 < at(0) <= 1.0


@pytest.mark.parametrize(("scaling", "factor"), [("none", 1), ("linear", 16), ("sqrt", 4)])
def test_learning_rate_follows_the_batch(scaling: str, factor: float) -> None:
    config = Hyperparameters.from_mapping(
        {"learning_rate": 0.01, "global_batch_size": 4096, "base_batch_size": 256, "learning_rate_scaling": scaling}
    )
    assert scaled_learning_rate(config) == pytest.approx(0.01 * factor)
