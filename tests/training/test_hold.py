from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import torch

from training.hold import Hold
from training.stop import StopRequest


def test_without_a_plan_no_step_matches() -> None:
    assert Hold(None, after=0, stop=StopRequest()).step == -1


def test_steps_already_done_are_not_held_again(tmp_path: Path) -> None:
    plan = tmp_path / "hold.json"
    plan.write_text(json.dumps({"steps": [300, 100, 200]}))
    assert Hold(str(plan), after=100, stop=StopRequest()).step == 200


def test_it_flushes_says_so_and_waits_for_the_release(tmp_path: Path) -> None:
    plan = tmp_path / "hold.json"
    plan.write_text(json.dumps({"steps": [10, 20]}))
    hold = Hold(str(plan), after=0, stop=StopRequest())
    flushed = threading.Event()
    loop = threading.Thread(target=hold.reach, args=(10, flushed.set))
    loop.start()
    assert flushed.wait(5)
    reached, release = tmp_path / "hold.json.reached", tmp_path / "hold.json.release"
    release.write_text("9")  # of another step
    loop.join(0.2)
    assert loop.is_alive()
    assert reached.read_text() == "10"
    release.write_text("10")
    loop.join(5)
    assert not loop.is_alive()
    assert hold.step == 20


def test_a_signal_ends_the_wait(tmp_path: Path) -> None:
    plan = tmp_path / "hold.json"
    plan.write_text(json.dumps({"steps": [10]}))
    stop = StopRequest()
    hold = Hold(str(plan), after=0, stop=stop)
    hold.reach(10, lambda: stop.request("SIGTERM"))
    assert (tmp_path / "hold.json.reached").exists()
    assert hold.step == -1


def test_memory_runs_out_where_it_is_told_to(tmp_path: Path) -> None:
    plan = tmp_path / "hold.json"
    plan.write_text(json.dumps({"oom_at": [50]}))
    hold = Hold(str(plan), after=0, stop=StopRequest())
    assert hold.step == 50
    with pytest.raises(torch.cuda.OutOfMemoryError):
        hold.reach(50, lambda: None)
