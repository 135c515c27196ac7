"""Job files for the tests: one with every key of the contract, one with only those that are required."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from infra.spec import Problem, check_file

# Every key that a job file may have, as a user would write them.
FULL = """\
name: flights
task: tabular
source_dir: training
framework: {name: pytorch, version: "2.6"}
data:
  raw: s3://bucket/prefix/
  prepare:
    instance: ml.m5.xlarge
    source: flights.csv*
    label: {column: late}
    numeric: [distance]
    split: {by: hash, train: 0.8, validation: 0.1, test: 0.1}
    format: parquet
    shard_size: 100000
  channels:
    train: {mode: fast_file, distribution: sharded}
    validation: {mode: file}
    test: {}
compute:
  instance_count: 2
  distribution: torchrun
  volume_size: 50GiB
  pools:
    - {instance: ml.g5.2xlarge, market: spot}
    - {instance: ml.g5.2xlarge, market: on_demand}
limits: {deadline: 10h, max_runtime: 6h, max_cost_usd: 40, attempts_without_progress: 3}
checkpoint: {interval: 6m30s, keep: 3}
hyperparameters:
  epochs: 12
  global_batch_size: 512
  optimizer: adamw
  schedule: one_cycle
  early_stopping: {metric: "validation:auc", mode: max, patience: 3}
tuning:
  strategy: bayesian
  max_jobs: 20
  max_parallel_jobs: 4
  objective: {metric: "validation:auc", goal: maximize}
  ranges: {learning_rate: {min: 1e-4, max: 1e-1, scale: log}}
quality_gate: {metric: "validation:auc", at_least: 0.66}
notify: [ops@example.com]
"""

LEAST: dict[str, Any] = {
    "name": "least",
    "task": "tabular",
    "data": {"raw": {"example": "nycflights13"}, "channels": {"train": {}, "validation": {}}},
    "compute": {"pools": [{"instance": "ml.m5.2xlarge", "market": "on_demand"}]},
    "limits": {},
    "hyperparameters": {},
}


def changed(changes: dict[str, Any], base: dict[str, Any] = LEAST) -> dict[str, Any]:
    """`base` with dotted keys set: `{"limits.deadline": "2h"}`."""
    data = copy.deepcopy(base)
    for key, value in changes.items():
        *parents, last = key.split(".")
        place = data
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    return data


def write(folder: Path, content: str | bytes | dict[str, Any]) -> Path:
    """A job file with this text, or with these data as JSON (which is YAML)."""
    path = folder / "job.yaml"
    if isinstance(content, dict):
        content = json.dumps(content, indent=1)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def problems(folder: Path, content: str | bytes | dict[str, Any]) -> list[Problem]:
    return check_file(write(folder, content))[1]
