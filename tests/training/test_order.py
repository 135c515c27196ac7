from __future__ import annotations

import pytest
import torch

from training.order import epoch_order, num_steps, ordered_batches


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    order = epoch_order(1000, seed=3, epoch=5)
    torch.manual_seed(99)
    assert torch.equal(order, epoch_order(1000, seed=3, epoch=5))
    assert not torch.equal(order, epoch_order(1000, seed=3, epoch=6))
    assert not torch.equal(order, epoch_order(1000, seed=4, epoch=5))
    assert torch.equal(order.sort().values, torch.arange(1000))


@pytest.mark.parametrize("num_samples", [1, 7, 64, 1000])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_batches_hold_every_sample_once_and_continue_anywhere(num_samples: int, batch_size: int) -> None:
    order = epoch_order(num_samples, seed=0, epoch=0)
    rows = (torch.arange(num_samples), torch.arange(num_samples) * 10)
    batches = list(ordered_batches(rows, order, batch_size=batch_size, start=0))
    assert len(batches) == num_steps(num_samples, batch_size)
    assert torch.equal(torch.cat([batch[0] for batch in batches]), order)
    assert all(torch.equal(batch[0] * 10, batch[1]) for batch in batches)
    for start in {0, 1, len(batches) // 2, len(batches)}:
        rest = list(ordered_batches(rows, order, batch_size=batch_size, start=start))
        assert len(rest) == max(0, len(batches) - start)
        assert all(torch.equal(a[0], b[0]) for a, b in zip(rest, batches[start:], strict=True))
