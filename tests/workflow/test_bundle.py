"""The code bundle: the same bytes everywhere, runnable as it is."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra.workflow import recipe_hash, write_bundle

MAIN = """\
import os
from training.prepare import RECIPE
def main(arguments):
    print(arguments, os.environ["SLIPSTREAM_PREPARE"], RECIPE)
    return 3
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "project" / "training"
    (package / "prepare").mkdir(parents=True)
    (package / "__pycache__").mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(MAIN)
    (package / "prepare" / "__init__.py").write_text("RECIPE = 'read'\n")
    (package / "__pycache__" / "x.cpython-311.pyc").write_bytes(b"\0")
    (package / ".hidden").write_text("secret")
    return tmp_path / "project"


def bundle(project: Path, target: Path, *, source_dir: str = "training") -> Path:
    return write_bundle(target, project=project, source_dir=source_dir, recipe={"b": 'it\'s "quoted"', "a": 1})


def test_python_runs_it_as_it_is(project: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(bundle(project, tmp_path / "code.zip")), "prepare"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout == '[\'prepare\'] {"a":1,"b":"it\'s \\"quoted\\""} read\n'


def test_the_same_sources_give_the_same_bytes(project: Path, tmp_path: Path) -> None:
    first = bundle(project, tmp_path / "1" / "code.zip").read_bytes()
    for path in project.rglob("*.py"):
        os.utime(path, (1, 1))
        path.chmod(0o600)
    assert bundle(project, tmp_path / "2" / "code.zip").read_bytes() == first


def test_caches_and_hidden_files_stay_behind(project: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle(project, tmp_path / "code.zip")) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert set(archive.namelist()) == {
            "__main__.py",
            "training/__init__.py",
            "training/__main__.py",
            "training/prepare/__init__.py",
        }


def test_the_users_code_lies_at_top_level(project: Path, tmp_path: Path) -> None:
    (project / "mine" / "models").mkdir(parents=True)
    (project / "mine" / "models" / "net.py").write_text("")
    with zipfile.ZipFile(bundle(project, tmp_path / "code.zip", source_dir="mine")) as archive:
        assert {"models/net.py", "training/__main__.py", "__main__.py"} <= set(archive.namelist())


@pytest.mark.parametrize("name", ["__main__.py", "training.py", "training/x.py"])
def test_the_users_code_may_not_hide_the_bundles_own(project: Path, tmp_path: Path, name: str) -> None:
    (project / "mine" / "training").mkdir(parents=True)
    (project / "mine" / name).write_text("")
    with pytest.raises(ValueError, match="of its own; rename this one"):
        bundle(project, tmp_path / "code.zip", source_dir="mine")


def test_a_source_dir_that_is_not_there(project: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="source_dir is relative to the project's root"):
        bundle(project, tmp_path / "code.zip", source_dir="elsewhere")


def test_the_recipe_hash_follows_recipe_and_preparing_code_and_nothing_else(project: Path) -> None:
    before = recipe_hash(project=project, recipe={"a": 1, "b": 2})
    assert recipe_hash(project=project, recipe={"b": 2, "a": 1}) == before
    assert recipe_hash(project=project, recipe={"a": 1, "b": 3}) != before
    (project / "training" / "loop.py").write_text("faster = True\n")
    assert recipe_hash(project=project, recipe={"a": 1, "b": 2}) == before
    (project / "training" / "prepare" / "__init__.py").write_text("RECIPE = 'read twice'\n")
    assert recipe_hash(project=project, recipe={"a": 1, "b": 2}) != before
