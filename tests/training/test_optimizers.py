from __future__ import annotations

import pytest
import torch
from torch import nn

from training import optimizers
from training.config import Hyperparameters
from training.optimizers import build_optimizer, fastest_form, parameter_groups

NAMES = ("sgd", "adam", "adamw", "rmsprop", "adagrad")


@pytest.mark.parametrize("name", NAMES)
def test_each_learns(name: str) -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    config = Hyperparameters.from_mapping({"optimizer": name, "learning_rate": 0.05, "weight_decay": 0.001})
    optimizer = build_optimizer(config, model)
    first = nn.functional.mse_loss(model(x), y).item()
    for _ in range(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.7 * first


def test_vectors_do_not_decay() -> None:
    model = nn.Sequential(nn.Embedding(4, 2), nn.LayerNorm(2), nn.Linear(2, 1))
    matrices, vectors = parameter_groups(model, 0.1)
    assert (matrices["weight_decay"], vectors["weight_decay"]) == (0.1, 0.0)
    assert [tuple(parameter.shape) for parameter in matrices["params"]] == [(4, 2), (1, 2)]
    assert all(parameter.ndim == 1 for parameter in vectors["params"])


def test_an_older_torch_gets_the_plain_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch 2.0 to 2.3 refuse fused on CPU."""

    class Old(torch.optim.SGD):
        def __init__(self, parameters: object, *, lr: float, **options: object) -> None:
            if options.pop("fused", False):
                raise RuntimeError("`fused=True` requires all the params to be CUDA")
            super().__init__(parameters, lr=lr, **options)  # type: ignore[arg-type]

    fastest_form.cache_clear()
    monkeypatch.setitem(optimizers._CLASSES, "sgd", Old)
    try:
        assert fastest_form("sgd", "cpu") == {}
        build_optimizer(Hyperparameters.from_mapping({"optimizer": "sgd"}), nn.Linear(2, 1))
    finally:
        fastest_form.cache_clear()


@pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 5), reason="torch without fused optimizers on CPU"
)
@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "adagrad"])
def test_a_newer_torch_gets_the_fused_form(name: str) -> None:
    assert fastest_form(name, "cpu") == {"fused": True}
