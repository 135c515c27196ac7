"""What a job's state machine knows from the start: the job file and the stack, brought to the units it computes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.spec import Job, catalogue
from infra.spec.sections import ExampleSource
from training.config import TASK_METRICS, metric_names, metric_regex

__all__ = ["Bindings", "settings"]

ALLOWANCES = {
    "start_up_s": 360,  # from CreateTrainingJob to the first step: instance, image, data
    "restore_s": 60,  # loading the newest checkpoint
    "margin_s": 300,  # what nobody has thought of; also the two minutes that a stop takes
    "least_run_s": 10,  # a budget that buys less is used up
    "spot_wait_s": 1800,  # a request for capacity that has waited this long is given up for the next pool
    "prior_share": 0.75,  # until measured, the work is taken to be this share of max_runtime: people round up
}
"""What decide.jsonata reckons with, beside the limits of the job file."""

RETRIES = {
    "short_attempt_s": 120,  # an attempt that ran shorter and made no step is short
    "short_attempts": 10,  # this many of them in a row end the run: something is broken that waiting does not mend
    "max_attempts": 200,  # of any kind in the whole run; more would not fit a payload (256 KB)
    "out_of_memory": 3,  # halvings of the micro-batch
    "prepare": 3,  # processing jobs, when capacity or the service fails them
    "backoff_s": 30,  # doubled with every failure in a row, up to ...
    "backoff_cap_s": 900,
}


@dataclass(frozen=True, kw_only=True)
class Bindings:
    """What the stacks know and the job file does not. Any of the texts may be a CDK token."""

    partition: str
    """`aws`, `aws-cn` or `aws-us-gov`: the first part of every service integration's ARN."""
    data: str
    """Bucket names."""
    checkpoints: str
    artifacts: str
    key_arn: str
    execution_role_arn: str
    topic_arn: str
    code_uri: str
    """`s3://` URI of the code bundle."""
    code_name: str
    """Its file name, as it appears in the container."""
    recipe_hash: str
    images: Mapping[str, str]
    """Container image by instance type, for every pool and for the processing job."""


def settings(job: Job, bindings: Bindings) -> dict[str, Any]:
    """The constant `$settings` of the machine. Durations are seconds, prices USD an hour, sizes GB."""
    return {
        "job": job.name,
        "task": job.task,
        "buckets": {
            "data": bindings.data,
            "checkpoints": bindings.checkpoints,
            "artifacts": bindings.artifacts,
        },
        "key": bindings.key_arn,
        "role": bindings.execution_role_arn,
        "topic": bindings.topic_arn,
        "code": {"uri": bindings.code_uri, "name": bindings.code_name},
        "data": _data(job, bindings),
        "pools": [_pool(job, pool.instance, pool.market, bindings) for pool in job.compute.pools],
        "instance_count": job.compute.instance_count,
        "limits": _limits(job),
        "allowances": ALLOWANCES,
        "retries": RETRIES,
        "checkpoint": {"interval": job.checkpoint.interval, "keep": job.checkpoint.keep},
        "hyperparameters": job.flat_hyperparameters(),
        "metrics": [{"Name": name, "Regex": metric_regex(name)} for name in _metric_names(job)],
        "gate": _without_none(job.quality_gate.model_dump()) if job.quality_gate else {},
    }


def _data(job: Job, bindings: Bindings) -> dict[str, Any]:
    raw, prepare = job.data.raw, job.data.prepare
    return {
        # Example data lie where the command line uploads them, under their version.
        "example": raw.example if isinstance(raw, ExampleSource) else "",
        "raw_uri": "" if isinstance(raw, ExampleSource) else raw.uri,
        "recipe_hash": bindings.recipe_hash,
        "prepare": {
            "instance": prepare.instance,
            "image": bindings.images[prepare.instance],
            "volume_gb": _gib(prepare.volume_size),
            "volume_key": not catalogue.instance(prepare.instance).nvme,
            "max_runtime_s": round(prepare.max_runtime),
        },
        "channels": [
            {
                "name": name,
                "mode": {"file": "File", "fast_file": "FastFile", "pipe": "Pipe"}[channel.mode],
                "distribution": {"replicated": "FullyReplicated", "sharded": "ShardedByS3Key"}[channel.distribution],
            }
            for name, channel in job.data.channels.items()
        ],
    }


def _pool(job: Job, instance: str, market: str, bindings: Bindings) -> dict[str, Any]:
    return {
        "instance": instance,
        "market": market,
        "image": bindings.images[instance],
        "usd_per_hour": round(catalogue.price(instance, "spot" if market == "spot" else "on_demand"), 6),
        "on_demand_usd_per_hour": round(catalogue.price(instance, "on_demand"), 6),
        "volume_gb": _gib(job.compute.volume_size),
        # Types with local NVMe disks have no volume to encrypt and refuse VolumeKmsKeyId.
        "volume_key": not catalogue.instance(instance).nvme,
    }


def _limits(job: Job) -> dict[str, Any]:
    limits = job.limits
    return _without_none(
        {
            "deadline": limits.deadline,
            "deadline_at": limits.deadline_at.timestamp() if limits.deadline_at else None,
            "max_runtime": limits.max_runtime,
            "max_cost_usd": limits.max_cost_usd,
            "attempts_without_progress": limits.attempts_without_progress,
        }
    )


def _metric_names(job: Job) -> tuple[str, ...]:
    """A task of the user's own reports what it likes; the gate's metric is known in any case."""
    if job.task in TASK_METRICS:
        return metric_names(job.task)
    return ("train:loss", "validation:loss", *([job.quality_gate.metric] if job.quality_gate else []))


def _gib(size_bytes: int) -> int:
    return -(-size_bytes // 2**30)


def _without_none(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """JSONata tells an absent key from null; only the former reads as "not set" everywhere."""
    return {key: value for key, value in mapping.items() if value is not None}
