"""A project of its own with an offline account of its own: the whole product, as a user has it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[2]
SLIPSTREAM = Path(sys.executable).parent / "slipstream"


@dataclass
class UserProject:
    """A clone in a temporary folder, and the commands a user types in it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def slipstream(self, *arguments: str, timeout: float = 240) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(SLIPSTREAM), *arguments], cwd=self.root, env=clean_environment(), capture_output=True, text=True,
            timeout=timeout, check=False,
        )  # fmt: skip

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run with --json; the exit code must be `code` and stdout one JSON document."""
        done = self.slipstream(*arguments, "--json")
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return json.loads(done.stdout)

    def client(self, service: str) -> Any:
        """boto3 with nothing but what `offline up` prints."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name=self.environment["AWS_DEFAULT_REGION"],
            aws_access_key_id=self.environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.environment["AWS_SECRET_ACCESS_KEY"],
        )

    def set_faults(self, text: str) -> str:
        """A fault file with this text; its path as an argument."""
        path = self.root / "faults.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def training_jobs(self, contains: str) -> list[dict[str, Any]]:
        pages = self.client("sagemaker").get_paginator("list_training_jobs").paginate(NameContains=contains)
        return [job for page in pages for job in page["TrainingJobSummaries"]]


def clean_environment() -> dict[str, str]:
    """The shell of somebody who has no AWS account."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "SLIPSTREAM_"))}
    return (
        kept
        | {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}
        | {"AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    )


def make_project(root: Path) -> UserProject:
    """What a clone holds, without its history."""
    for name in ("app.py", "cdk.json", "constraints.txt", "package.json", "package-lock.json"):
        shutil.copy(REPO / name, root / name)
    for name in ("infra", "stacks", "training", "jobs"):
        shutil.copytree(REPO / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "node_modules").symlink_to(REPO / "node_modules")
    (root / ".venv").symlink_to(Path(sys.prefix))
    return UserProject(root=root)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserProject]:
    """One account for all end-to-end tests: bringing one up and deploying into it takes half a minute."""
    made = make_project(tmp_path_factory.mktemp("project"))
    (made.root / "jobs" / "broken.yaml").write_text(broken_job(made.root), encoding="utf-8")
    made.environment = made.json("offline", "up")["environment"]
    try:
        made.json("deploy", "--offline")
        yield made
    finally:
        made.slipstream("offline", "down")


def broken_job(root: Path) -> str:
    """flights, with a task of the user's own that has a bug."""
    folder = root / "mine"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "task.py").write_text(
        "from training.tasks.tabular import Tabular\n\n\n"
        "class Task(Tabular):\n"
        "    def build_model(self):\n"
        "        raise KeyError('no such column: tailwind')\n",
        encoding="utf-8",
    )
    text = (REPO / "jobs" / "flights.yaml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("name:", "task:", "source_dir:"))]
    return "\n".join(["name: broken", "task: task:Task", "source_dir: mine", *lines]) + "\n"
