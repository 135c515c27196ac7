"""Nothing that a host starts outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.offline.sagemaker.processes import KILLED, Host

from ..waiting import until

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()                      # out of the process group, as a daemon does
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists(sys.argv[1]) or not open(sys.argv[1]).read(): time.sleep(0.01)
"""


def start(tmp_path: Path, script: str, *arguments: str) -> Host:
    path = tmp_path / "script.py"
    path.write_text(script)
    return Host(["python3", str(path), *arguments], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(75)", 75),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", KILLED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV),
    ],
)
def test_exit_status_is_the_entry_point_s(tmp_path: Path, script: str, status: int) -> None:
    assert start(tmp_path, script).wait(30) == status


def test_an_entry_point_that_is_not_there(tmp_path: Path) -> None:
    host = Host(["/no/such/program"], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")
    assert host.wait(30) == 127
    assert "cannot start /no/such/program" in (tmp_path / "log").read_text()


def test_sigterm_reaches_the_whole_group(tmp_path: Path) -> None:
    host = start(
        tmp_path,
        "import subprocess, sys, signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(600)'])\n"
        "print('child ended with', child.wait(), flush=True)\n",
    )
    until(lambda: (tmp_path / "log").read_text().startswith("1"))
    host.terminate()
    assert host.wait(30) == 0
    assert f"child ended with {-signal.SIGTERM}" in (tmp_path / "log").read_text()


def test_kill_needs_nobody_s_consent(tmp_path: Path) -> None:
    host = start(
        tmp_path,
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(600)",
    )
    until(lambda: (tmp_path / "log").read_text())
    host.terminate()
    assert host.wait(0.2) is None
    host.kill()
    assert host.wait(30) == KILLED


def test_a_daemon_that_the_entry_point_left_is_ended_with_it(tmp_path: Path) -> None:
    host = start(tmp_path, DAEMON, str(tmp_path / "pid"))
    assert host.wait(30) == 0
    daemon = int((tmp_path / "pid").read_text())
    assert not alive(daemon)


def test_a_kill_right_after_the_start_is_not_lost(tmp_path: Path) -> None:
    """Between fork and setsid the entry point has no group yet that a signal could meet."""
    for _ in range(40):
        host = Host(["sleep", "600"], env=dict(os.environ), cwd=tmp_path, log=tmp_path / "log")
        host.kill()
        assert host.wait(30) == KILLED


def test_nothing_is_left_when_the_account_is_killed(tmp_path: Path) -> None:
    """An "account" starts a host whose entry point leaves a daemon and runs on; then it is killed with SIGKILL."""
    (tmp_path / "script.py").write_text(DAEMON + "\nimport time; time.sleep(600)\n")
    account = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, pathlib, sys, time\n"
            "from infra.offline.sagemaker.processes import Host\n"
            "folder = pathlib.Path(sys.argv[1])\n"
            "argv = ['python3', str(folder / 'script.py'), str(folder / 'pid')]\n"
            "host = Host(argv, env=dict(os.environ), cwd=folder, log=folder / 'log')\n"
            "print(host._guard.pid, flush=True)\n"
            "time.sleep(600)\n",
            str(tmp_path),
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert account.stdout is not None
    guard = int(account.stdout.readline())
    pid = tmp_path / "pid"
    until(lambda: pid.exists() and pid.read_text())
    account.kill()
    account.wait()
    account.stdout.close()
    until(lambda: not alive(guard) and not alive(int(pid.read_text())))
