"""One line per way to be wrong: what was changed in a good job file, at which key that is told, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.spec.problems import Problem
from infra.spec.rules import RULES

from .jobs import changed, problems

SPOT_G5 = [{"instance": "ml.g5.2xlarge", "market": "spot"}, {"instance": "ml.g5.2xlarge", "market": "on_demand"}]
P4D = [{"instance": "ml.p4d.24xlarge", "market": "on_demand"}]
P3 = [{"instance": "ml.p3.16xlarge", "market": "on_demand"}]
M5 = [{"instance": "ml.m5.large", "market": "on_demand"}]
RECIPE = {"source": "a.csv", "label": {"column": "y"}, "numeric": ["x"]}
TUNING = {
    "max_jobs": 4,
    "objective": {"metric": "validation:auc", "goal": "maximize"},
    "ranges": {"learning_rate": {"min": 1e-4, "max": 0.1, "scale": "log"}},
}
GRID = {"strategy": "grid", "objective": TUNING["objective"], "ranges": {"epochs": {"values": [4, 8]}}}
HYPERBAND = {**TUNING, "strategy": "hyperband"}

ERRORS: list[tuple[str, dict[str, Any], str, str]] = [
    ("pool-instance", {"compute.pools": [{"instance": "ml.g5.3xlarge", "market": "spot"}]},
     "compute.pools[0].instance", "did you mean ml.g5.xlarge, ml.g5.2xlarge"),
    ("pool-instance", {"compute.pools": [{"instance": "ml.n5.large", "market": "spot"}]},
     "compute.pools[0].instance", "did you mean ml.m5.large"),
    ("pool-instance", {"compute.pools": [{"instance": "ml.zz9.plural", "market": "spot"}]},
     "compute.pools[0].instance", "lists those known"),
    ("prepare-instance", {"data.prepare": {"instance": "ml.m5.huge"}},
     "data.prepare.instance", "did you mean ml.m5.large"),
    ("prepare-instance", {"data.prepare": {"instance": "ml.p4d.24xlarge"}},
     "data.prepare.instance", "not offered to processing jobs"),
    ("pool-once", {"compute.pools": [*M5, *M5]}, "compute.pools[1]", "same as pools[0]"),
    ("image-exists", {"framework": {"version": "1.9"}}, "framework.version", "use one of 2.0, 2.1"),
    ("image-exists", {"framework": {"version": "latest"}}, "framework.version", "no AWS pytorch training container"),
    ("smddp-instance", {"compute.pools": SPOT_G5, "compute.distribution": "smddp", "framework": {"version": "2.4"}},
     "compute.pools[0].instance", "SMDDP needs ml.p3.16xlarge, ml.p3dn.24xlarge, ml.p4d.24xlarge, ml.p4de.24xlarge; "
     "use 'torchrun'"),
    ("smddp-framework", {"compute.pools": P4D, "compute.distribution": "smddp", "framework": {"version": "2.6"}},
     "framework.version", "PyTorch 2.4; use that, or distribution 'torchrun'"),
    ("smddp-framework", {"compute.pools": P3, "compute.distribution": "smddp", "framework": {"version": "2.1"}},
     "framework.version", "PyTorch 2.0"),
    ("smp-instance", {"compute.pools": P3, "compute.distribution": "smp"},
     "compute.pools[0].instance", "cannot run distribution 'smp'"),
    ("hosts-need-distribution", {"compute.distribution": "none", "compute.instance_count": 2},
     "compute.distribution", "trains 2 unconnected copies"),
    ("prepare-recipe", {"data.prepare": {"shard_size": 0}}, "data.prepare.shard_size", "must be 1 or more"),
    ("prepare-recipe", {"data.prepare": {"shard_sise": 10}}, "data.prepare.shard_sise", "did you mean 'shard_size'"),
    ("prepare-recipe", {"data.raw": "s3://bucket/", "data.prepare": {"source": "a.csv"}},
     "data.prepare.label", "is required"),
    ("prepare-recipe", {"data.prepare": {"split": {"by": "time", "train": 0.9, "validation": 0.05, "test": 0.05}}},
     "data.prepare.split.column", "is required to split by time"),
    ("channel-train", {"data.channels": {"validation": {}}}, "data.channels.train", "is missing"),
    ("channel-train", {"data.channels": {"train": {}}}, "data.channels.validation", "is missing"),
    ("channel-test",
     {"data.channels.test": {}, "data.prepare": {"split": {"by": "hash", "train": 0.8, "validation": 0.2, "test": 0}}},
     "data.channels.test", "has no rows"),
    ("pipe-format", {"data.channels.train": {"mode": "pipe"}}, "data.channels.train.mode", "format: tfrecord"),
    ("hyperparameters", {"hyperparameters": {"epoch": 3}}, "hyperparameters.epoch", "did you mean 'epochs'"),
    ("hyperparameters", {"hyperparameters": {"epochs": "3"}}, "hyperparameters.epochs", "expected a whole number"),
    ("hyperparameters", {"hyperparameters": {"dropout": 1.5}}, "hyperparameters.dropout", "must be in [0, 1)"),
    ("hyperparameters", {"hyperparameters": {"early_stopping": {"metric": "validation:auc", "mode": "up"}}},
     "hyperparameters.early_stopping.mode", "not one of min, max"),
    ("early-stopping-metric",
     {"hyperparameters": {"early_stopping": {"metric": "validation:f1", "mode": "max"}}},
     "hyperparameters.early_stopping.metric", "it reports train:loss, validation:auc"),
    ("hyperparameters-fit", {"task": "my.module:Task", "hyperparameters": {"notes": "x" * 2501}},
     "hyperparameters.notes", "a value 2500"),
    ("hyperparameters-fit", {"task": "my.module:Task", "hyperparameters": {f"h{n}": n for n in range(101)}},
     "hyperparameters", "has 101 keys"),
    ("hyperparameters-reserved", {"task": "my.module:Task", "hyperparameters": {"sagemaker_program": "x.py"}},
     "hyperparameters.sagemaker_program", "belong to SageMaker"),
    ("deadline-once", {"limits": {"deadline": "2h", "deadline_at": "2026-12-01T18:00:00+01:00"}},
     "limits.deadline_at", "give one of the two"),
    ("max-runtime", {"limits": {"max_runtime": "29d"}}, "limits.max_runtime", "29d is more than the 28d"),
    ("task-known", {"task": "tabula"}, "task", "is not a bundled task (tabular)"),
    ("gate-bound", {"quality_gate": {"metric": "validation:auc"}}, "quality_gate", "needs at_least or at_most"),
    ("gate-bound", {"quality_gate": {"metric": "validation:auc", "at_least": 0.5, "at_most": 0.9}},
     "quality_gate.at_most", "give one of the two"),
    ("gate-metric", {"quality_gate": {"metric": "validation:auk", "at_least": 0.5}},
     "quality_gate.metric", "it reports train:loss"),
    ("gate-metric", {"quality_gate": {"metric": "train:loss", "at_most": 0.5}},
     "quality_gate.metric", "use validation"),
    ("gate-metric", {"quality_gate": {"metric": "test:auc", "at_least": 0.5}},
     "quality_gate.metric", "data.channels.test"),
    ("notify-once", {"notify": ["a@example.com", "A@example.com"]}, "notify[1]", "is in the list already"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"min": 0.1}}}},
     "tuning.ranges.dropout", "needs min and max, or values"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"min": 0.5, "max": 0.1}}}},
     "tuning.ranges.dropout.max", "0.1 is not above min 0.5"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"min": 0, "max": 0.1, "scale": "log"}}}},
     "tuning.ranges.dropout.scale", "needs min above 0"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"min": 0.5, "max": 1.5, "scale": "reverse_log"}}}},
     "tuning.ranges.dropout.scale", "min and max in [0, 1)"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"min": 0.5, "values": [0.1]}}}},
     "tuning.ranges.dropout", "give one or the other"),
    ("tuning-range", {"tuning": {**TUNING, "ranges": {"dropout": {"values": [0.1, 0.1]}}}},
     "tuning.ranges.dropout.values", "lists a value twice"),
    ("tuning-grid", {"tuning": {**GRID, "max_jobs": 3}}, "tuning.max_jobs", "every combination"),
    ("tuning-grid", {"tuning": {**GRID, "ranges": {"dropout": {"min": 0.1, "max": 0.2}}}},
     "tuning.ranges.dropout", "takes lists only"),
    ("tuning-jobs", {"tuning": {k: v for k, v in TUNING.items() if k != "max_jobs"}},
     "tuning.max_jobs", "strategy 'bayesian' has no end of its own"),
    ("tuning-jobs", {"tuning": {**TUNING, "max_parallel_jobs": 5}}, "tuning.max_parallel_jobs", "more than max_jobs 4"),
    ("tuning-hyperband", {"tuning": {**HYPERBAND, "early_stopping": "auto"}, "hyperparameters": {"epochs": 8}},
     "tuning.early_stopping", "has to be off"),
    ("tuning-hyperband", {"tuning": HYPERBAND}, "hyperparameters.epochs", "deals out epochs"),
    ("tuning-names", {"tuning": {**TUNING, "ranges": {"learning_rat": {"min": 0.1, "max": 0.2}}}},
     "tuning.ranges.learning_rat", "did you mean 'learning_rate'"),
    ("tuning-metric", {"tuning": {**TUNING, "objective": {"metric": "validation:f1", "goal": "maximize"}}},
     "tuning.objective.metric", "is not reported"),
]  # fmt: skip

WARNINGS: list[tuple[str, dict[str, Any], str, str]] = [
    ("budget-start-up", {"limits": {"max_cost_usd": 0.01}, "compute.pools": P4D},
     "limits.max_cost_usd", "does not pay one start"),
    ("pools-one-device", {"compute.pools": [*M5, *P3]}, "compute.pools[1].instance", "another device (gpu)"),
    ("volta-dropped", {"compute.pools": P3, "framework": {"version": "2.8"}},
     "compute.pools[0].instance", "use version 2.7 or older"),
    ("deadline-needs-on-demand",
     {"limits": {"deadline": "30h"}, "compute.pools": [{"instance": "ml.m5.large", "market": "spot"}]},
     "compute.pools", "limits.deadline cannot be promised"),
    ("sharded-hosts", {"data.channels.train": {"distribution": "sharded"}},
     "data.channels.train.distribution", "instance_count is 1"),
    ("max-runtime-deadline", {"limits": {"deadline": "2h", "max_runtime": "6h"}},
     "limits.max_runtime", "longer than the deadline (2h)"),
]  # fmt: skip

GOOD: list[dict[str, Any]] = [
    {},
    {"data.raw": "s3://bucket/some/prefix/", "data.prepare": RECIPE},
    {"data.raw": "s3://bucket/"},
    {"data.prepare": {"format": "tfrecord"}, "data.channels.train": {"mode": "pipe"}},
    {"task": "package.module:Class", "source_dir": "my/code", "hyperparameters": {"epochs": 2}},
    {"framework": {"name": "pytorch", "version": "2.10"}},
    {"compute.pools": SPOT_G5, "compute.distribution": "torchrun", "compute.instance_count": 4},
    {"compute.pools": P4D, "compute.distribution": "smddp", "framework": {"version": "2.4"}},
    {"compute.pools": P3, "compute.distribution": "smddp", "framework": {"version": "2.0"}},
    {"compute.pools": P4D, "compute.distribution": "smp", "framework": {"version": "2.4"}},
    {"limits": {"deadline_at": "2026-12-01T18:00:00+01:00"}},
    {"limits": {"deadline_at": "2026-12-01T18:00:00Z", "max_runtime": "28d"}},
    {"checkpoint": {"interval": "90s", "keep": 2}},
    {"data.channels.test": {}, "quality_gate": {"metric": "test:loss", "at_most": 0.6}},
    {"tuning": TUNING},
    {"tuning": GRID},
    {"tuning": HYPERBAND, "hyperparameters": {"epochs": 8}},
    {"tuning": {**TUNING, "ranges": {"epochs": {"min": 2, "max": 9}, "optimizer": {"values": ["adam", "sgd"]}}}},
    {"hyperparameters": {"precision": "bf16", "augmentation": True}},
    {"notify": ["a@example.com", "b@example.com"]},
]


def found(folder: Path, changes: dict[str, Any], rule: str) -> list[Problem]:
    return [problem for problem in problems(folder, changed(changes)) if problem.rule == rule]


@pytest.mark.parametrize(("rule", "changes", "key", "message"), ERRORS, ids=lambda value: str(value)[:30])
def test_errors(tmp_path: Path, rule: str, changes: dict[str, Any], key: str, message: str) -> None:
    at_key = [problem for problem in found(tmp_path, changes, rule) if problem.key == key]
    assert [problem.severity for problem in at_key] == ["error"]
    assert message in at_key[0].message
    assert at_key[0].line > 1


@pytest.mark.parametrize(("rule", "changes", "key", "message"), WARNINGS, ids=lambda value: str(value)[:30])
def test_warnings(tmp_path: Path, rule: str, changes: dict[str, Any], key: str, message: str) -> None:
    everything = problems(tmp_path, changed(changes))
    assert [(problem.rule, problem.key, problem.severity) for problem in everything] == [(rule, key, "warning")]
    assert message in everything[0].message


@pytest.mark.parametrize("changes", GOOD, ids=lambda value: str(value)[:40])
def test_no_false_alarm(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert [str(problem) for problem in problems(tmp_path, changed(changes))] == []


def test_every_rule_is_tried_and_says_why() -> None:
    assert {rule for rule, *_ in ERRORS + WARNINGS} == set(RULES)
    for rule in RULES.values():
        assert rule.reason.endswith("."), rule.id
        assert rule.source, rule.id


def test_rules_run_on_the_sections_that_can_be_read(tmp_path: Path) -> None:
    """A mistake in one section does not hide those in another."""
    changes = {"hyperparameters": {"epoch": 3}, "compute": {"pools": "ml.m5.large"}, "limits": {"max_runtime": "30d"}}
    keys = {problem.key for problem in problems(tmp_path, changed(changes))}
    assert keys == {"compute.pools", "hyperparameters.epoch", "limits.max_runtime"}
