"""The inside of a container: /opt/ml as SageMaker lays it out, somewhere else, and the environment.

Every path that a request names under /opt/ml is moved to the job's own folder, in arguments and in environment values
alike, so that jobs share a machine without seeing each other.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Container", "host_names", "processing_container", "training_container"]

OPT_ML = "/opt/ml"

_MAX_TMPDIR = 74
"""Longer, and the path of a socket that multiprocessing makes below it passes the kernel's 107 bytes."""


@dataclass(frozen=True, kw_only=True)
class Container:
    """What a host is started with."""

    root: Path
    """Stands for /opt/ml."""
    argv: list[str]
    env: dict[str, str]

    def path(self, container_path: str) -> Path:
        """Where a path of the container really is."""
        return Path(_moved(container_path, self.root))


def host_names(num_hosts: int) -> list[str]:
    """Addresses that hosts reach each other by: `algo-1` resolves only in SageMaker's network."""
    return [f"127.0.0.{number}" for number in range(1, num_hosts + 1)]


def training_container(
    request: Mapping[str, Any], *, arn: str, root: Path, host: int, aws: Mapping[str, str]
) -> Container:
    """Lay out /opt/ml for one host of a training job.

    Args:
        request: CreateTrainingJob.
        root: an empty folder to be /opt/ml.
        host: from 0.
        aws: variables that point the container's AWS clients at the account.
    """
    resources = request["ResourceConfig"]
    hosts = host_names(resources["InstanceCount"])
    channels = [channel["ChannelName"] for channel in request.get("InputDataConfig", [])]
    hyperparameters = dict(request.get("HyperParameters", {}))
    group = {"instance_group_name": "homogeneousCluster", "instance_type": resources["InstanceType"], "hosts": hosts}
    resource_config = {
        "current_host": hosts[host],
        "current_instance_type": resources["InstanceType"],
        "current_group_name": "homogeneousCluster",
        "hosts": hosts,
        "instance_groups": [group],
        "network_interface_name": "lo",
    }
    for folder in ("input/config", "input/data", "model", "output/data", "code"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    config = root / "input" / "config"
    _write_json(config / "hyperparameters.json", hyperparameters)
    _write_json(config / "resourceconfig.json", resource_config)
    _write_json(config / "inputdataconfig.json", _input_data_config(request))
    if "CheckpointConfig" in request:
        _write_json(config / "checkpointconfig.json", request["CheckpointConfig"])
    sm = {
        "SM_HOSTS": json.dumps(hosts),
        "SM_CURRENT_HOST": hosts[host],
        "SM_NUM_GPUS": "0",
        "SM_NUM_CPUS": "1",
        "SM_CHANNELS": json.dumps(sorted(channels)),
        "SM_HPS": json.dumps(hyperparameters),
        "SM_MODEL_DIR": str(root / "model"),
        "SM_OUTPUT_DIR": str(root / "output"),
        "SM_OUTPUT_DATA_DIR": str(root / "output" / "data"),
        "SM_RESOURCE_CONFIG": json.dumps(resource_config),
        "TRAINING_JOB_NAME": request["TrainingJobName"],
        "TRAINING_JOB_ARN": arn,
    } | {f"SM_CHANNEL_{name.upper()}": str(root / "input" / "data" / name) for name in channels}
    algorithm = request["AlgorithmSpecification"]
    argv = [*algorithm["ContainerEntrypoint"], *algorithm.get("ContainerArguments", [])]
    return Container(root=root, argv=_rewrite(argv, root), env=_environment(request, root, aws) | sm)


def processing_container(
    request: Mapping[str, Any], *, arn: str, root: Path, host: int, aws: Mapping[str, str]
) -> Container:
    """Lay out /opt/ml for one host of a processing job; arguments as for `training_container`."""
    cluster = request["ProcessingResources"]["ClusterConfig"]
    hosts = host_names(cluster["InstanceCount"])
    (root / "processing").mkdir(parents=True, exist_ok=True)
    (root / "output").mkdir()
    config = root / "config"
    config.mkdir()
    _write_json(config / "resourceconfig.json", {"current_host": hosts[host], "hosts": hosts})
    _write_json(config / "processingjobconfig.json", {**request, "ProcessingJobArn": arn})
    application = request["AppSpecification"]
    argv = [*application["ContainerEntrypoint"], *application.get("ContainerArguments", [])]
    env = _environment(request, root, aws) | {
        "SAGEMAKER_PROCESSING_DIR": str(root / "processing"),
        "PROCESSING_JOB_NAME": request["ProcessingJobName"],
        "PROCESSING_JOB_ARN": arn,
    }
    return Container(root=root, argv=_rewrite(argv, root), env=env)


def _input_data_config(request: Mapping[str, Any]) -> dict[str, Any]:
    described = {}
    for channel in request.get("InputDataConfig", []):
        source = channel["DataSource"]["S3DataSource"]
        described[channel["ChannelName"]] = {
            "TrainingInputMode": "File",  # FastFile shows itself as File too
            "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
            "RecordWrapperType": channel.get("RecordWrapperType", "None"),
        }
    return described


def _environment(request: Mapping[str, Any], root: Path, aws: Mapping[str, str]) -> dict[str, str]:
    """Nothing of the account's own environment gets in, but what a process on this machine cannot do without."""
    base = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(root),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # one thread whatever the instance is called: results must not depend on the pool
        "OMP_NUM_THREADS": "1",
        "SAGEMAKER_BASE_DIR": str(root),
    }
    base |= {key: os.environ[key] for key in ("LD_LIBRARY_PATH", "TZ") if key in os.environ}
    temporary = root / "tmp"
    temporary.mkdir()
    if len(str(temporary)) <= _MAX_TMPDIR:
        base["TMPDIR"] = str(temporary)
    given = {key: _moved(value, root) for key, value in request.get("Environment", {}).items()}
    return base | dict(aws) | given


def _rewrite(values: Iterable[str], root: Path) -> list[str]:
    return [_moved(value, root) for value in values]


def _moved(value: str, root: Path) -> str:
    return value.replace(OPT_ML, str(root))


def _write_json(path: Path, value: Mapping[str, Any] | Sequence[Any]) -> None:
    path.write_text(json.dumps(value, default=str))
