"""The task of docs/training.md: a valid job, bundled as it travels, trained, resumed, measured."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.spec import load_job
from infra.workflow import write_bundle
from training.prepare.main import prepare

ROOT = Path(__file__).parents[2]
JOB = ROOT / "docs" / "examples" / "logistic" / "job.yaml"
RECIPE: dict[str, Any] = {
    "source": "rows.csv",
    "label": {"column": "late"},
    "numeric": ["wind"],
    "split": {"by": "hash", "column": "id", "train": 0.6, "validation": 0.2, "test": 0.2},
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 rows, late when the wind is strong."""
    folder = tmp_path_factory.mktemp("rows")
    rows = "".join(f"{i},{i * 37 % 100},{int(i * 37 % 100 > 50)}\n" for i in range(200))
    (folder / "raw").mkdir()
    (folder / "raw" / "rows.csv").write_text("id,wind,late\n" + rows)
    prepare(folder / "raw", folder / "prepared", RECIPE)
    return folder / "prepared"


def container(base: Path, prepared: Path, hyperparameters: dict[str, Any]) -> Path:
    """/opt/ml as SageMaker lays it out."""
    data, config = base / "input" / "data", base / "input" / "config"
    for split in ("train", "validation", "test"):
        shutil.copytree(prepared / split, data / split)
    (data / "manifest").mkdir()
    shutil.copy(prepared / "MANIFEST.json", data / "manifest")
    config.mkdir()
    texts = {key: json.dumps(value) for key, value in hyperparameters.items()}
    (config / "hyperparameters.json").write_text(json.dumps(texts))
    return base


def train(base: Path, bundle: Path) -> str:
    """Output of the container's entrypoint. Fails where its exit code is not 0."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SM_", "SLIPSTREAM_"))}
    done = subprocess.run(
        [sys.executable, str(bundle)],
        env=kept | {"SAGEMAKER_BASE_DIR": str(base), "SLIPSTREAM_TASK": "logistic:Logistic", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_is_a_job_that_may_be_deployed() -> None:
    job = load_job(JOB)
    assert job.task == "logistic:Logistic"
    assert job.unavailable() == []


def test_the_example_trains_from_its_bundle_and_its_model_loads(tmp_path: Path, prepared: Path) -> None:
    job = load_job(JOB)
    bundle = write_bundle(tmp_path / "code.zip", project=ROOT, source_dir=job.source_dir, recipe=RECIPE)
    base = container(tmp_path / "ml", prepared, {"epochs": 30, "global_batch_size": 8, "learning_rate": 0.05})
    output = train(base, bundle)
    assert output.splitlines()[-1].startswith("slipstream exit=0 ")
    config = json.loads((base / "model" / "config.json").read_text())
    assert config["metrics"]["test:auc"] > 0.95
    assert config["model"] == {"num_numeric": 1}


def test_the_example_resumes_from_its_checkpoint(tmp_path: Path, prepared: Path) -> None:
    job = load_job(JOB)
    bundle = write_bundle(tmp_path / "code.zip", project=ROOT, source_dir=job.source_dir, recipe=RECIPE)
    base = container(tmp_path / "ml", prepared, {"epochs": 2, "global_batch_size": 8})
    assert "a fresh start" in train(base, bundle)
    assert "resumed, bit-exact" in train(base, bundle)
