from __future__ import annotations

import math

import pytest
import torch

from training.losses import DivergedError, LossTrace


def test_the_mean_does_not_know_of_an_interruption() -> None:
    losses = torch.rand(200, generator=torch.Generator().manual_seed(0))
    whole = LossTrace()
    for step, loss in enumerate(losses, start=1):
        whole.add(loss, step)
    for cut in (0, 1, 63, 64, 65, 199):
        trace = LossTrace()
        for step, loss in enumerate(losses[:cut], start=1):
            trace.add(loss, step)
        trace = LossTrace.of(trace.state(), torch.device("cpu"))
        for step, loss in enumerate(losses[cut:], start=cut + 1):
            trace.add(loss, step)
        assert trace.mean() == whole.mean()
    assert whole.mean() == pytest.approx(float(losses.mean()))


def test_nothing_has_no_mean() -> None:
    assert math.isnan(LossTrace().mean())


@pytest.mark.parametrize("bad", [1, 64, 65, 100])
def test_the_step_that_diverged_is_named(bad: int) -> None:
    trace = LossTrace()
    with pytest.raises(DivergedError, match=f"at step {bad};"):  # noqa: PT012 - seen within the window or at its end
        for step in range(1, 101):
            trace.add(torch.tensor(math.inf if step == bad else 0.5), step)
        trace.check(100)
