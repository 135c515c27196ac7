"""A job and its bindings, as small as they can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from infra.spec import Job, load_job
from infra.workflow import Bindings, settings, training_definition

JOB_FILE = """\
name: toy
task: tabular
data:
  raw: s3://raw-data/flights/
  prepare:
    source: flights.csv
    label: {column: late}
    numeric: [distance]
  channels:
    train: {mode: file}
    validation: {mode: file}
compute:
  pools:
    - {instance: ml.m5.2xlarge, market: spot}
    - {instance: ml.c5.2xlarge, market: spot}
    - {instance: ml.m5.2xlarge, market: on_demand}
limits: {deadline: 10h, max_runtime: 4h, max_cost_usd: 40, attempts_without_progress: 3}
hyperparameters: {epochs: 3, optimizer: adamw, early_stopping: {metric: "validation:auc", mode: max, patience: 2}}
quality_gate: {metric: "validation:auc", at_least: 0.66}
"""

BINDINGS = Bindings(
    partition="aws",
    data="data-bucket",
    checkpoints="checkpoints-bucket",
    artifacts="artifacts-bucket",
    key_arn="arn:aws:kms:us-east-1:111122223333:key/0f1e",
    execution_role_arn="arn:aws:iam::111122223333:role/toy-execution",
    topic_arn="arn:aws:sns:us-east-1:111122223333:slipstream-toy",
    code_uri="s3://assets-bucket/c0de.zip",
    code_name="c0de.zip",
    recipe_hash="5ec1be",
    images={
        name: f"763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:{name}"
        for name in ("ml.m5.2xlarge", "ml.c5.2xlarge", "ml.m5.xlarge", "ml.g5.xlarge", "ml.p4d.24xlarge")
    },
)


def toy_job(folder: Path, **changes: str) -> Job:
    """The job above; `changes` replace whole sections: `limits="{deadline: 2h}"`."""
    text = JOB_FILE
    for key, value in changes.items():
        text = re.sub(rf"^{key}:.*\n(?: .*\n)*", f"{key}: {value}\n", text, flags=re.MULTILINE)
    path = folder / "toy.yaml"
    path.write_text(text)
    return load_job(path)


def toy_settings(folder: Path, **changes: str) -> dict[str, Any]:
    return settings(toy_job(folder, **changes), BINDINGS)


def toy_definition(folder: Path, *, bindings: Bindings = BINDINGS, **changes: str) -> dict[str, Any]:
    return training_definition(toy_job(folder, **changes), bindings=bindings)
