"""Records of training and processing jobs: what Describe and List answer from.

Times are seconds since the epoch. All figures that AWS derives (training and billable seconds, start and end) are
derived here from the transitions, so that they cannot disagree with them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

__all__ = ["ENDED", "Metric", "ProcessingJob", "TrainingJob", "Transition"]

ENDED = ("Completed", "Failed", "Stopped")
_ON_INSTANCES = ("Downloading", "Training", "Uploading", "Stopping")
"""Secondary statuses during which the job has instances, and pays for them. Waiting for capacity is free."""
_MAX_REASON = 1024


@dataclass(kw_only=True)
class Transition:
    """One entry of SecondaryStatusTransitions."""

    status: str
    start: float
    message: str
    end: float | None = None


@dataclass(kw_only=True)
class Metric:
    """One entry of FinalMetricDataList: the last value that the log has shown."""

    name: str
    value: float
    time: float


@dataclass(kw_only=True)
class TrainingJob:
    """A training job from Create to its end.

    Attributes:
        request: the CreateTrainingJob request, defaults filled in.
        billed_share: what a second on Spot is billed as. AWS reports BillableTimeInSeconds in seconds at the
            on-demand price ("Training seconds: 1921, Billable seconds: 714").
    """

    request: dict[str, Any]
    arn: str
    created: float
    billed_share: float = 1.0
    status: str = "InProgress"
    transitions: list[Transition] = field(default_factory=list)
    failure_reason: str | None = None
    metrics: list[Metric] = field(default_factory=list)
    model_artifacts: str | None = None
    modified: float = 0.0

    @property
    def name(self) -> str:
        return str(self.request["TrainingJobName"])

    @property
    def secondary(self) -> str:
        return self.transitions[-1].status

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    @property
    def spot(self) -> bool:
        return bool(self.request.get("EnableManagedSpotTraining"))

    def enter(self, secondary: str, message: str, now: float, *, status: str | None = None) -> None:
        """Move to another secondary status, and status where given."""
        if self.transitions:
            self.transitions[-1].end = now
        end = now if status in ENDED else None
        self.transitions.append(Transition(status=secondary, start=now, message=message, end=end))
        self.status = status or self.status
        self.modified = now

    def fail(self, reason: str, now: float) -> None:
        self.failure_reason = reason[:_MAX_REASON]
        self.enter("Failed", "Training job failed", now, status="Failed")

    def record(self, name: str, value: float, now: float) -> None:
        """Keep a metric's newest value."""
        self.metrics = [metric for metric in self.metrics if metric.name != name]
        self.metrics.append(Metric(name=name, value=value, time=now))

    def seconds_on_instances(self, now: float) -> float:
        """Seconds that the job has had instances, over all restarts."""
        return sum(
            (now if transition.end is None else transition.end) - transition.start
            for transition in self._on_instances()
        )

    def describe(self) -> dict[str, Any]:
        """DescribeTrainingJob."""
        given = {key: value for key, value in self.request.items() if key != "Tags"}
        answer = given | {
            "TrainingJobArn": self.arn,
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
            "SecondaryStatusTransitions": [_transition(transition) for transition in self.transitions],
            "CreationTime": _time(self.created),
            "LastModifiedTime": _time(self.modified),
            "FailureReason": self.failure_reason,
            "FinalMetricDataList": [
                {"MetricName": metric.name, "Value": metric.value, "Timestamp": _time(metric.time)}
                for metric in self.metrics
            ],
        }
        if self.model_artifacts:
            answer["ModelArtifacts"] = {"S3ModelArtifacts": self.model_artifacts}
        if on_instances := self._on_instances():
            answer["TrainingStartTime"] = _time(on_instances[0].start)
        if self.ended:
            answer["TrainingEndTime"] = _time(self.modified)
            seconds = self.seconds_on_instances(self.modified)
            answer["TrainingTimeInSeconds"] = _whole(seconds)
            answer["BillableTimeInSeconds"] = _whole(seconds * (self.billed_share if self.spot else 1.0))
        return {key: value for key, value in answer.items() if value not in (None, [])}

    def summary(self) -> dict[str, Any]:
        """An entry of ListTrainingJobs."""
        answer = {
            "TrainingJobName": self.name,
            "TrainingJobArn": self.arn,
            "CreationTime": _time(self.created),
            "LastModifiedTime": _time(self.modified),
            "TrainingJobStatus": self.status,
            "SecondaryStatus": self.secondary,
        }
        return answer | ({"TrainingEndTime": _time(self.modified)} if self.ended else {})

    def _on_instances(self) -> list[Transition]:
        """A job that is stopped while it waits for instances never has any."""
        found = [transition for transition in self.transitions if transition.status in _ON_INSTANCES]
        return [] if all(transition.status == "Stopping" for transition in found) else found

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        transitions = [Transition(**transition) for transition in values.pop("transitions")]
        metrics = [Metric(**metric) for metric in values.pop("metrics")]
        return cls(**values, transitions=transitions, metrics=metrics)


@dataclass(kw_only=True)
class ProcessingJob:
    """A processing job from Create to its end. `request`: CreateProcessingJob, defaults filled in."""

    request: dict[str, Any]
    arn: str
    created: float
    status: str = "InProgress"
    started: float | None = None
    modified: float = 0.0
    failure_reason: str | None = None
    exit_message: str | None = None

    @property
    def name(self) -> str:
        return str(self.request["ProcessingJobName"])

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def enter(self, status: str, now: float, *, failure_reason: str | None = None) -> None:
        self.status = status
        self.modified = now
        self.failure_reason = failure_reason[:_MAX_REASON] if failure_reason else None

    def describe(self) -> dict[str, Any]:
        """DescribeProcessingJob."""
        given = {key: value for key, value in self.request.items() if key != "Tags"}
        answer = given | {
            "ProcessingJobArn": self.arn,
            "ProcessingJobStatus": self.status,
            "CreationTime": _time(self.created),
            "LastModifiedTime": _time(self.modified),
            "ProcessingStartTime": _time(self.started) if self.started else None,
            "ProcessingEndTime": _time(self.modified) if self.ended else None,
            "FailureReason": self.failure_reason,
            "ExitMessage": self.exit_message,
        }
        return {key: value for key, value in answer.items() if value is not None}

    def summary(self) -> dict[str, Any]:
        """An entry of ListProcessingJobs."""
        kept = ("ProcessingJobName", "ProcessingJobArn", "CreationTime", "ProcessingEndTime", "LastModifiedTime",
                "ProcessingJobStatus", "FailureReason", "ExitMessage")  # fmt: skip
        return {key: value for key, value in self.describe().items() if key in kept}

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def _transition(transition: Transition) -> dict[str, Any]:
    answer = {
        "Status": transition.status,
        "StartTime": _time(transition.start),
        "StatusMessage": transition.message,
    }
    return answer | ({"EndTime": _time(transition.end)} if transition.end is not None else {})


def _whole(seconds: float) -> int:
    """Whole seconds, as AWS reports them; whoever had instances had them for a second at least."""
    return max(1, round(seconds)) if seconds > 0 else 0


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(round(seconds, 3), UTC)
