"""Processing jobs, with real processes."""

from __future__ import annotations

from typing import Any

import pytest

from infra.offline.sagemaker import SageMakerError

from ..waiting import until
from .requests import processing_request
from .world import World

NAME = "flights-prepare"

PREPARE = """
import os, pathlib
root = pathlib.Path(os.environ["SAGEMAKER_PROCESSING_DIR"])
print(sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()))
(root / "output" / "nested").mkdir(parents=True)
(root / "output" / "nested" / "part-0").write_text("0")
"""

OUTPUT = {
    "Outputs": [
        {
            "OutputName": "prepared",
            "S3Output": {
                "S3Uri": "s3://bucket/prepared",
                "LocalPath": "/opt/ml/processing/output",
                "S3UploadMode": "EndOfJob",
            },
        }
    ]
}


def describe(world: World) -> dict[str, Any]:
    return world.engine.describe_processing_job({"ProcessingJobName": NAME})


def run(world: World, request: dict[str, Any]) -> dict[str, Any]:
    world.engine.create_processing_job(request)
    until(lambda: describe(world)["ProcessingJobStatus"] not in ("InProgress", "Stopping"))
    return describe(world)


def test_inputs_and_outputs(world: World) -> None:
    world.code(PREPARE)
    job = run(world, processing_request(ProcessingOutputConfig=OUTPUT))
    assert job["ProcessingJobStatus"] == "Completed"
    assert world.logs.text() == ["['input/code/main.py']"]
    assert world.objects.puts == ["prepared/nested/part-0"]
    assert job["ProcessingEndTime"] >= job["ProcessingStartTime"] >= job["CreationTime"]


def test_failures(world: World) -> None:
    world.code("raise SystemExit(9)")
    job = run(world, processing_request())
    assert (job["ProcessingJobStatus"], job["FailureReason"]) == ("Failed", "AlgorithmError: , exit code: 9")


def test_an_exit_message_is_reported(world: World) -> None:
    world.code(
        "import os, pathlib\n"
        "root = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])\n"
        "(root / 'output' / 'message').write_text('label column is missing')\n"
        "raise SystemExit(1)"
    )
    job = run(world, processing_request())
    assert job["ExitMessage"] == "label column is missing"
    assert job["FailureReason"] == "AlgorithmError: label column is missing, exit code: 1"


def test_an_input_without_objects(world: World) -> None:
    request = processing_request()
    request["ProcessingInputs"][0]["S3Input"]["S3Uri"] = "s3://nowhere/x"
    assert run(world, request)["FailureReason"].startswith("ClientError: No S3 objects found")


def test_stopping(world: World) -> None:
    world.code("import time\nprint('working', flush=True)\ntime.sleep(600)")
    world.engine.create_processing_job(processing_request())
    world.until_printed("working")
    world.engine.stop_processing_job({"ProcessingJobName": NAME})
    until(lambda: describe(world)["ProcessingJobStatus"] == "Stopped")
    with pytest.raises(SageMakerError, match="in status Stopped"):
        world.engine.stop_processing_job({"ProcessingJobName": NAME})


def test_max_runtime(world: World) -> None:
    world.code("import time\ntime.sleep(600)")
    job = run(world, processing_request(StoppingCondition={"MaxRuntimeInSeconds": 1}))
    assert job["ProcessingJobStatus"] == "Stopped"


def test_names_are_apart_from_training_jobs(world: World) -> None:
    world.code(PREPARE)
    run(world, processing_request())
    with pytest.raises(SageMakerError, match="processing job with this name already exists"):
        world.engine.create_processing_job(processing_request())
    with pytest.raises(SageMakerError, match="Requested resource not found"):
        world.engine.describe_training_job({"TrainingJobName": NAME})
    (summary,) = world.engine.list_processing_jobs({})["ProcessingJobSummaries"]
    assert summary["ProcessingJobStatus"] == "Completed"
