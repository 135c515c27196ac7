from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from infra.cli.errors import InputError
from infra.cli.start import execution_input
from infra.spec import apply_overrides

REPO = Path(__file__).parents[2]
FLIGHTS = REPO / "jobs" / "flights.yaml"


def document(*overrides: str) -> dict[str, object]:
    job = apply_overrides(FLIGHTS, list(overrides))
    return execution_input(job, list(overrides), data_version="0123456789abcdef", look_s=1.0)


def test_what_is_passed_is_what_the_schema_describes() -> None:
    schema = json.loads((REPO / "docs" / "execution-input.schema.json").read_text(encoding="utf-8"))
    made = document(
        "hyperparameters.epochs=2", "hyperparameters.early_stopping.patience=5", "limits.deadline=90m",
        "limits.max_cost_usd=3",
    )  # fmt: skip
    jsonschema.validate(made, schema)
    assert made["limits"] == {"deadline": 5400.0, "max_cost_usd": 3.0}


def test_hyperparameters_travel_as_sagemaker_takes_them() -> None:
    made = document("hyperparameters.early_stopping.patience=5", "hyperparameters.optimizer=sgd")["hyperparameters"]
    assert isinstance(made, dict)
    assert made["optimizer"] == "sgd"
    assert json.loads(made["early_stopping"])["patience"] == 5


@pytest.mark.parametrize("key", ["compute.instance_count=1", "data.prepare.shard_size=1000", "name=other"])
def test_what_is_deployed_cannot_be_set_for_one_run(key: str) -> None:
    with pytest.raises(InputError, match="deployed state machine"):
        document(key)
