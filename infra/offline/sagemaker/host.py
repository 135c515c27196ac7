"""The guard of one host: a small process between the account and a container's entry point.

An entry point starts what it likes: ranks, loaders, daemons in sessions of their own. The guard is their sub-reaper,
so that none of them outlives the host, however it ends: by itself, by command, or because the account was killed with
SIGKILL and could say nothing any more (the guard then reads the end of its standard input).

Commands come on standard input, one byte each: `T` sends SIGTERM to the entry point's process group, `K` kills all.
The exit status is the entry point's, 128 + N for signal N, as containers report it.

Run as a script by `processes.Host`; standard library only, and nothing heavy, for it starts with every job.
"""

import ctypes
import os
import selectors
import signal
import sys
from contextlib import suppress

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_EXEC_FAILED = 127  # what a shell says when it cannot start a command


def main(argv: list[str]) -> int:
    """Run `argv` to its end. Returns its exit status."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wakeup, notify = os.pipe()
    os.set_blocking(notify, False)
    signal.set_wakeup_fd(notify, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the account alone decides; a terminal's Ctrl-C is not for jobs
    child = _start(argv, prctl)
    os.close(1)  # the log is the child's: a reader must see its end
    status = _watch(child, wakeup)
    _kill_the_rest(child)
    return status


def _start(argv: list[str], prctl: "ctypes._NamedFuncPointer") -> int:
    guard = os.getpid()
    begun, begins = os.pipe()  # not inherited: the write end closes when the child becomes the entry point
    child = os.fork()
    if child:
        os.close(begins)
        os.read(begun, 1)  # before that it has no group of its own, and a command to kill it would meet nobody
        os.close(begun)
        return child
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != guard:  # died between fork and prctl
            os._exit(_EXEC_FAILED)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(_EXEC_FAILED)


def _watch(child: int, wakeup: int) -> int:
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            received = os.read(key.fd, 64)
            if key.fd == wakeup:
                continue
            if not received:  # the account is gone
                selector.unregister(0)
            if not received or b"K" in received:
                _signal_group(child, signal.SIGKILL)
            elif b"T" in received:
                _signal_group(child, signal.SIGTERM)
        status = _reap(child)
        if status is not None:
            return status


def _reap(child: int) -> int | None:
    """Collect whoever has ended. Returns the child's exit status once it has."""
    status = None
    with suppress(ChildProcessError):
        while True:
            pid, wait_status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                code = os.waitstatus_to_exitcode(wait_status)
                status = 128 - code if code < 0 else code
    return status


def _signal_group(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child, number)


def _kill_the_rest(child: int) -> None:
    """What the entry point left behind: its group, then orphans, which the kernel hands to this sub-reaper."""
    _signal_group(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            for pid in _children():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
                if parent == os.getpid():
                    found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
