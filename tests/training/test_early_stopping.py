from __future__ import annotations

from typing import Literal

import pytest

from training.config import EarlyStoppingConfig
from training.early_stopping import EarlyStopping


def after(values: list[float], *, mode: Literal["min", "max"] = "max", **rest: float) -> EarlyStopping:
    config = EarlyStoppingConfig.from_mapping({"metric": "validation:auc", "mode": mode, "patience": 2, **rest})
    state = EarlyStopping(config=config)
    for value in values:
        state = state.update(value)
    return state


@pytest.mark.parametrize(
    ("values", "mode", "stop"),
    [
        ([0.5, 0.6, 0.55], "max", False),
        ([0.5, 0.6, 0.55, 0.6], "max", True),
        ([0.5, 0.6, 0.55, 0.61, 0.6], "max", False),
        ([1.0, 0.9, 0.95, 0.9], "min", True),
        ([float("nan"), float("nan")], "max", True),
        ([0.5, float("nan"), float("nan")], "max", True),
        ([float("inf"), float("inf")], "min", True),
        ([float("inf"), 0.9, 0.95], "min", False),
    ],
)
def test_patience(values: list[float], mode: Literal["min", "max"], stop: bool) -> None:
    assert after(values, mode=mode).should_stop is stop


def test_infinity_is_never_the_best() -> None:
    """progress.json is JSON, which has none: the workflow could not read it."""
    assert after([float("inf")], mode="min").best is None
    assert after([0.5, float("inf")], mode="max").best == 0.5


def test_a_small_gain_is_no_improvement() -> None:
    assert after([0.5, 0.505, 0.509], min_delta=0.01).num_bad == 2
    assert after([0.5, 0.505, 0.52], min_delta=0.01).best == 0.52
