"""Requests as the tests send them, smallest first."""

from __future__ import annotations

from typing import Any

ROLE = "arn:aws:iam::123456789012:role/flights-training"


def training_request(name: str = "flights-1a2b3c4d-01", **changes: Any) -> dict[str, Any]:
    """An on-demand job that runs the object s3://bucket/code/main.py; `changes` replace top-level members."""
    request = {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.6.0-cpu-py312",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
            "MetricDefinitions": [{"Name": "validation:auc", "Regex": "validation:auc=([0-9.]+)"}],
        },
        "InputDataConfig": [channel("code", "s3://bucket/code/main.py")],
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
        "ResourceConfig": {"InstanceType": "ml.m5.2xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
    }
    return request | changes


def spot_request(name: str = "flights-1a2b3c4d-01", **changes: Any) -> dict[str, Any]:
    spot = {
        "EnableManagedSpotTraining": True,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200},
        "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints/flights/1a2b3c4d/"},
    }
    return training_request(name, **(spot | changes))


def channel(name: str, uri: str, **source: Any) -> dict[str, Any]:
    return {
        "ChannelName": name,
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri} | source},
    }


def processing_request(name: str = "flights-prepare", **changes: Any) -> dict[str, Any]:
    request = {
        "ProcessingJobName": name,
        "RoleArn": ROLE,
        "AppSpecification": {
            "ImageUri": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.6.0-cpu-py312",
            "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/main.py"],
        },
        "ProcessingResources": {
            "ClusterConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
        },
        "ProcessingInputs": [
            {
                "InputName": "code",
                "S3Input": {
                    "S3Uri": "s3://bucket/code/main.py",
                    "LocalPath": "/opt/ml/processing/input/code",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            }
        ],
    }
    return request | changes
