from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.conftest import HYPERPARAMETERS
from training.config import Hyperparameters
from training.data.manifest import DataError
from training.digest import weights_digest
from training.model_output import load_model, write_model
from training.tasks import task_class
from training.tasks.tabular import Tabular


def tabular(prepared: Path) -> Tabular:
    channels = {"manifest": prepared, **{split: prepared / split for split in ("train", "validation")}}
    return Tabular(Hyperparameters.from_mapping(HYPERPARAMETERS), channels.get, torch.device("cpu"))


def test_a_written_model_predicts_the_same(prepared: Path, tmp_path: Path) -> None:
    task = tabular(prepared)
    best, last = task.build_model().eval(), task.build_model().eval()
    write_model(
        tmp_path,
        best=best.state_dict(),
        last=last.state_dict(),
        config={"task": "tabular", "model": task.model_config(), "hyperparameters": task._config.to_mapping()},
    )
    batch = next(iter(task.batches(0, batch_size=64, start=0)))
    for which, model in (("model.safetensors", best), ("last.safetensors", last)):
        loaded, config = load_model(tmp_path, which=which)
        assert torch.equal(loaded(*batch[:2]), model(*batch[:2]))
        assert config["task"] == "tabular"


def test_the_digest_sees_every_bit_name_and_shape() -> None:
    weights = {"b": torch.tensor([1.0, 2.0]), "a": torch.zeros(2, 3)}
    digest = weights_digest(weights)
    assert digest == weights_digest({"a": weights["a"].clone(), "b": weights["b"].clone()})
    assert digest == weights_digest({"a": torch.zeros(3, 2).t(), "b": weights["b"]})
    others = [
        {**weights, "b": torch.tensor([1.0, 2.0000002])},
        {**weights, "a": torch.zeros(3, 2)},
        {**weights, "a": torch.zeros(2, 3, dtype=torch.float64)},
        {"c": weights["a"], "b": weights["b"]},
        {**weights, "a": -torch.zeros(2, 3)},
    ]
    assert len({digest, *map(weights_digest, others)}) == 1 + len(others)


def test_a_missing_channel_is_named(prepared: Path) -> None:
    channels = {"manifest": prepared, "train": prepared / "train"}
    with pytest.raises(DataError, match="no input channel 'validation'"):
        Tabular(Hyperparameters.from_mapping({}), channels.get, torch.device("cpu"))


def test_tasks_are_found_by_name() -> None:
    assert task_class("tabular") is Tabular
    assert task_class("training.tasks.tabular:Tabular") is Tabular
    with pytest.raises(ValueError, match="neither bundled"):
        task_class("tabula")
    with pytest.raises(ValueError, match="not a subclass"):
        task_class("training.tasks.tabular:TabularModel")
