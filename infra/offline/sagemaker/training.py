"""The life of a training job: Starting, Downloading, Training, Uploading, and all that can come between."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ..faults import AT_START, WHILE_RUNNING, Fault
from .artifacts import upload_artifacts
from .channels import channel_objects
from .checkpoints import CheckpointAgent, restore
from .cluster import Cluster
from .container import Container, training_container
from .hold import Hold
from .jobs import TrainingJob
from .objects import S3Uri, download
from .output import MetricScanner
from .platform import JobThread, Platform
from .processes import KILLED

__all__ = ["CUT_OFF", "Ending", "TrainingThread", "failure_reason"]

log = logging.getLogger(__name__)

CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)
INTERNAL = "InternalServerError: We encountered an internal error. Please try again."
CUT_OFF = f"{INTERNAL} (The offline account was stopped while the job ran.)"

Cause = Literal[
    "exited", "interrupted", "killed", "stopped", "max_runtime", "max_wait", "capacity", "internal", "data", "closing"
]


@dataclass(frozen=True)
class Ending:
    """Why a job left its instances."""

    cause: Cause
    status: int = 0
    """Exit status of the container."""
    reason: str = ""


class TrainingThread(JobThread):
    """Carries one training job out. Everything that it changes in the job is under the platform's lock."""

    log_group = "/aws/sagemaker/TrainingJobs"

    def __init__(self, job: TrainingJob, platform: Platform) -> None:
        super().__init__(job, platform)
        self.job = job
        self._placement = 0
        self._scanner = MetricScanner(job.request["AlgorithmSpecification"].get("MetricDefinitions", []))
        self._containers: list[Container] = []

    def _run(self) -> None:
        try:
            ending = self._live()
            self._conclude(ending)
        except Exception as error:  # a full disk, most likely
            log.exception("training job %s failed inside the engine", self.job.name)
            with self.platform.lock:
                self.job.fail(f"{INTERNAL} (The offline account: {error})", self._now())
                self.platform.changed(self.job)
        finally:
            self._clear()

    def _live(self) -> Ending:
        """Run on instances, again after each interruption, until there is an end."""
        retries = self.job.request.get("RetryStrategy", {}).get("MaximumRetryAttempts", 0)
        while True:
            ending = self._on_instances()
            if ending.cause == "interrupted":
                self._enter("Interrupted", "Training job interrupted")
            elif ending.cause == "internal" and retries:
                retries -= 1
                self._enter("Restarting", "Restarting the training job after an internal error")
            else:
                return ending
            if early := self._wait_in_phase():
                return early
            self._enter("Starting", "Launching requested ML instances")

    def _on_instances(self) -> Ending:
        if early := self._wait_in_phase():
            return early
        fault = self.platform.faults.take(AT_START, self.job.name)
        if fault is not None:
            return Ending("capacity" if fault.do == "capacity_error" else "internal")
        self._enter("Downloading", "Downloading the training image")
        self._containers = self._lay_out()
        try:
            self._download()
        except ValueError as error:
            return Ending("data", reason=str(error))
        if early := self._wait_in_phase():
            return early
        agents = self._agents()
        hold = Hold.prepare(self._containers, self.platform.faults, self.job.name, self._kinds())
        self._enter("Training", "Training image download completed. Training in progress.")
        cluster = Cluster(self._containers, self.folder)
        for agent in agents:
            agent.start()
        try:
            ending = self._watch(cluster, hold, agents)
        finally:
            cluster.kill()
            self._read(cluster)
        for agent in agents:
            agent.finish(sync=ending.cause not in ("killed", "internal"))
        return ending

    def _watch(self, cluster: Cluster, hold: Hold, agents: list[CheckpointAgent]) -> Ending:
        while True:
            status = cluster.poll()
            self._read(cluster)
            if status is not None:
                return Ending("exited", status)
            if early := self._early():
                if early.cause != "closing":
                    self.request_stop()  # a job that ran out of time is Stopping during its grace, too
                self._end_hosts(cluster)
                return early
            step = hold.reached()
            elapsed_s = self._now() - cluster.started
            while fault := self.platform.faults.take(self._kinds(), self.job.name, step=step, elapsed_s=elapsed_s):
                if ending := self._strike(fault, cluster, agents):
                    return ending
            hold.release(step)
            self.stop_requested.wait(self.platform.settings.poll_s)

    def _strike(self, fault: Fault, cluster: Cluster, agents: list[CheckpointAgent]) -> Ending | None:
        """Carry a fault out. Returns the ending when the container does not go on."""
        match fault.do:
            case "interrupt":
                self._end_hosts(cluster)
                return Ending("interrupted")
            case "capacity_error":  # taken away, and no other to be had
                self._end_hosts(cluster)
                self._enter("Interrupted", "Training job interrupted")
                return Ending("capacity")
            case "kill":
                cluster.kill()
                return Ending("killed", KILLED)
            case "internal_error":
                cluster.kill()
                return Ending("internal")
            case "stop":
                self.request_stop()
                self._end_hosts(cluster)
                return Ending("stopped")
            case "sync_stall":
                for agent in agents:
                    agent.stall()
        return None

    def request_stop(self) -> None:
        """StopTrainingJob."""
        with self.platform.lock:
            if self.job.status == "InProgress":
                self._enter("Stopping", "Stopping the training job", status="Stopping")
        self.stop_requested.set()

    def _kinds(self) -> tuple[str, ...]:
        """Faults that can strike while this job runs: only Spot instances are reclaimed."""
        possible = [kind for kind in WHILE_RUNNING if kind != "out_of_memory"]
        return tuple(kind for kind in possible if kind not in ("interrupt", "capacity_error") or self.job.spot)

    def _wait_in_phase(self) -> Ending | None:
        self._pause(self.platform.settings.phase_s)
        return self._early()

    def _early(self) -> Ending | None:
        """Whether the job has to end now, whatever its container does."""
        if self.platform.closing.is_set():
            return Ending("closing")
        if self.stop_requested.is_set():
            return Ending("stopped")
        condition, now = self.job.request["StoppingCondition"], self._now()
        if self.job.seconds_on_instances(now) > condition["MaxRuntimeInSeconds"]:
            return Ending("max_runtime")
        if self.job.spot and now - self.job.created > condition["MaxWaitTimeInSeconds"]:
            return Ending("max_wait")
        return None

    def _lay_out(self) -> list[Container]:
        """New, empty /opt/ml on each host: nothing survives on the disk of instances that were taken away."""
        self._clear()
        self._placement += 1
        return [
            training_container(
                self.job.request,
                arn=self.job.arn,
                root=self._fresh_folder(f"p{self._placement}/algo-{host + 1}") / "ml",
                host=host,
                aws=self.platform.aws,
            )
            for host in range(self.job.request["ResourceConfig"]["InstanceCount"])
        ]

    def _clear(self) -> None:
        shutil.rmtree(self.folder / f"p{self._placement}", ignore_errors=True)

    def _download(self) -> None:
        """Raises `ValueError` with AWS's words for a channel without objects."""
        for host, container in enumerate(self._containers):
            for channel in self.job.request.get("InputDataConfig", []):
                objects = channel_objects(self.platform.objects, channel, host=host, num_hosts=len(self._containers))
                download(self.platform.objects, iter(objects), container.root / "input/data" / channel["ChannelName"])

    def _agents(self) -> list[CheckpointAgent]:
        """One per host, as on SageMaker; each restores everything."""
        config = self.job.request.get("CheckpointConfig")
        if config is None:
            return []
        prefix = S3Uri.parse(config["S3Uri"])
        agents = []
        for host, container in enumerate(self._containers):
            folder = container.path(config.get("LocalPath", "/opt/ml/checkpoints"))
            folder.mkdir(parents=True, exist_ok=True)
            restore(self.platform.objects, prefix, folder)
            agents.append(
                CheckpointAgent(
                    self.platform.objects,
                    folder,
                    prefix,
                    seed=f"{self.job.name} {self._placement} {host}",
                    interval_s=self.platform.settings.sync_interval_s,
                )
            )
        return agents

    def _read(self, cluster: Cluster) -> None:
        for line in self._pump(cluster):
            for name, value in self._scanner.scan(line):
                with self.platform.lock:
                    self.job.record(name, value, self._now())

    def _conclude(self, ending: Ending) -> None:
        if ending.cause == "exited" and ending.status == 0:
            self._enter("Uploading", "Uploading generated training model")
            self._upload_artifacts()
            self._clear()
            self._enter("Completed", "Training job completed", status="Completed")
        elif ending.cause in ("stopped", "max_runtime", "max_wait"):
            self.request_stop()
            self._upload_artifacts()
            self._clear()
            secondary, message = {
                "stopped": ("Stopped", "Training job stopped"),
                "max_runtime": ("MaxRuntimeExceeded", "Training job runtime exceeded MaxRuntimeInSeconds provided"),
                "max_wait": ("MaxWaitTimeExceeded", "Training job runtime exceeded MaxWaitTimeInSeconds provided"),
            }[ending.cause]
            self._enter(secondary, message, status="Stopped")
        else:
            failure = self._failure_file()
            self._clear()
            with self.platform.lock:
                self.job.fail(failure_reason(ending, failure), self._now())
                self.platform.changed(self.job)

    def _upload_artifacts(self) -> None:
        if self._containers:
            target = S3Uri.parse(self.job.request["OutputDataConfig"]["S3OutputPath"]) / self.job.name / "output"
            model = upload_artifacts(self.platform.objects, self._containers[0].root, target)
            self.job.model_artifacts = str(model)

    def _failure_file(self) -> str:
        """What the first host that wrote one left in /opt/ml/output/failure."""
        for container in self._containers:
            with suppress(OSError):
                return (container.root / "output" / "failure").read_text(errors="replace")
        return ""

    def _enter(self, secondary: str, message: str, *, status: str | None = None) -> None:
        with self.platform.lock:
            self.job.enter(secondary, message, self._now(), status=status)
            self.platform.changed(self.job)


def failure_reason(ending: Ending, failure_file: str) -> str:
    """FailureReason as SageMaker words it. `failure_file` is what /opt/ml/output/failure holds."""
    match ending.cause:
        case "capacity":
            return CAPACITY
        case "internal":
            return INTERNAL
        case "closing":
            return CUT_OFF
        case "data":
            return f"ClientError: {ending.reason}"
    if failure_file and ending.cause != "killed":
        return f"AlgorithmError: {failure_file.strip()}, exit code: {ending.status}"
    return f"AlgorithmError: ExecuteUserScriptError:\nExitCode {ending.status}, exit code: {ending.status}"
