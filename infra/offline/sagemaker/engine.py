"""SageMaker's API for training and processing jobs, over real processes.

Plain functions over request dictionaries, so that it can be tested without a server and put behind any emulator.
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..faults import AT_CREATE, Faults
from ..files import write_atomically
from ..settings import Settings
from .errors import limit_exceeded, not_found, resource_in_use, throttled, validation
from .jobs import ENDED, ProcessingJob, TrainingJob
from .listing import list_jobs
from .objects import ObjectStore
from .platform import LogSink, Platform
from .processing import ProcessingThread
from .rules import accept_processing_job, accept_training_job
from .shapes import check_request
from .training import CUT_OFF, TrainingThread

__all__ = ["Engine"]

log = logging.getLogger(__name__)

Request = Mapping[str, Any]
Job = TrainingJob | ProcessingJob

_RECORD = "job.json"


class Engine:
    """The jobs of one account and region.

    Args:
        folder: where jobs have their folders and records. Jobs found there are known again.
        aws: variables that point containers' AWS clients at the account.
        on_change: called after each change of a job's status, with the job's lock held: be quick.
    """

    def __init__(
        self,
        folder: Path,
        *,
        region: str,
        account: str,
        objects: ObjectStore,
        logs: LogSink,
        aws: Mapping[str, str],
        faults: Faults,
        settings: Settings | None = None,
        on_change: Callable[[Job], None] = lambda job: None,
    ) -> None:
        self._platform = Platform(
            folder=folder,
            objects=objects,
            logs=logs,
            faults=faults,
            settings=settings or Settings(),
            aws=aws,
            changed=self._changed,
        )
        self._arn = f"arn:aws:sagemaker:{region}:{account}"
        self._on_change = on_change
        self._training: dict[str, TrainingJob] = {}
        self._processing: dict[str, ProcessingJob] = {}
        self._threads: dict[str, TrainingThread | ProcessingThread] = {}
        self.operations: dict[str, Callable[[Request], dict[str, Any]]] = {
            "CreateTrainingJob": self.create_training_job,
            "DescribeTrainingJob": self.describe_training_job,
            "ListTrainingJobs": self.list_training_jobs,
            "StopTrainingJob": self.stop_training_job,
            "CreateProcessingJob": self.create_processing_job,
            "DescribeProcessingJob": self.describe_processing_job,
            "ListProcessingJobs": self.list_processing_jobs,
            "StopProcessingJob": self.stop_processing_job,
        }
        self._recall()

    def create_training_job(self, request: Request) -> dict[str, Any]:
        """Start a training job. Raises `SageMakerError` as AWS would, or as a fault wants it."""
        accepted = accept_training_job(request)
        name = accepted["TrainingJobName"]
        self._refuse_by_fault(accepted)
        arn = f"{self._arn}:training-job/{name}"
        with self._platform.lock:
            if name in self._training:
                raise resource_in_use("Training", arn)
            now = time.time()
            job = TrainingJob(
                request=accepted, arn=arn, created=now, billed_share=self._platform.settings.spot_billed_share
            )
            self._training[name] = job
            job.enter("Starting", "Starting the training job", now)
            self._changed(job)
            self._start(TrainingThread(job, self._platform))
        return {"TrainingJobArn": arn}

    def describe_training_job(self, request: Request) -> dict[str, Any]:
        with self._platform.lock:
            return self._training_job(request).describe()

    def list_training_jobs(self, request: Request) -> dict[str, Any]:
        check_request("ListTrainingJobs", dict(request))
        with self._platform.lock:
            page = list_jobs(self._training.values(), request)
        return {"TrainingJobSummaries": page.pop("summaries")} | page

    def stop_training_job(self, request: Request) -> dict[str, Any]:
        with self._platform.lock:
            job = self._training_job(request)
            if job.ended:
                raise validation(f"The request was rejected because the training job is in status {job.status}.")
            self._threads[job.arn].request_stop()
        return {}

    def create_processing_job(self, request: Request) -> dict[str, Any]:
        """Start a processing job. Raises `SageMakerError` as AWS would."""
        accepted = accept_processing_job(request)
        name = accepted["ProcessingJobName"]
        arn = f"{self._arn}:processing-job/{name}"
        with self._platform.lock:
            if name in self._processing:
                raise resource_in_use("Processing", arn)
            job = ProcessingJob(request=accepted, arn=arn, created=time.time())
            self._processing[name] = job
            job.enter("InProgress", job.created)
            self._changed(job)
            self._start(ProcessingThread(job, self._platform))
        return {"ProcessingJobArn": arn}

    def describe_processing_job(self, request: Request) -> dict[str, Any]:
        with self._platform.lock:
            return self._processing_job(request).describe()

    def list_processing_jobs(self, request: Request) -> dict[str, Any]:
        check_request("ListProcessingJobs", dict(request))
        with self._platform.lock:
            page = list_jobs(self._processing.values(), request)
        return {"ProcessingJobSummaries": page.pop("summaries")} | page

    def stop_processing_job(self, request: Request) -> dict[str, Any]:
        with self._platform.lock:
            job = self._processing_job(request)
            if job.ended:
                raise validation(f"The request was rejected because the processing job is in status {job.status}.")
            self._threads[job.arn].request_stop()
        return {}

    def tags(self, arn: str) -> list[dict[str, str]] | None:
        """A job's tags; None when the ARN is not a job's."""
        with self._platform.lock:
            job = self._by_arn(arn)
            return None if job is None else list(job.request.get("Tags", []))

    def set_tags(self, arn: str, tags: list[dict[str, str]]) -> None:
        """Replace a job's tags."""
        with self._platform.lock:
            job = self._by_arn(arn)
            assert job is not None, arn
            job.request["Tags"] = tags
            self._keep(job)

    def running(self) -> list[str]:
        """Names of the jobs that have not ended."""
        with self._platform.lock:
            return [job.name for job in self._jobs() if not job.ended]

    def close(self) -> None:
        """End every job at once, without grace. Returns when none of their processes is left."""
        self._platform.closing.set()
        threads = list(self._threads.values())
        for thread in threads:
            thread.wake()
        for thread in threads:
            thread.join()

    def _jobs(self) -> list[Job]:
        return [*self._training.values(), *self._processing.values()]

    def _training_job(self, request: Request) -> TrainingJob:
        job = self._training.get(request.get("TrainingJobName", ""))
        if job is None:
            raise not_found()
        return job

    def _processing_job(self, request: Request) -> ProcessingJob:
        job = self._processing.get(request.get("ProcessingJobName", ""))
        if job is None:
            raise not_found()
        return job

    def _refuse_by_fault(self, request: Request) -> None:
        fault = self._platform.faults.take(AT_CREATE, request["TrainingJobName"])
        if fault is None:
            return
        if fault.do == "throttle":
            raise throttled()
        resources = request["ResourceConfig"]
        usage = "spot training job usage" if request["EnableManagedSpotTraining"] else "training job usage"
        raise limit_exceeded(resources["InstanceType"], resources["InstanceCount"], market=usage)

    def _start(self, thread: TrainingThread | ProcessingThread) -> None:
        self._threads[thread.job.arn] = thread
        thread.start()

    def _by_arn(self, arn: str) -> Job | None:
        return next((job for job in self._jobs() if job.arn == arn), None)

    def _changed(self, job: Job) -> None:
        try:
            self._keep(job)
        except OSError:  # a full disk: the job goes on, it will only be forgotten with the account
            log.exception("cannot write the record of %s", job.name)
        if job.status in ENDED:
            self._threads.pop(job.arn, None)
        self._on_change(job)

    def _keep(self, job: Job) -> None:
        """Write the record, so that the job is known in the account's next life."""
        folder = self._platform.job_folder(job)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / _RECORD, json.dumps(job.to_json(), default=str))

    def _recall(self) -> None:
        """Read the jobs of earlier lives of the account. What had not ended was cut off when it died."""
        for path in sorted(self._platform.folder.glob(f"*/*/{_RECORD}")):
            values = json.loads(path.read_text())
            if "TrainingJobName" in values["request"]:
                training = TrainingJob.from_json(values)
                self._training[training.name] = training
                if not training.ended:
                    training.fail(CUT_OFF, time.time())
                    self._changed(training)
            else:
                processing = ProcessingJob.from_json(values)
                self._processing[processing.name] = processing
                if not processing.ended:
                    processing.enter("Failed", time.time(), failure_reason=CUT_OFF)
                    self._changed(processing)
            for leftover in path.parent.iterdir():
                if leftover.is_dir():  # disks of hosts that died with the account
                    shutil.rmtree(leftover, ignore_errors=True)
