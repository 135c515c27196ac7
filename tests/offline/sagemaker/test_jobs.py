"""What Describe derives from the transitions."""

from __future__ import annotations

import itertools
import json

from infra.offline.sagemaker.jobs import ProcessingJob, TrainingJob
from infra.offline.settings import Settings
from infra.spec import catalogue

from .requests import processing_request, spot_request


def job(*steps: tuple[str, float, str | None], share: float = 1.0) -> TrainingJob:
    """A Spot job that entered each (secondary status, time, status)."""
    made = TrainingJob(request=spot_request(), arn="arn:job", created=0.0, billed_share=share)
    for secondary, time_s, status in steps:
        made.enter(secondary, f"{secondary} it is", time_s, status=status)
    return made


COMPLETED = (
    ("Starting", 0.0, None),
    ("Downloading", 100.0, None),
    ("Training", 110.0, None),
    ("Interrupted", 210.0, None),
    ("Starting", 300.0, None),
    ("Downloading", 400.0, None),
    ("Training", 410.0, None),
    ("Uploading", 500.0, None),
    ("Completed", 505.0, "Completed"),
)


def test_waiting_for_instances_costs_nothing() -> None:
    described = job(*COMPLETED).describe()
    assert described["TrainingTimeInSeconds"] == (210 - 100) + (505 - 400)
    assert described["BillableTimeInSeconds"] == described["TrainingTimeInSeconds"]
    assert described["TrainingStartTime"].timestamp() == 100
    assert described["TrainingEndTime"].timestamp() == 505


def test_spot_seconds_can_be_billed_at_a_share() -> None:
    described = job(*COMPLETED, share=0.4).describe()
    assert (described["TrainingTimeInSeconds"], described["BillableTimeInSeconds"]) == (215, 86)


def test_the_account_bills_spot_as_the_catalogue_prices_it() -> None:
    assert Settings().spot_billed_share == catalogue.spot_share


def test_a_job_that_never_had_instances_costs_nothing() -> None:
    described = job(("Starting", 0.0, None), ("Stopping", 5.0, "Stopping"), ("Stopped", 9.0, "Stopped")).describe()
    assert (described["TrainingTimeInSeconds"], described["BillableTimeInSeconds"]) == (0, 0)
    assert "TrainingStartTime" not in described


def test_figures_come_at_the_end_only() -> None:
    described = job(*COMPLETED[:3]).describe()
    assert described["TrainingJobStatus"] == "InProgress"
    assert described["SecondaryStatus"] == "Training"
    assert not {"BillableTimeInSeconds", "TrainingTimeInSeconds", "TrainingEndTime", "ModelArtifacts"} & set(described)


def test_transitions_join_without_gaps() -> None:
    transitions = job(*COMPLETED).describe()["SecondaryStatusTransitions"]
    assert [transition["Status"] for transition in transitions] == [secondary for secondary, _, _ in COMPLETED]
    assert all(earlier["EndTime"] == later["StartTime"] for earlier, later in itertools.pairwise(transitions))
    assert transitions[-1]["EndTime"] == transitions[-1]["StartTime"]


def test_only_the_newest_value_of_a_metric_is_kept() -> None:
    made = job(*COMPLETED[:3])
    for value in (0.5, 0.7):
        made.record("validation:auc", value, 120.0)
    made.record("validation:loss", 0.1, 120.0)
    assert [(item["MetricName"], item["Value"]) for item in made.describe()["FinalMetricDataList"]] == [
        ("validation:auc", 0.7),
        ("validation:loss", 0.1),
    ]


def test_failure_reasons_are_cut_where_aws_cuts_them() -> None:
    made = job(*COMPLETED[:3])
    made.fail("x" * 2000, 200.0)
    assert len(made.describe()["FailureReason"]) == 1024


def test_records_survive_as_json() -> None:
    made = job(*COMPLETED)
    made.record("validation:auc", 0.7, 120.0)
    assert TrainingJob.from_json(json.loads(json.dumps(made.to_json()))) == made
    processing = ProcessingJob(request=processing_request(), arn="arn:job", created=0.0)
    processing.enter("Failed", 5.0, failure_reason="AlgorithmError")
    assert ProcessingJob.from_json(json.loads(json.dumps(processing.to_json()))) == processing
