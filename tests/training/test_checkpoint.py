"""What may be loaded from a folder that S3, a sync agent and killed processes have had their hands on."""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import torch

from training import checksum
from training.checkpoint import (
    CheckpointManager,
    FencedError,
    IdentityError,
    Owner,
    SaveTimer,
    difference,
    identity_hash,
    read_tensors,
    write_tensors,
    young_daly_s,
)
from training.checkpoint.state import pack, unpack
from training.checkpoint.tensors import TensorFileError
from training.checksum import UnknownAlgorithmError

IDENTITY = {"hyperparameters": {"learning_rate": 0.1}, "data": "d1"}


def state_of(step: int) -> dict[str, Any]:
    return {"step": step, "weights": torch.full((64, 8), float(step))}


def manager(
    folder: Path, *, fence: int = 1, run: str = "0a1b2c3d", keep: int = 3, **identity: Any
) -> CheckpointManager:
    return CheckpointManager(
        folder,
        keep=keep,
        owner=Owner(job="flights", run=run, attempt=fence, fence=fence),
        identity={**IDENTITY, **identity},
        execution={"world_size": 1},
    )


def save(folder: Path, *steps: int, **options: Any) -> CheckpointManager:
    made = manager(folder, **options)
    for step in steps:
        made.save(step, state_of(step))
    made.wait()
    return made


def restored_step(folder: Path, **options: Any) -> int | None:
    restored = manager(folder, **options).restore()
    if restored is None:
        return None
    assert restored.state["step"] == restored.step
    assert torch.equal(restored.state["weights"], state_of(restored.step)["weights"])
    return restored.step


# -- the format -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool])
def test_tensors_survive_to_the_bit(dtype: torch.dtype) -> None:
    tensors = {
        "a.b": torch.arange(12).reshape(3, 4).to(dtype),
        "scalar": torch.tensor(1).to(dtype),
        "empty": torch.empty(0, 3, dtype=dtype),
        "strided": torch.arange(12).reshape(3, 4).to(dtype).t(),
        "byte": torch.tensor([7], dtype=torch.uint8),  # would misalign what comes after it
    }
    found = read_tensors(b"".join(write_tensors(tensors)))
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype
        assert torch.equal(found[name], tensor)


def test_nan_keeps_its_bits() -> None:
    odd = torch.tensor([0x7FC00001, 0x80000000 - 2**32], dtype=torch.int64).to(torch.int32).view(torch.float32)
    found = read_tensors(b"".join(write_tensors({"x": odd})))["x"]
    assert torch.equal(found.view(torch.int32), odd.view(torch.int32))


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b"\xff" * 40])
def test_a_damaged_tensor_file_is_refused(damage: Callable[[bytes], bytes]) -> None:
    data = b"".join(write_tensors({"x": torch.ones(5)}))
    with pytest.raises(TensorFileError):
        read_tensors(damage(data))


def test_nested_state_survives() -> None:
    state = {
        "optimizer": {"state": {0: {"exp_avg": torch.ones(2)}, 1: {}}, "param_groups": [{"betas": (0.9, 0.999)}]},
        "none": None,
        "rate": 0.1,
        "$odd": [1, (2, [3])],
        "nan": math.inf,
    }
    tree, tensors = pack(state)
    found = unpack(json.loads(json.dumps(tree)), tensors)
    assert torch.equal(found["optimizer"]["state"][0].pop("exp_avg"), torch.ones(2))
    state["optimizer"]["state"][0].pop("exp_avg")
    assert found == state


def test_what_json_would_change_is_refused() -> None:
    with pytest.raises(TypeError, match=r"task\.when: date"):
        pack({"task": {"when": date(2024, 1, 1)}})


# -- restoring ------------------------------------------------------------------------------------------------------


def test_the_newest_is_restored(tmp_path: Path) -> None:
    assert restored_step(tmp_path) is None
    save(tmp_path, 10, 20, 30)
    assert restored_step(tmp_path) == 30


def truncate(folder: Path) -> None:
    path = folder / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-7])


def flip_a_bit(folder: Path) -> None:
    path = folder / "state.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def take_from(other: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:  # same size, other content: uploaded before, left by a stalled agent
        shutil.copy(folder.parent / other / "state.safetensors", folder)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        flip_a_bit,
        take_from("step-00000010"),
        lambda folder: (folder / "MANIFEST.json").unlink(),
        lambda folder: (folder / "state.json").unlink(),
        lambda folder: (folder / "MANIFEST.json").write_text('{"format": 1'),
        lambda folder: (folder / "MANIFEST.json").write_text("[]"),
        lambda folder: (folder / "MANIFEST.json").write_text('{"format": 1, "step": 20, "files": {}}'),
        lambda folder: folder.rename(folder.with_name("step-00000021")),
        lambda folder: (folder / "MANIFEST.json").rename(folder / "MANIFEST.json.sagemaker-uploading"),
    ],
)
def test_a_torn_one_is_passed_over(
    tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    save(tmp_path, 10, 20)
    damage(tmp_path / "step-00000020")
    with caplog.at_level(logging.WARNING):
        assert restored_step(tmp_path) == 10
    assert "passed over" in caplog.text


def test_what_is_no_checkpoint_is_ignored(tmp_path: Path) -> None:
    save(tmp_path, 10)
    (tmp_path / "step-00000099").write_text("a file")
    (tmp_path / "step-00000010.sagemaker-uploading").touch()
    (tmp_path / "step-00000010" / "state.json.sagemaker-uploading").touch()
    (tmp_path / "step-7").mkdir()
    (tmp_path / ".writing-00000050-1").mkdir()
    (tmp_path / "0" / "step-00000077").mkdir(parents=True)  # trial-1's prefix restores trial-10 as well
    assert restored_step(tmp_path) == 10
    assert not (tmp_path / ".writing-00000050-1").exists()


def test_another_run_s_is_passed_over_and_left_alone(tmp_path: Path) -> None:
    save(tmp_path, 5, 90, run="ffffffff")
    assert restored_step(tmp_path) is None
    save(tmp_path, 10, 20, 30, keep=2)
    assert restored_step(tmp_path) == 30
    assert {path.name for path in tmp_path.iterdir()} >= {"step-00000005", "step-00000090"}


def test_outside_any_run_everything_is_one_s_own(tmp_path: Path) -> None:
    save(tmp_path, 10)
    assert restored_step(tmp_path, run="") == 10


def test_another_trajectory_is_refused_with_the_difference(tmp_path: Path) -> None:
    save(tmp_path, 10)
    with pytest.raises(IdentityError, match=r"step 10 .*differs from this one in data: \"d1\" -> \"d2\""):
        manager(tmp_path, data="d2").restore()


def test_one_of_this_trajectory_wins_over_newer_ones_of_another(tmp_path: Path) -> None:
    save(tmp_path, 10)
    save(tmp_path, 20, data="d2")
    assert restored_step(tmp_path) == 10


def test_a_later_attempt_fences_this_one_out(tmp_path: Path) -> None:
    save(tmp_path, 10, fence=3)
    with pytest.raises(FencedError, match="attempt 3 has written step 10"):
        manager(tmp_path, fence=2).restore()
    assert restored_step(tmp_path, fence=4) == 10


def test_a_checksum_that_cannot_be_verified_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken for torn, every checkpoint of the run would be passed over, and it would start from nothing in silence."""
    with monkeypatch.context() as without:
        without.setattr(checksum, "xxhash", None)
        save(tmp_path, 10)
        assert restored_step(tmp_path) == 10
    assert restored_step(tmp_path) == 10  # crc32 can be verified everywhere
    save(tmp_path, 20)
    monkeypatch.setattr(checksum, "xxhash", None)
    with pytest.raises(UnknownAlgorithmError, match="install xxhash"):
        restored_step(tmp_path)


# -- writing --------------------------------------------------------------------------------------------------------


def test_only_so_many_stay(tmp_path: Path) -> None:
    made = save(tmp_path, 10, 20, 30, 40, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000030", "step-00000040"]
    assert sorted(made.sizes) == [30, 40]
    on_disk = {path.name: path.stat().st_size for path in (tmp_path / "step-00000040").iterdir()}
    assert made.sizes[40] == on_disk


def test_the_newest_that_is_whole_in_s3_stays_however_old(tmp_path: Path) -> None:
    """The agent mirrors deletions at once, while newer checkpoints are still on their way up."""
    made = save(tmp_path, 10, 20, keep=2)
    made.note_durable(10)
    for step in (30, 40, 50):
        made.save(step, state_of(step))
    made.wait()
    assert sorted(made.sizes) == [10, 40, 50]
    assert restored_step(tmp_path) == 50
    made.note_durable(45)  # of 40, say, which was pruned while S3 was being listed: what is here counts
    for step in (60, 70):
        made.save(step, state_of(step))
    made.wait()
    assert sorted(made.sizes) == [40, 60, 70]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000040", "step-00000060", "step-00000070"]


def test_torn_ones_do_not_count_as_kept(tmp_path: Path) -> None:
    save(tmp_path, 10, 20, 30)
    truncate(tmp_path / "step-00000030")
    made = manager(tmp_path, keep=2)
    assert (made.restore() or pytest.fail("nothing")).step == 20
    made.save(25, state_of(25))
    made.wait()
    assert restored_step(tmp_path) == 25
    truncate(tmp_path / "step-00000025")
    assert restored_step(tmp_path) == 20


def test_a_torn_one_of_the_same_step_is_replaced(tmp_path: Path) -> None:
    save(tmp_path, 10, 20)
    truncate(tmp_path / "step-00000020")
    made = manager(tmp_path)
    made.restore()
    made.save(20, state_of(20))
    made.wait()
    assert restored_step(tmp_path) == 20


def test_the_loop_may_go_on_while_it_is_written(tmp_path: Path) -> None:
    made = manager(tmp_path)
    state = state_of(10)
    made.save(10, state)
    state["weights"].fill_(-1)
    made.wait()
    assert restored_step(tmp_path) == 10


def test_a_failed_write_is_not_silent(tmp_path: Path) -> None:
    made = manager(tmp_path / "checkpoints")
    shutil.rmtree(tmp_path / "checkpoints")
    (tmp_path / "checkpoints").write_text("in the way")
    made.save(10, state_of(10))
    with pytest.raises(OSError, match="checkpoints"):
        made.wait()


# -- when, and what belongs together --------------------------------------------------------------------------------


def test_young_daly() -> None:
    assert young_daly_s(2.0, 10_000.0) == 200.0


def test_the_interval_follows_the_measured_cost() -> None:
    timer = SaveTimer("auto", now=100.0)
    assert timer.due == 105.0
    timer.measured(1.0)
    timer.saved(105.0)
    assert timer.interval_s == pytest.approx(young_daly_s(1.0, 4 * 3600))
    assert timer.due == 105.0 + timer.interval_s
    timer.measured(1e-9)
    timer.measured(1e-9)
    assert 5.0 <= timer.interval_s < 150.0


def test_a_given_interval_is_kept() -> None:
    timer = SaveTimer(30.0, now=0.0)
    timer.measured(10.0)
    timer.saved(7.0)
    assert timer.due == 37.0


def test_differences_are_named_by_leaf() -> None:
    old = {"a": {"b": 1, "c": [1, 2]}, "d": None}
    new = {"a": {"b": 2, "c": [1, 2]}, "e": True}
    assert difference(old, new) == ["a.b: 1 -> 2", "d: null -> (absent)", "e: (absent) -> true"]
    assert identity_hash({"a": 1, "b": 2}) == identity_hash({"b": 2, "a": 1})
    assert identity_hash({"a": 1}) != identity_hash({"a": 1.5})
