"""The AWS that a state machine calls, in memory and in the interpreter's virtual time.

Training jobs follow a script: each Create takes the next `Fate`. What the container would write (progress.json) follows
from how long a job has trained, so that any interruption at any time gives a true picture.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from botocore.model import ServiceModel
from botocore.session import get_session
from botocore.validate import ParamValidator

from infra.offline.clock import VirtualClock
from infra.offline.states import StatesError, TaskContext
from infra.offline.states.services import split_resource

__all__ = ["FakeAws", "Fate"]

CHECKPOINT_STEPS = 50
"""Steps between two checkpoints: what was learned since the last one is lost with the instance."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What becomes of one CreateTrainingJob."""

    refusal: tuple[str, str] | None = None
    """Error and Cause with which Create itself fails."""
    made_all_the_same: bool = False
    """The refusal is a lost answer: the job exists."""
    waits_s: float = 120
    trains_s: float = float("inf")
    """Then it ends as below, unless its work was done before."""
    status: str = "Failed"
    secondary: str = "Failed"
    failure: str = "slipstream exit=75 step=0 interrupted"
    interrupted_after_s: float | None = None
    """Taken away and given back inside the job after so much training; back after `waits_s`."""
    billed_share: float = 0.35
    """Of the seconds trained, on Spot: AWS bills the discount as time."""


@dataclass
class Job:
    """A training job between its Create and for ever."""

    request: dict[str, Any]
    fate: Fate
    created: float
    start_step: int
    stopped: float | None = None

    @property
    def name(self) -> str:
        return str(self.request["TrainingJobName"])

    @property
    def fence(self) -> int:
        return int(self.request["Environment"]["SLIPSTREAM_FENCE"])


@dataclass
class FakeAws:
    """Services for `run_execution`.

    Args:
        fates: of the first, second ... Create; jobs after the last one train to the end.
        total_steps: the work; `steps_per_s` of it each second.
    """

    clock: VirtualClock
    fates: Iterable[Fate] = ()
    total_steps: int = 3600
    steps_per_s: float = 1.0
    metrics: dict[str, float] = field(default_factory=lambda: {"validation:auc": 0.7})
    executions: dict[str, str] = field(default_factory=dict)
    """Status by ARN, for DescribeExecution."""
    parameters: dict[str, str] = field(default_factory=dict)
    prepare_failures: list[tuple[str, str]] = field(default_factory=list)
    prepares_stopped: int = 0
    """So many processing jobs are stopped and yet come back as a success."""
    outages: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Action -> (from, to) in epoch seconds during which it cannot be reached."""

    def __post_init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.jobs: dict[str, Job] = {}
        self.calls: list[tuple[str, Any]] = []
        self.messages: list[dict[str, str]] = []
        self.processing: list[dict[str, Any]] = []
        self._fates = deque(self.fates)
        self._saved = 0  # newest checkpoint in S3
        self._etag = 0

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        service, action = split_resource(resource)
        self.calls.append((action, arguments))
        start, end = self.outages.get(action, (0.0, 0.0))
        if start <= self.clock.now() < end:
            raise StatesError("SageMaker.SdkClientException", "Unable to execute HTTP request: connect timed out")
        service = service.rpartition(":")[2]
        if service in ("sagemaker", "s3"):
            _validate(service, action.removesuffix(".sync"), arguments)
        return getattr(self, "_" + re.sub(r"\W", "_", action))(arguments)

    def count(self, action: str) -> int:
        return sum(name == action for name, _ in self.calls)

    def document(self, key: str) -> Any:
        """An object of the artifacts bucket."""
        return self.objects[f"artifacts-bucket/{key}"]

    # -- S3, SSM, SNS, Step Functions --------------------------------------------------------------------------------

    def _putObject(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        key = f"{request['Bucket']}/{request['Key']}"
        there = key in self.objects
        stale = "IfMatch" in request and request["IfMatch"] != self._tags.get(key)
        if ("IfNoneMatch" in request and there) or stale:
            raise StatesError("S3.S3Exception", "At least one of the preconditions did not hold (Status Code: 412)")
        self.objects[key] = request["Body"]
        self._etag += 1
        self._tags[key] = f'"{self._etag}"'
        return {"ETag": self._tags[key]}

    @property
    def _tags(self) -> dict[str, str]:
        return self.__dict__.setdefault("_tags_by_key", {})  # type: ignore[no-any-return]

    def _getObject(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        key = f"{request['Bucket']}/{request['Key']}"
        if key.endswith("/progress.json") and key not in self.objects and self.jobs:
            return {"Body": json.dumps(self._progress()), "ETag": '"p"'}
        if key not in self.objects:
            raise StatesError("S3.NoSuchKeyException", "The specified key does not exist. (Status Code: 404)")
        return {"Body": json.dumps(self.objects[key]), "ETag": self._tags.get(key, '"0"')}

    def _listObjectsV2(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        prefix = f"{request['Bucket']}/{request['Prefix']}"
        return {"KeyCount": sum(key.startswith(prefix) for key in self.objects)}

    def _getParameter(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        if request["Name"] not in self.parameters:
            raise StatesError("Ssm.ParameterNotFoundException", "(Service: Ssm, Status Code: 400)")
        return {"Parameter": {"Value": self.parameters[request["Name"]]}}

    def _publish(self, request: dict[str, Any]) -> dict[str, Any]:
        self.messages.append(request)
        return {"MessageId": str(len(self.messages))}

    def _describeExecution(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        if request["ExecutionArn"] not in self.executions:
            raise StatesError("Sfn.ExecutionDoesNotExistException", "Execution does not exist")
        return {"Status": self.executions[request["ExecutionArn"]]}

    # -- SageMaker ---------------------------------------------------------------------------------------------------

    def _createProcessingJob_sync(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        self.processing.append(request)
        if self.prepare_failures:
            raise StatesError(*self.prepare_failures.pop(0))
        if self.prepares_stopped:
            self.prepares_stopped -= 1
            return {"ProcessingJobStatus": "Stopped"}
        prepared = request["Environment"]["SLIPSTREAM_PREPARED"].removeprefix("s3://")
        self.objects[f"{prepared}MANIFEST.json"] = {"rows": 10}
        return {"ProcessingJobStatus": "Completed"}

    def _createTrainingJob(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        name = request["TrainingJobName"]
        if name in self.jobs:
            raise StatesError("SageMaker.ResourceInUseException", "Training job names must be unique")
        fate = self._fates.popleft() if self._fates else Fate()
        if fate.refusal is None or fate.made_all_the_same:
            self._save()
            self.jobs[name] = Job(request, fate, self.clock.now(), self._saved)
        if fate.refusal is not None:
            raise StatesError(*fate.refusal)
        return {"TrainingJobArn": f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{name}"}

    def _stopTrainingJob(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        self.stop(request["TrainingJobName"])
        return {}

    def stop(self, name: str) -> None:
        """StopTrainingJob, by the machine or by a person."""
        job = self.jobs[name]
        if self._describe(job)["TrainingJobStatus"] not in ("InProgress", "Stopping"):
            raise StatesError("SageMaker.SageMakerException", "The job has ended (Status Code: 400)")
        job.stopped = job.stopped or self.clock.now()

    def _listTrainingJobs(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        names = [
            name
            for name, job in self.jobs.items()
            if request["NameContains"] in name and self._describe(job)["TrainingJobStatus"] == request["StatusEquals"]
        ]
        return {"TrainingJobSummaries": [{"TrainingJobName": name} for name in names]}

    def _listProcessingJobs(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        return {"ProcessingJobSummaries": []}

    def _describeTrainingJob(self, request: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        job = self.jobs.get(request["TrainingJobName"])
        if job is None:
            raise StatesError("SageMaker.SageMakerException", "Requested resource not found. (Status Code: 400)")
        return self._describe(job)

    def running(self) -> list[str]:
        """Jobs that still cost money."""
        return [
            n for n, job in self.jobs.items() if self._describe(job)["TrainingJobStatus"] in ("InProgress", "Stopping")
        ]

    def _describe(self, job: Job) -> dict[str, Any]:
        now, spans, ending = self.clock.now(), self._spans(job), self._ending(job)
        over = now >= ending["at"]
        seen = [(status, start, end) for status, start, end in spans if start <= now]
        status = ending["status"] if over else "Stopping" if job.stopped is not None else "InProgress"
        secondary = ending["secondary"] if over else "Stopping" if status == "Stopping" else seen[-1][0]
        transitions = [
            {"Status": s, "StatusMessage": "", "StartTime": _iso(a), **({"EndTime": _iso(b)} if b <= now else {})}
            for s, a, b in seen
        ]
        if over:
            transitions.append({"Status": secondary, "StatusMessage": "", "StartTime": _iso(ending["at"])})
        trained = self._trained(job, min(now, ending["at"]))
        answer = {
            "TrainingJobName": job.name,
            "TrainingJobStatus": status,
            "SecondaryStatus": secondary,
            "SecondaryStatusTransitions": transitions,
            "CreationTime": _iso(job.created),
            "LastModifiedTime": _iso(min(now, ending["at"])),
        }
        if trained > 0:
            answer["TrainingStartTime"] = _iso(job.created + job.fate.waits_s)
        if over:
            answer |= {"TrainingEndTime": _iso(ending["at"]), "TrainingTimeInSeconds": round(trained)}
            answer |= {"BillableTimeInSeconds": round(trained * self._share(job))}
            answer |= {"FailureReason": ending["failure"]} if ending["failure"] else {}
        if over and status == "Completed":
            model = f"{job.request['OutputDataConfig']['S3OutputPath']}{job.name}/output/model.tar.gz"
            answer["ModelArtifacts"] = {"S3ModelArtifacts": model}
        return answer

    def _share(self, job: Job) -> float:
        return job.fate.billed_share if job.request.get("EnableManagedSpotTraining") else 1.0

    def _spans(self, job: Job) -> list[tuple[str, float, float]]:
        """(secondary status, from, to), as if it went on for ever."""
        begun = job.created + job.fate.waits_s
        spans = [("Starting", job.created, begun)]
        if job.fate.interrupted_after_s is None:
            return [*spans, ("Training", begun, float("inf"))]
        cut = begun + job.fate.interrupted_after_s
        back = cut + job.fate.waits_s
        return [*spans, ("Training", begun, cut), ("Interrupted", cut, back), ("Training", back, float("inf"))]

    def _ending(self, job: Job) -> dict[str, Any]:
        fate, limits = job.fate, job.request["StoppingCondition"]
        begun = job.created + fate.waits_s
        lost_s = 0.0
        if fate.interrupted_after_s is not None:
            learned = int(fate.interrupted_after_s * self.steps_per_s)
            lost_s = fate.waits_s + (learned - _checkpoint(learned)) / self.steps_per_s
        work_s = (self.total_steps - job.start_step) / self.steps_per_s + lost_s
        ends = [
            (begun + work_s, "Completed", "Completed", ""),
            (begun + fate.trains_s, fate.status, fate.secondary, fate.failure),
            (begun + limits["MaxRuntimeInSeconds"], "Stopped", "MaxRuntimeExceeded", ""),
            (job.created + limits.get("MaxWaitTimeInSeconds", float("inf")), "Stopped", "MaxWaitTimeExceeded", ""),
            (job.stopped + 30 if job.stopped is not None else float("inf"), "Stopped", "Stopped", ""),
        ]
        return dict(zip(("at", "status", "secondary", "failure"), min(ends, key=lambda end: end[0]), strict=True))

    def _trained(self, job: Job, until: float) -> float:
        return sum(max(0.0, min(end, until) - start) for status, start, end in self._spans(job) if status == "Training")

    # -- what the container writes -----------------------------------------------------------------------------------

    def _save(self) -> None:
        """Bring the newest checkpoint up to now: a job that was told to stop saves its last step, a killed one not."""
        for job in self.jobs.values():
            ending = self._ending(job)
            now = min(self.clock.now(), ending["at"])
            spans = [(s, max(a, job.created), min(b, now)) for s, a, b in self._spans(job) if a < now]
            step = job.start_step
            for status, start, end in spans:
                if status == "Interrupted":
                    step = _checkpoint(step)
                elif status == "Training":
                    step += int((end - start) * self.steps_per_s + 1e-6)
            over = self.clock.now() >= ending["at"]
            whole = over and (ending["status"] in ("Completed", "Stopped") or "exit=75" in ending["failure"])
            self._saved = max(self._saved, min(self.total_steps, step if whole else _checkpoint(step)))

    def _progress(self) -> dict[str, Any]:
        self._save()
        done = self._saved >= self.total_steps
        spoke = [job for job in self.jobs.values() if self.clock.now() > job.created + job.fate.waits_s]
        return {
            "step": self._saved,
            "total_steps": self.total_steps,
            "steps_per_s": self.steps_per_s if self._saved else None,
            "done": done,
            "metrics": self.metrics if done else {},
            "weights_digest": "d1" * 32 if done else None,
            "live_step": self._saved,
            "saved_step": self._saved,
            "start_step": spoke[-1].start_step if spoke else 0,
            "attempt": spoke[-1].fence if spoke else 0,
            "steps_redone": 0,
            "fence": max((job.fence for job in self.jobs.values()), default=0),
        }


def _checkpoint(step: int) -> int:
    return step - step % CHECKPOINT_STEPS


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def _model(service: str) -> ServiceModel:
    return get_session().get_service_model(service)


def _validate(service: str, action: str, arguments: dict[str, Any]) -> None:
    """Refuse what botocore's model of the API refuses, as AWS would."""
    operation = _model(service).operation_model(action[0].upper() + action[1:])
    if "Body" in arguments:  # Step Functions writes objects as JSON
        arguments = {**arguments, "Body": json.dumps(arguments["Body"])}
    report = ParamValidator().validate(arguments, operation.input_shape)
    if report.has_errors():
        raise StatesError(f"{service}.ValidationException", report.generate_report())
