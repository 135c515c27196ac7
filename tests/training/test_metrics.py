from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from training.metrics import accuracy, auc


def slow_auc(scores: list[float], labels: list[int]) -> float:
    """By definition: every pair of a positive and a negative."""
    positive = [s for s, label in zip(scores, labels, strict=True) if label]
    negative = [s for s, label in zip(scores, labels, strict=True) if not label]
    wins = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return wins / (len(positive) * len(negative))


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 1)), min_size=2, max_size=60))
def test_auc_equals_its_definition_ties_included(rows: list[tuple[int, int]]) -> None:
    scores, labels = [row[0] / 2 for row in rows], [row[1] for row in rows]
    measured = auc(torch.tensor(scores), torch.tensor(labels, dtype=torch.float32))
    if len(set(labels)) < 2:
        assert math.isnan(measured)
    else:
        assert math.isclose(measured, slow_auc(scores, labels), abs_tol=1e-12)


def test_auc_of_many_rows_stays_exact() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = (torch.rand(2000, generator=generator) < 0.3).float()
    scores = torch.round(torch.randn(2000, generator=generator) + labels, decimals=1)
    assert math.isclose(auc(scores, labels), slow_auc(scores.tolist(), labels.int().tolist()), abs_tol=1e-12)


def test_auc_of_nan_is_nan() -> None:
    assert math.isnan(auc(torch.tensor([0.1, float("nan")]), torch.tensor([0.0, 1.0])))


def test_accuracy_counts_the_right_side_of_zero() -> None:
    assert accuracy(torch.tensor([1.0, -1.0, 2.0, -3.0]), torch.tensor([1.0, 0.0, 0.0, 0.0])) == 0.75
