"""The life of a processing job: fetch inputs, run, upload outputs."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from .cluster import Cluster
from .container import Container, processing_container
from .jobs import ProcessingJob
from .objects import S3Uri, below, download
from .platform import JobThread, Platform
from .training import CUT_OFF, INTERNAL

__all__ = ["ProcessingThread"]

log = logging.getLogger(__name__)


class ProcessingThread(JobThread):
    """Carries one processing job out."""

    log_group = "/aws/sagemaker/ProcessingJobs"

    def __init__(self, job: ProcessingJob, platform: Platform) -> None:
        super().__init__(job, platform)
        self.job = job
        self._containers: list[Container] = []

    def request_stop(self) -> None:
        """StopProcessingJob."""
        if self.job.status == "InProgress":
            self._enter("Stopping")
        self.stop_requested.set()

    def _run(self) -> None:
        try:
            self._live()
        except Exception as error:  # a full disk, most likely
            log.exception("processing job %s failed inside the engine", self.job.name)
            self._enter("Failed", reason=f"{INTERNAL} (The offline account: {error})")
        finally:
            for container in self._containers:
                shutil.rmtree(container.root.parent, ignore_errors=True)

    def _live(self) -> None:
        if self._pause(self.platform.settings.phase_s):
            self._enter("Stopped")
            return
        self._containers = [self._lay_out(host) for host in range(self._num_hosts())]
        try:
            for container in self._containers:
                self._download(container)
        except ValueError as error:
            self._enter("Failed", reason=f"ClientError: {error}")
            return
        with self.platform.lock:
            self.job.started = self._now()
        cluster = Cluster(self._containers, self.folder)
        try:
            status = self._watch(cluster)
        finally:
            cluster.kill()
            self._pump(cluster)
        self._conclude(status)

    def _watch(self, cluster: Cluster) -> int | str:
        """Exit status of the container, or why it was ended."""
        max_runtime_s = self.job.request["StoppingCondition"]["MaxRuntimeInSeconds"]
        while True:
            status = cluster.poll()
            self._pump(cluster)
            if status is not None:
                return status
            if self.stop_requested.is_set():
                self._end_hosts(cluster)
                return "closing" if self.platform.closing.is_set() else "stopped"
            if self._now() - cluster.started > max_runtime_s:
                self._end_hosts(cluster)
                return "max_runtime"
            self.stop_requested.wait(self.platform.settings.poll_s)

    def _conclude(self, status: int | str) -> None:
        message = self._exit_message()
        with self.platform.lock:
            self.job.exit_message = message
        if status == 0:
            self._upload()
            self._enter("Completed")
        elif status == "stopped":
            self._enter("Stopped")
        elif status == "closing":
            self._enter("Failed", reason=CUT_OFF)
        elif status == "max_runtime":
            self._enter("Stopped", reason="Job runtime exceeded MaxRuntimeInSeconds provided")
        else:
            self._enter("Failed", reason=f"AlgorithmError: {message or ''}, exit code: {status}")

    def _lay_out(self, host: int) -> Container:
        root = self._fresh_folder(f"algo-{host + 1}") / "ml"
        return processing_container(self.job.request, arn=self.job.arn, root=root, host=host, aws=self.platform.aws)

    def _download(self, container: Container) -> None:
        """Raises `ValueError` in SageMaker's words for an input without objects."""
        for item in self.job.request.get("ProcessingInputs", []):
            source = item["S3Input"]
            prefix = S3Uri.parse(source["S3Uri"])
            keys = self.platform.objects.list(prefix)
            if not keys:
                raise ValueError(f"No S3 objects found under S3 URL \"{prefix}\" given in input '{item['InputName']}'")
            objects = ((S3Uri(prefix.bucket, key), below(prefix.key, key)) for key in keys)
            download(self.platform.objects, objects, container.path(source["LocalPath"]))

    def _upload(self) -> None:
        for item in self.job.request.get("ProcessingOutputConfig", {}).get("Outputs", []):
            output = item["S3Output"]
            target = S3Uri.parse(output["S3Uri"])
            folder = self._containers[0].path(output["LocalPath"])
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                self.platform.objects.put(target / path.relative_to(folder).as_posix(), path)

    def _exit_message(self) -> str | None:
        """What the first host left in /opt/ml/output/message."""
        path: Path = self._containers[0].root / "output" / "message"
        with suppress(OSError):
            return path.read_text(errors="replace")[:1024] or None
        return None

    def _num_hosts(self) -> int:
        return int(self.job.request["ProcessingResources"]["ClusterConfig"]["InstanceCount"])

    def _enter(self, status: str, *, reason: str | None = None) -> None:
        with self.platform.lock:
            self.job.enter(status, self._now(), failure_reason=reason)
            self.platform.changed(self.job)
