"""The offline account's process: moto's services, the state machine interpreter and the SageMaker engine in one."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from werkzeug.serving import BaseWSGIServer

from .account import INFO_FILE, SERVER_LOCK, AccountError, AccountInfo, environment
from .events import EventBus, job_detail
from .faults import Fault, Faults
from .files import write_atomically
from .keeping import ExecutionKeeper
from .logs import CloudWatchLogs, restore_logs
from .sagemaker import Engine, S3Objects
from .sagemaker.jobs import ProcessingJob, TrainingJob
from .seams import cloudformation, parameters, s3, tags
from .seams import sagemaker as sagemaker_seam
from .serving import Admin, TakingTurns, port_of, serve
from .settings import Settings
from .states import moto_plugin
from .states.aws import BotoServices
from .states.executions import Executions
from .storage import ObjectFiles

__all__ = ["ACCOUNT_ID", "Server", "run"]

ACCOUNT_ID = "123456789012"
"""moto's default account, which is that of every request here."""

log = logging.getLogger(__name__)


class Server:
    """Everything that the account's process holds. Made ready by the constructor, reachable after `start`.

    Args:
        folder: the account's state; an earlier life's is taken up.
        port: on 127.0.0.1; 0 takes any free one.

    Raises:
        AccountError: the port is taken, or another process has the folder.
    """

    def __init__(
        self, folder: Path, *, port: int = 0, region: str, settings: Settings, faults: Sequence[Fault] = ()
    ) -> None:
        self._folder = folder
        self._lock = _take(folder)
        self._http = self._listen(port)
        port = port_of(self._http)
        self.info = AccountInfo(
            pid=os.getpid(), port=port, endpoint_url=f"http://localhost:{port}", region=region, started=time.time()
        )
        self._services = BotoServices(endpoint_url=self.info.endpoint_url, region=region, poll_s=settings.sync_poll_s)
        self._executions = Executions(self._services)
        self._keeper = ExecutionKeeper(self._executions, folder / "executions")
        self._faults = Faults(faults)
        self._files = ObjectFiles(folder / "s3")
        self._bus = EventBus(account=ACCOUNT_ID, region=region, start_execution=self._start_execution)
        self._closing = False
        self._publisher = ThreadPoolExecutor(1, thread_name_prefix="job events")
        logs = CloudWatchLogs(lambda: self._services.client("logs"), folder / "logs")
        self._engine = Engine(
            folder,
            region=region,
            account=ACCOUNT_ID,
            objects=S3Objects(lambda: self._services.client("s3")),
            logs=logs,
            aws=environment(self.info),
            faults=self._faults,
            settings=settings,
            on_change=self._job_changed,
        )
        self._install_seams(region)

    def start(self) -> None:
        """Serve, in threads of its own, and say so in account.json."""
        threading.Thread(target=self._http.serve_forever, name="http", daemon=True).start()
        self._executions.on_status_change(self._execution_changed)
        self._keeper.start()
        write_atomically(self._folder / INFO_FILE, json.dumps(asdict(self.info)))
        log.info("ready at %s", self.info.endpoint_url)

    def close(self) -> None:
        """End executions, then jobs (or executions would start new ones), then the service. The folder has the rest."""
        (self._folder / INFO_FILE).unlink(missing_ok=True)
        self._closing = True
        self._publisher.shutdown()
        self._executions.close()
        self._keeper.close()
        self._engine.close()
        self._services.close()
        self._http.shutdown()
        self._http.server_close()
        self._files.close()
        self._lock.close()

    def _listen(self, port: int) -> BaseWSGIServer:
        """On the port asked for, else the last life's, so that variables once exported stay good, else any."""
        application = Admin(self._routes(), TakingTurns())
        remembered = self._folder / "port"
        candidates = [port]
        if port == 0 and remembered.exists():
            candidates.insert(0, int(remembered.read_text()))
        for candidate in candidates:
            with suppress(OSError):
                server = serve(application, candidate)
                remembered.write_text(str(port_of(server)))
                return server
        raise AccountError(f"port {port} on 127.0.0.1 is taken; leave it out to get any free one")

    def _install_seams(self, region: str) -> None:
        stacks, known = self._folder / "stacks.json", self._folder / "parameters.json"
        s3.install(self._files)
        tags.install()
        parameters.restore(known, account=ACCOUNT_ID, region=region)  # before stacks: templates refer to them
        parameters.install(known)
        cloudformation.restore(stacks, account=ACCOUNT_ID, region=region)
        cloudformation.install(stacks)
        s3.restore(self._files, account=ACCOUNT_ID, region=region)  # after stacks: they make the buckets
        restore_logs(self._folder / "logs", account=ACCOUNT_ID, region=region)
        sagemaker_seam.install(self._engine)
        moto_plugin.install(self._executions)

    def _routes(self) -> dict[str, Any]:
        return {"faults": self._set_faults, "status": self._status, "down": self._down}

    def _set_faults(self, rules: Any) -> Any:
        """GET: the rules not spent yet. POST: replace them."""
        if rules is not None:
            self._faults.replace([Fault.from_mapping(rule) for rule in rules])
        return self._faults.left()

    def _status(self, _: Any) -> Any:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return asdict(self.info) | {
            "jobs_running": self._engine.running(),
            "faults_left": self._faults.left(),
            "memory_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        }

    def _down(self, _: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return {"stopping": True}

    def _start_execution(self, arn: str, execution_input: str) -> None:
        self._services.client("stepfunctions").start_execution(stateMachineArn=arn, input=execution_input)

    def _execution_changed(self, detail: dict[str, Any]) -> None:
        self._bus.publish(
            "aws.states", "Step Functions Execution Status Change", resources=[detail["executionArn"]], detail=detail
        )

    def _job_changed(self, job: TrainingJob | ProcessingJob) -> None:
        if isinstance(job, TrainingJob) and not self._closing:
            self._publisher.submit(
                self._bus.publish,
                "aws.sagemaker",
                "SageMaker Training Job State Change",
                resources=[job.arn],
                detail=job_detail(job),
            )


def run(folder: Path, *, port: int, region: str, settings: Settings, faults: Sequence[Fault]) -> None:
    """Be the account until SIGTERM or SIGINT."""
    asked_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_end.set())
    server = Server(folder, port=port, region=region, settings=settings, faults=faults)
    server.start()
    asked_to_end.wait()
    log.info("going down")
    server.close()


def _take(folder: Path) -> TextIO:
    """Hold the folder for as long as this process lives. A command that just looks has it for an instant: try again."""
    lock = (folder / SERVER_LOCK).open("w")
    for _ in range(50):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return lock
    raise AccountError(f"another offline account runs on {folder}")
