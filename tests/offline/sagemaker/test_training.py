"""Training jobs from Create to their end, with real processes."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable

import pytest

from infra.offline.sagemaker import SageMakerError
from infra.offline.settings import Settings

from .requests import channel, spot_request, training_request
from .world import World, statuses

NAME = "flights-1a2b3c4d-01"

TRAIN = """
import json, os, pathlib
root = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
print("epoch=1 validation:auc=0.61")
print("epoch=2 validation:auc=0.67")
(root / "model" / "weights").write_text("w")
(root / "output" / "data" / "report").write_text("r")
"""

# Runs until it is told to stop, and says so.
ENDLESS = """
import os, pathlib, signal, sys, time
root = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
def stop(*_):
    (root / "checkpoints" / "last").write_text("saved on SIGTERM")
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
(root / "checkpoints").mkdir(exist_ok=True)
print("restored", sorted(p.name for p in (root / "checkpoints").iterdir()))
print("training")
if (root / "checkpoints" / "last").exists():
    sys.exit(0)
time.sleep(600)
"""

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("training")
time.sleep(600)
"""


def test_a_job_that_completes(world: World) -> None:
    world.code(TRAIN)
    job = world.run(training_request())
    assert job["TrainingJobStatus"] == "Completed"
    assert statuses(job) == ["Starting", "Downloading", "Training", "Uploading", "Completed"]
    assert [(metric["MetricName"], metric["Value"]) for metric in job["FinalMetricDataList"]] == [
        ("validation:auc", 0.67)
    ]
    assert job["ModelArtifacts"]["S3ModelArtifacts"] == f"s3://bucket/output/{NAME}/output/model.tar.gz"
    packed = io.BytesIO(world.objects.read(job["ModelArtifacts"]["S3ModelArtifacts"]))
    with tarfile.open(fileobj=packed) as archive:
        assert archive.getnames() == ["weights"]
    assert f"output/{NAME}/output/output.tar.gz" in world.objects.puts
    assert world.logs.text() == ["epoch=1 validation:auc=0.61", "epoch=2 validation:auc=0.67"]
    assert world.changes[-1] == (NAME, "Completed")
    assert world.left_on_disk(NAME) == []


def test_the_container_finds_what_sagemaker_gives_it(world: World) -> None:
    world.objects.write("s3://bucket/flights/train/part-0", "0")
    world.objects.write("s3://bucket/flights/train/more/part-1", "1")
    world.objects.write("s3://bucket/flights/training/part-2", "2")
    world.code(
        "import json, os, pathlib, sys\n"
        "root = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])\n"
        "config = {p.stem: json.loads(p.read_text()) for p in (root / 'input/config').iterdir()}\n"
        "data = sorted(str(p.relative_to(root)) for p in (root / 'input/data').rglob('*') if p.is_file())\n"
        "env = {k: v for k, v in os.environ.items() if k.startswith(('SM_', 'TRAINING_', 'AWS_', 'OMP_'))}\n"
        "print(json.dumps([config, data, env, os.environ['GIVEN'] == str(root / 'model'), sys.argv[1:]]))\n"
    )
    request = training_request(HyperParameters={"epochs": "12"}, Environment={"GIVEN": "/opt/ml/model"})
    request["InputDataConfig"].append(channel("train", "s3://bucket/flights/train/"))
    request["AlgorithmSpecification"]["ContainerArguments"] = ["train", "--folder=/opt/ml/output"]
    job = world.run(request)
    assert job["TrainingJobStatus"] == "Completed"
    config, data, env, moved, arguments = json.loads(world.logs.text()[0])
    assert config["hyperparameters"] == {"epochs": "12"}
    assert config["resourceconfig"]["hosts"] == ["127.0.0.1"]
    assert config["inputdataconfig"]["train"]["TrainingInputMode"] == "File"
    assert data == ["input/data/code/main.py", "input/data/train/more/part-1", "input/data/train/part-0"]
    assert moved
    assert arguments[0] == "train"
    assert arguments[1].startswith("--folder=")
    assert not arguments[1].startswith("--folder=/opt/ml")
    assert env["TRAINING_JOB_NAME"] == NAME
    assert env["TRAINING_JOB_ARN"].endswith(f":training-job/{NAME}")
    assert (env["SM_NUM_GPUS"], env["OMP_NUM_THREADS"], env["AWS_REGION"]) == ("0", "1", "us-east-1")
    assert env["SM_CHANNEL_TRAIN"].endswith("/input/data/train")


def test_the_account_s_own_environment_stays_outside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a real one")
    monkeypatch.setenv("SECRET", "a real one")
    world.code("import os; print([k for k, v in os.environ.items() if v == 'a real one'])")
    world.run(training_request())
    assert world.logs.text() == ["[]"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("raise SystemExit(3)", "AlgorithmError: ExecuteUserScriptError:\nExitCode 3, exit code: 3"),
        (
            "import os, pathlib\n"
            "root = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])\n"
            "(root / 'output' / 'failure').write_text('slipstream exit=77 step=40 diverged')\n"
            "raise SystemExit(77)",
            "AlgorithmError: slipstream exit=77 step=40 diverged, exit code: 77",
        ),
    ],
)
def test_a_job_that_fails_says_why(world: World, script: str, reason: str) -> None:
    world.code(script)
    job = world.run(training_request())
    assert (job["TrainingJobStatus"], job["FailureReason"]) == ("Failed", reason)


def test_a_channel_without_objects_fails_the_job(world: World) -> None:
    world.code(TRAIN)
    request = training_request()
    request["InputDataConfig"].append(channel("train", "s3://nowhere/train/"))
    job = world.run(request)
    assert job["FailureReason"].startswith(
        'ClientError: Data download failed:No S3 objects found under S3 URL "s3://nowhere/train/"'
    )


def test_names_are_taken_for_good(world: World) -> None:
    world.code(TRAIN)
    world.run(training_request())
    with pytest.raises(SageMakerError, match="must be unique within an AWS account and region") as refused:
        world.engine.create_training_job(training_request())
    assert refused.value.code == "ResourceInUse"


def test_unknown_jobs(world: World) -> None:
    for operation in (world.engine.describe_training_job, world.engine.stop_training_job):
        with pytest.raises(SageMakerError, match=r"^ValidationException: Requested resource not found\.$"):
            operation({"TrainingJobName": "nothing"})


def test_stopping_gives_the_script_its_grace(world: World) -> None:
    world.code(ENDLESS)
    request = spot_request()
    world.engine.create_training_job(request)
    world.until_printed("training")
    world.engine.stop_training_job({"TrainingJobName": NAME})
    job = world.ended(NAME)
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopped", "Stopped")
    assert statuses(job)[-2:] == ["Stopping", "Stopped"]
    assert "checkpoints/flights/1a2b3c4d/last" in world.objects.puts
    with pytest.raises(SageMakerError, match="rejected because the training job is in status Stopped"):
        world.engine.stop_training_job({"TrainingJobName": NAME})


def test_after_the_grace_comes_sigkill(make_world: Callable[..., World]) -> None:
    world = make_world(settings=Settings(phase_s=0.01, grace_s=0.1, sync_interval_s=0.02, poll_s=0.01))
    world.code(STUBBORN)
    world.engine.create_training_job(training_request())
    world.until_printed("training")
    world.engine.stop_training_job({"TrainingJobName": NAME})
    assert world.ended(NAME)["TrainingJobStatus"] == "Stopped"


def test_stopping_while_it_waits_for_instances(make_world: Callable[..., World]) -> None:
    world = make_world(settings=Settings(phase_s=60.0))
    world.code(TRAIN)
    world.engine.create_training_job(training_request())
    world.engine.stop_training_job({"TrainingJobName": NAME})
    job = world.ended(NAME)
    assert statuses(job) == ["Starting", "Stopping", "Stopped"]
    assert job["BillableTimeInSeconds"] == 0


def test_max_runtime(world: World) -> None:
    world.code(ENDLESS)
    job = world.run(training_request(StoppingCondition={"MaxRuntimeInSeconds": 1}))
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopped", "MaxRuntimeExceeded")
    assert "Stopping" in statuses(job)


def test_max_wait_counts_from_creation(make_world: Callable[..., World]) -> None:
    world = make_world(settings=Settings(phase_s=1.5, poll_s=0.01))
    world.code(ENDLESS)
    job = world.run(spot_request(StoppingCondition={"MaxRuntimeInSeconds": 1, "MaxWaitTimeInSeconds": 1}))
    assert (job["TrainingJobStatus"], job["SecondaryStatus"]) == ("Stopped", "MaxWaitTimeExceeded")


def test_hosts_of_a_cluster_have_their_own_opt_ml(world: World) -> None:
    world.objects.write("s3://bucket/flights/part-0", "0")
    world.objects.write("s3://bucket/flights/part-1", "1")
    world.code(
        "import json, os, pathlib\n"
        "root = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])\n"
        "print(os.environ['SM_CURRENT_HOST'], [p.name for p in (root / 'input/data/train').iterdir()])\n"
    )
    request = training_request(
        ResourceConfig={"InstanceType": "ml.m5.2xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30}
    )
    request["InputDataConfig"].append(channel("train", "s3://bucket/flights/", S3DataDistributionType="ShardedByS3Key"))
    assert world.run(request)["TrainingJobStatus"] == "Completed"
    assert sorted(world.logs.text()) == ["127.0.0.1 ['part-0']", "127.0.0.2 ['part-1']"]
    assert len({stream for stream, _ in world.logs.lines}) == 2


def test_one_host_s_failure_ends_the_others(world: World) -> None:
    world.code("import os, time\nif os.environ['SM_CURRENT_HOST'] == '127.0.0.2': raise SystemExit(5)\ntime.sleep(600)")
    job = world.run(
        training_request(ResourceConfig={"InstanceType": "ml.m5.2xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30})
    )
    assert job["FailureReason"].endswith("exit code: 5")


def test_a_closed_account_ends_its_jobs_at_once(world: World) -> None:
    world.code(STUBBORN)
    world.engine.create_training_job(training_request())
    world.until_printed("training")
    world.engine.close()
    job = world.describe(NAME)
    assert job["TrainingJobStatus"] == "Failed"
    assert job["FailureReason"].startswith("InternalServerError: ")
    assert world.engine.running() == []


def test_jobs_are_known_in_the_next_life(make_world: Callable[..., World]) -> None:
    first = make_world()
    first.code(TRAIN)
    job = first.run(training_request())
    first.engine.close()
    second = make_world()
    assert second.describe(NAME) == job
    with pytest.raises(SageMakerError, match="must be unique"):
        second.engine.create_training_job(training_request())


def test_tags_and_listing(world: World) -> None:
    world.code(TRAIN)
    job = world.run(training_request(Tags=[{"Key": "slipstream:run", "Value": "1a2b3c4d"}]))
    assert world.engine.tags(job["TrainingJobArn"]) == [{"Key": "slipstream:run", "Value": "1a2b3c4d"}]
    assert world.engine.tags("arn:aws:sagemaker:us-east-1:123456789012:model/m") is None
    (summary,) = world.engine.list_training_jobs({"NameContains": "1a2b3c4d"})["TrainingJobSummaries"]
    assert (summary["TrainingJobName"], summary["TrainingJobStatus"]) == (NAME, "Completed")
