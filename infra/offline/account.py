"""The offline account as the command line sees it: bring it up, find it, take it down.

One folder, one account. Who holds the lock on `server.lock` is the account's process; nothing else is believed, for a
process id can be anybody's after a crash.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .faults import Fault
from .settings import Settings

__all__ = ["INFO_FILE", "REGION", "SERVER_LOCK", "Account", "AccountError", "AccountInfo", "environment"]

REGION = "us-east-1"

INFO_FILE = "account.json"
SERVER_LOCK = "server.lock"
_LOG = "account.log"
_START_LOCK = "start.lock"
_SETTLE_S = 30.0
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


class AccountError(Exception):
    """The account cannot be brought up, or does not answer. The text says why, and what to do."""


@dataclass(frozen=True, kw_only=True)
class AccountInfo:
    """An account that is up."""

    pid: int
    port: int
    endpoint_url: str
    region: str
    started: float
    """Seconds since the epoch."""


def environment(info: AccountInfo) -> dict[str, str]:
    """Variables that point any AWS client at the account, and at nothing else."""
    variables = {
        # localhost, not 127.0.0.1: the CDK CLI puts a bucket's name before an address
        "AWS_ENDPOINT_URL": info.endpoint_url,
        "AWS_ACCESS_KEY_ID": "offline",
        "AWS_SECRET_ACCESS_KEY": "offline",
        "AWS_REGION": info.region,
        "AWS_DEFAULT_REGION": info.region,
        "AWS_EC2_METADATA_DISABLED": "true",
        # a profile or a real account's credentials must never get in
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    if any(os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXIES):
        already = os.environ.get("NO_PROXY") or os.environ.get("no_proxy")
        direct = ",".join(filter(None, [already, "localhost,127.0.0.1"]))
        variables |= {"NO_PROXY": direct, "no_proxy": direct}
    return variables


class Account:
    """The offline account of a folder, whether it is up or not.

    Args:
        folder: holds all of its state; made by `up`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def up(
        self,
        *,
        faults: Sequence[Fault] | None = None,
        port: int = 0,
        region: str = REGION,
        settings: Settings | None = None,
        timeout_s: float = 60.0,
    ) -> AccountInfo:
        """Bring the account up and wait until it answers. One that is up already is left as it is.

        Args:
            faults: rules to begin with.
            port: on 127.0.0.1; 0 takes the last one again where it is free, else any.

        Raises:
            AccountError: it does not come up; the text has the end of its log.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with _locked(self.folder / _START_LOCK):
            if running := self._settled():
                return running
            (self.folder / INFO_FILE).unlink(missing_ok=True)  # of one that died
            self._process = self._spawn(faults or (), port, region, settings or Settings())
            return self._await(self._process, timeout_s)

    def status(self) -> AccountInfo | None:
        """The account's process, or None when it is down."""
        if not _is_locked(self.folder / SERVER_LOCK):
            return None
        try:
            return AccountInfo(**json.loads((self.folder / INFO_FILE).read_text()))
        except (FileNotFoundError, ValueError):  # still starting, or going down
            return None

    def down(self, *, timeout_s: float = 30.0) -> bool:
        """Stop the account and every process that it started. Says whether it was up.

        Raises:
            AccountError: it could not be stopped.
        """
        if not self.folder.is_dir():
            return False
        with _locked(self.folder / _START_LOCK):
            running = self.status()
            if running is None:
                (self.folder / INFO_FILE).unlink(missing_ok=True)
                return False
            for number, patience_s in ((signal.SIGTERM, timeout_s), (signal.SIGKILL, 5.0)):
                with suppress(ProcessLookupError):
                    os.kill(running.pid, number)
                if _wait(lambda: not _is_locked(self.folder / SERVER_LOCK), patience_s):
                    (self.folder / INFO_FILE).unlink(missing_ok=True)
                    if self._process is not None:
                        self._process.wait()  # our own child: no zombie stays
                    _wait(lambda: not _is_alive(running.pid), patience_s)
                    return True
        raise AccountError(f"the offline account (process {running.pid}) does not end")

    def environment(self, info: AccountInfo) -> dict[str, str]:
        """Variables that point any AWS client, the CDK CLI among them, at the account, and at nothing else."""
        return environment(info)

    def set_faults(self, faults: Sequence[Fault]) -> None:
        """Replace the rules of the account that is up. Raises `AccountError` when it is not."""
        self._admin("faults", [fault.to_mapping() for fault in faults])

    def details(self) -> dict[str, Any]:
        """What the running account says of itself: jobs that run, faults left, memory. Raises `AccountError`."""
        answer: dict[str, Any] = self._admin("status")
        return answer

    def _admin(self, route: str, body: Any = None) -> Any:
        info = self.status()
        if info is None:
            raise AccountError("the offline account is not up; start it: slipstream offline up")
        request = urllib.request.Request(
            f"http://127.0.0.1:{info.port}/_slipstream/{route}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise AccountError(f"the offline account refused /{route}: {text}") from error
        except OSError as error:
            raise AccountError(f"the offline account (process {info.pid}) does not answer: {error}") from error

    def _spawn(self, faults: Sequence[Fault], port: int, region: str, settings: Settings) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "infra.offline", "--folder", str(self.folder.resolve()), "--region", region]
        command += ["--port", str(port), "--settings", json.dumps(asdict(settings))]
        command += ["--faults", json.dumps([fault.to_mapping() for fault in faults])]
        root = Path(__file__).resolve().parents[2]
        with (self.folder / _LOG).open("wb") as log:
            return subprocess.Popen(
                command,
                cwd=root,
                env=_clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C in the terminal is for the command, not for the account
            )

    def _settled(self) -> AccountInfo | None:
        """As `status`, after waiting for an account that is on its way up or down."""
        _wait(lambda: self.status() is not None or not _is_locked(self.folder / SERVER_LOCK), _SETTLE_S)
        return self.status()

    def _await(self, process: subprocess.Popen[bytes], timeout_s: float) -> AccountInfo:
        _wait(lambda: self.status() is not None or process.poll() is not None, timeout_s)
        info = self.status()
        if info is not None:
            return info
        process.kill()
        process.wait()
        log = (self.folder / _LOG).read_text(errors="replace").strip()
        raise AccountError(f"the offline account did not come up; {self.folder / _LOG} ends with:\n{log[-2000:]}")


def _clean_environment() -> dict[str, str]:
    """The account must not meet a profile of the user's, or a proxy on the way to itself."""
    ours = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NO_PROXY": "*", "no_proxy": "*"}
    return {name: value for name, value in os.environ.items() if not name.startswith("AWS_")} | ours


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _is_locked(path: Path) -> bool:
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _is_alive(pid: int) -> bool:
    """A zombie has ended: whoever started it has not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait(condition: Any, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
