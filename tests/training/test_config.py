from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.training.conftest import RECIPE, ROOT
from training.config import (
    CheckpointConfig,
    ConfigError,
    Hyperparameters,
    NotYetAvailable,
    PrepareConfig,
    metric_names,
    primary_metric,
)


def test_needs_the_standard_library_alone() -> None:
    code = (
        "import sys, training.config; "
        "tops = {name.partition('.')[0] for name in sys.modules}; "
        "print(tops - set(sys.stdlib_module_names) - {'__main__', 'training'})"
    )
    found = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert found.stdout == "set()\n", found.stderr


def test_everything_has_a_default() -> None:
    config = Hyperparameters.from_mapping({})
    assert (config.optimizer, config.schedule, config.early_stopping) == ("adamw", "constant", None)


def test_all_problems_are_found_at_once() -> None:
    problems = Hyperparameters.check(
        {
            "epochs": "3",
            "learing_rate": 1,
            "betas": [0.9, "x"],
            "early_stopping": {"metric": "validation:auc", "mode": "up"},
        }
    )
    assert [problem.key for problem in problems] == ["epochs", "learing_rate", "betas.1", "early_stopping.mode"]
    assert "did you mean 'learning_rate'?" in problems[1].message


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"epochs": 0}, "epochs"),
        ({"epochs": True}, "epochs"),
        ({"epochs": 2.5}, "epochs"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"dropout": 1}, "dropout"),
        ({"betas": [0.9]}, "betas"),
        ({"hidden_sizes": [16, 0]}, "hidden_sizes"),
        ({"optimizer": "adamax"}, "optimizer"),
        ({"optimizer": 3}, "optimizer"),
        ({"global_batch_size": 32, "micro_batch_size": 64}, "micro_batch_size"),
        ({"schedule": "one_cycle", "warmup_steps": 10}, "warmup_steps"),
        ({"early_stopping": {"mode": "max"}}, "early_stopping.metric"),
        ({"early_stopping": {"metric": "validation:auc", "mode": "max", "patience": 0}}, "early_stopping.patience"),
        ({"early_stopping": {"metric": "train:loss", "mode": "min"}}, "early_stopping.metric"),
        ({"early_stopping": 3}, "early_stopping"),
    ],
)
def test_a_wrong_value_is_refused_by_key(given: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Hyperparameters.from_mapping(given)
    assert caught.value.key == key
    assert not isinstance(caught.value, NotYetAvailable)


@pytest.mark.parametrize(
    "given", [{"optimizer": "lamb"}, {"precision": "bf16"}, {"autotune": "60s"}, {"compile": True}]
)
def test_what_is_not_built_yet_is_told_apart(given: dict[str, Any]) -> None:
    (problem,) = Hyperparameters.check(given)
    assert isinstance(problem, NotYetAvailable)
    assert "not available yet" in problem.message
    with pytest.raises(NotYetAvailable):
        Hyperparameters.from_mapping(given)


def test_text_from_sagemaker_is_read_as_json_or_as_a_word() -> None:
    config = Hyperparameters.from_strings(
        {
            "epochs": "3",
            "optimizer": "sgd",
            "learning_rate": "1e-2",
            "hidden_sizes": "[8, 4]",
            "early_stopping": '{"metric": "validation:auc", "mode": "max"}',
            "sagemaker_program": "train.py",
        }
    )
    assert (config.epochs, config.optimizer, config.learning_rate, config.hidden_sizes) == (3, "sgd", 0.01, (8, 4))
    assert config.early_stopping is not None
    assert config.early_stopping.patience == 3


@pytest.mark.parametrize("given", [{"keep": 1}, {"interval": 0}, {"interval": "often"}])
def test_checkpoints_that_would_not_protect_are_refused(given: dict[str, Any]) -> None:
    assert [problem.key for problem in CheckpointConfig.check(given)] == list(given)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"label": {"column": "distance"}}, "label"),
        ({"derive": {"weekday": {"from": "delay", "to": "minute_of_day"}}}, "derive.weekday"),
        ({"categorical": ["wind"]}, "categorical"),
        ({"split": {"by": "time"}}, "split.column"),
        ({"split": {"train": 0.9}}, "split"),
        ({"numeric": [], "categorical": []}, "numeric"),
        ({"shard_size": 0}, "shard_size"),
        ({"format": "tfrecord"}, "format"),
        ({"joins": [{"source": "x.csv", "on": ["a"]}]}, "joins.0.columns"),
        ({"derive": {"x": {"from": "a", "to": "century"}}}, "derive.x.to"),
    ],
)
def test_a_wrong_recipe_is_refused_by_key(change: dict[str, Any], key: str) -> None:
    assert PrepareConfig.check(RECIPE) == []
    assert key in [problem.key for problem in PrepareConfig.check({**RECIPE, **change})]


def test_a_config_survives_being_written_down() -> None:
    recipe = PrepareConfig.from_mapping(RECIPE)
    written = json.loads(json.dumps(recipe.to_mapping()))
    assert written["derive"] == {"weekday": {"from": "hour", "to": "weekday", "timezone": "UTC"}}
    assert PrepareConfig.from_mapping(written) == recipe
    config = Hyperparameters.from_mapping({"early_stopping": {"metric": "validation:auc", "mode": "max"}})
    assert Hyperparameters.from_mapping(config.to_mapping()) == config


def test_names_of_metrics() -> None:
    assert {"train:loss", "validation:auc", "test:auc", "validation:accuracy"} <= set(metric_names("tabular"))
    assert primary_metric("tabular").name == "validation:auc"
