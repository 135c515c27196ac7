"""The checkpoint agent on a bad day."""

from __future__ import annotations

import threading
from pathlib import Path

from infra.offline.sagemaker import S3Uri
from infra.offline.sagemaker.checkpoints import MARKER, CheckpointAgent, restore

from ..waiting import until
from .folder_objects import FolderObjects

PREFIX = S3Uri("bucket", "flights/run/")


def agent_for(store: FolderObjects, folder: Path, *, seed: str = "seed", interval_s: float = 0.01) -> CheckpointAgent:
    folder.mkdir(exist_ok=True)
    return CheckpointAgent(store, folder, PREFIX, seed=seed, interval_s=interval_s)


def test_files_go_up_and_deletions_are_mirrored(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder)
    agent.start()
    (folder / "step-1").mkdir()
    (folder / "step-1" / "weights").write_text("w")
    until(lambda: store.list(PREFIX) == ["flights/run/step-1/weights"])
    (folder / "step-1" / "weights").unlink()
    until(lambda: store.list(PREFIX) == [])
    agent.finish(sync=True)


def test_the_final_sync_brings_what_the_agent_had_not_seen(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder, interval_s=600)
    agent.start()
    (folder / "last").write_text("x")
    agent.finish(sync=True)
    assert store.puts == ["flights/run/last"]


def test_without_a_final_sync_it_is_lost(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder, interval_s=600)
    agent.start()
    (folder / "last").write_text("x")
    agent.finish(sync=False)
    assert store.puts == []


def test_a_stalled_agent_uploads_nothing_more_and_does_not_say_so(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder)
    agent.start()
    agent.stall()
    (folder / "last").write_text("x")
    agent.finish(sync=True)
    assert store.puts == []


def uploads(tmp_path: Path, name: str, seed: str) -> list[str]:
    store, folder = FolderObjects(tmp_path / f"s3-{name}"), tmp_path / name
    agent = agent_for(store, folder, seed=seed, interval_s=600)
    for number in range(20):
        (folder / f"{number:02}").write_text("x")
    (folder / "MANIFEST.json").write_text("{}")
    agent.start()
    agent.finish(sync=True)
    return store.puts


def test_the_order_of_uploads_is_any_but_repeatable(tmp_path: Path) -> None:
    first = uploads(tmp_path, "a", "one")
    assert first == uploads(tmp_path, "b", "one")
    assert first != uploads(tmp_path, "c", "two")
    assert first != sorted(first)


class SlowObjects(FolderObjects):
    """Holds every upload until it may go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.uploading = threading.Event()
        self.go_on = threading.Event()

    def put(self, uri: S3Uri, path: Path) -> None:
        self.uploading.set()
        assert self.go_on.wait(20)
        super().put(uri, path)


def test_markers_lie_among_the_files_during_an_upload_and_never_go_up(tmp_path: Path) -> None:
    store, folder = SlowObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder)
    agent.start()
    (folder / "weights").write_text("w")
    assert store.uploading.wait(20)
    assert sorted(path.name for path in folder.iterdir()) == ["weights", f"weights{MARKER}"]
    store.go_on.set()
    agent.finish(sync=True)
    assert [path.name for path in folder.iterdir()] == ["weights"]
    assert store.puts == ["flights/run/weights"]


class BrokenObjects(FolderObjects):
    """Fails once."""

    failed = False

    def put(self, uri: S3Uri, path: Path) -> None:
        if not self.failed:
            self.failed = True
            raise ConnectionError("S3 is away")
        super().put(uri, path)


def test_an_error_of_s3_is_tried_again(tmp_path: Path) -> None:
    store, folder = BrokenObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    agent = agent_for(store, folder)
    agent.start()
    (folder / "weights").write_text("w")
    until(lambda: store.puts)
    agent.finish(sync=True)
    assert store.failed


def test_restored_files_are_not_uploaded_again(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    store.write("s3://bucket/flights/run/step-1/weights", "w")
    folder.mkdir()
    restore(store, PREFIX, folder)
    assert (folder / "step-1" / "weights").read_text() == "w"
    agent = agent_for(store, folder)
    agent.start()
    agent.finish(sync=True)
    assert store.puts == []


def test_restoring_matches_a_prefix_as_text(tmp_path: Path) -> None:
    store, folder = FolderObjects(tmp_path / "s3"), tmp_path / "checkpoints"
    store.write("s3://bucket/trial-1/own", "1")
    store.write("s3://bucket/trial-10/foreign", "10")
    restore(store, S3Uri("bucket", "trial-1"), folder)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        "0/foreign",
        "own",
    ]
