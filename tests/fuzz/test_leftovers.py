"""Jobs started, stopped and killed, accounts taken down and killed, in any order: nothing is left behind."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from infra.offline.account import Account
from infra.offline.settings import Settings
from tests.fuzz.processes import listening, processes_naming
from tests.fuzz.seeds import each_round
from tests.offline.conftest import Clients, clients_of
from tests.offline.sagemaker.requests import spot_request, training_request
from tests.offline.waiting import until

HASTY = Settings(phase_s=0.05, grace_s=0.3, sync_interval_s=0.05, poll_s=0.02, sync_poll_s=0.05)
ENDED = ("Completed", "Failed", "Stopped")
MANNERS = ("ends", "fails", "saves", "heeds nothing", "knows no signals")

UNTIDY = """
import os, pathlib, signal, socket, subprocess, sys, tempfile, time

manner = os.environ["MANNER"]
if manner == "saves":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
elif manner == "heeds nothing":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
tempfile.mkdtemp(prefix=os.environ["TEMPORARY"])
listener = socket.create_server((os.environ["ADDRESS"], 0))
listener.set_inheritable(True)
with open(os.environ["PORTS"], "a") as ports:
    ports.write(f"{listener.getsockname()[1]}\\n")
# A daemon in a session of its own, with the port in its hands.
subprocess.Popen(
    [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True, close_fds=False
)
checkpoints = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"]) / "checkpoints"
checkpoints.mkdir(exist_ok=True)
(checkpoints / "step").write_text("1")
time.sleep(0.1 if manner in ("ends", "fails") else 600)
sys.exit(manner == "fails")
"""


class Chaos:
    """An account, the jobs it was given, and what may become of them."""

    def __init__(self, folder: Path, source: random.Random) -> None:
        self.account = Account(folder / "account")
        self._source = source
        self._folder = folder
        self._ports = folder / "ports"
        # One's own: a port of 127.0.0.1 that is free again may be another program's in the next moment.
        self._address = "127." + ".".join(str(source.randint(1, 254)) for _ in range(3))
        self._temporary = f"{folder.name}-job-"
        self._jobs: list[str] = []
        self._client: Clients | None = None

    # -- the account ------------------------------------------------------------------------------------------------

    def up(self) -> None:
        self.info = self.account.up(settings=HASTY)
        self._client = clients_of(self.account, self.info)
        for name in self._jobs:  # of an earlier life
            self._is_tidy(name)
        s3 = self._client("s3")
        s3.create_bucket(Bucket="bucket")
        s3.put_object(Bucket="bucket", Key="code/main.py", Body=UNTIDY.encode())

    def end(self, manner: str) -> None:
        """Take it down or kill it; see that nothing stays."""
        if manner == "down":
            assert self.account.down()
        else:
            os.kill(self.info.pid, signal.SIGKILL)
        until(lambda: not processes_naming(str(self._folder)), 30)
        until(lambda: not self._listeners(), 30)  # a process that dies closes its files last
        assert not list(Path(tempfile.gettempdir()).glob(f"{self._temporary}*"))
        assert self.account.status() is None
        if manner == "down":
            assert not [name for name in self._jobs if self._left_on_disk(name)]

    def _listeners(self) -> list[tuple[str, int]]:
        """Of the account, and of all jobs that there ever were."""
        ports = self._ports.read_text().split() if self._ports.exists() else []
        addresses = [("127.0.0.1", self.info.port), *((self._address, int(port)) for port in ports)]
        return [address for address in addresses if listening(*address)]

    # -- jobs -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        name = f"flights-{len(self._jobs):08x}-01"
        make = self._source.choice([training_request, spot_request])
        environment = {
            "MANNER": self._source.choice(MANNERS),
            "ADDRESS": self._address,
            "PORTS": str(self._ports),
            "TEMPORARY": self._temporary,
        }
        self._sagemaker.create_training_job(**make(name, Environment=environment))
        self._jobs.append(name)

    def stop(self) -> None:
        if self._jobs:
            with suppress(self._sagemaker.exceptions.ClientError):  # it has ended
                self._sagemaker.stop_training_job(TrainingJobName=self._source.choice(self._jobs))

    def kill(self) -> None:
        """What the kernel does to a container that takes too much: its first process, by SIGKILL."""
        if self._jobs:
            job = self._source.choice(self._jobs)
            for pid, arguments in processes_naming(f"TRAINING_JOB_NAME={job}\0").items():
                if arguments.strip().endswith("main.py") and "host.py" not in arguments:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    def wait(self) -> None:
        time.sleep(self._source.uniform(0, 0.4))

    def look(self) -> None:
        """A job that has ended has left nothing, though the account lives on."""
        for name in self._jobs:
            if self._describe(name)["TrainingJobStatus"] in ENDED:
                self._is_tidy(name)

    def _is_tidy(self, name: str) -> None:
        assert self._describe(name)["TrainingJobStatus"] in ENDED
        assert not processes_naming(f"TRAINING_JOB_NAME={name}\0")
        assert not self._left_on_disk(name)

    def _left_on_disk(self, name: str) -> list[Path]:
        return [path for path in (self.account.folder / "jobs" / name).iterdir() if path.is_dir()]

    def _describe(self, name: str) -> dict[str, Any]:
        described: dict[str, Any] = self._sagemaker.describe_training_job(TrainingJobName=name)
        return described

    @property
    def _sagemaker(self) -> Any:
        assert self._client is not None
        return self._client("sagemaker")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: in pytest's own a job's TMPDIR would be too long for a socket, and left to the machine's."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
        yield Path(made)


@each_round
def test_nothing_is_left(seed: str, folder: Path) -> None:
    source = random.Random(seed)
    chaos = Chaos(folder, source)
    actions: list[Callable[[], None]] = [chaos.start, chaos.stop, chaos.kill, chaos.wait, chaos.look]
    try:
        for _ in range(source.choice([1, 1, 1, 2])):
            chaos.up()
            for action in [chaos.start, *source.choices(actions, weights=[4, 2, 2, 3, 1], k=source.randint(5, 12))]:
                print(f"seed {seed}: {action.__name__}")
                action()
            manner = source.choice(["down", "down", "kill"])
            print(f"seed {seed}: the account's end: {manner}")
            chaos.end(manner)
    finally:
        chaos.account.down()
