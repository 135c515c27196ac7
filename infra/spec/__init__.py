"""Job files: what they may say, what it means, and what is wrong with one."""

from infra.spec.catalogue import InstanceType, catalogue
from infra.spec.execution import ExecutionInput
from infra.spec.job import Job
from infra.spec.load import apply_overrides, check_file, load_job, load_jobs
from infra.spec.problems import JobFileError, Problem
from infra.spec.sections import ExampleSource, S3Source

__all__ = [
    "ExampleSource",
    "ExecutionInput",
    "InstanceType",
    "Job",
    "JobFileError",
    "Problem",
    "S3Source",
    "apply_overrides",
    "catalogue",
    "check_file",
    "load_job",
    "load_jobs",
]
