"""The CDK app: job files in, stacks out.

Context (`cdk deploy -c name=value`, or cdk.json):
    jobs: pattern of the job files, relative to this folder; `jobs/*.yaml` by default.
    removal: `retain` (default) or `destroy`: what becomes of buckets and key when the storage stack is deleted.
"""

from __future__ import annotations

import sys
from pathlib import Path

from aws_cdk import App, RemovalPolicy, Tags, Validations
from cdk_nag import AwsSolutionsChecks

from infra.spec import JobFileError, load_jobs
from stacks import AccessStack, StorageStack, TrainingStack

PROJECT = Path(__file__).resolve().parent


def build(app: App, *, project: Path = PROJECT) -> App:
    """Put the stacks of all job files of `project` into `app`.

    Raises:
        JobFileError: with every problem found; keys that would silently be ignored are problems here.
    """
    jobs = load_jobs(project.glob(app.node.try_get_context("jobs") or "jobs/*.yaml"))
    if ignored := [problem for job in jobs for problem in job.unavailable()]:
        raise JobFileError(ignored)
    removal_policy = RemovalPolicy(str(app.node.try_get_context("removal") or "retain").upper())
    storage = StorageStack(app, "slipstream-storage", removal_policy=removal_policy)
    access = AccessStack(app, "slipstream-access", jobs=jobs, project=project, key=storage.key)
    training = TrainingStack(
        app, "slipstream-training", jobs=jobs, access=access.jobs, project=project, key=storage.key
    )
    # Names, not exports, lead from one to the next (infra/constructs/names.py): say the order aloud.
    access.add_stack_dependency(storage)
    training.add_stack_dependency(access)
    Tags.of(app).add("project", "slipstream")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


if __name__ == "__main__":
    try:
        build(App()).synth()
    except JobFileError as error:
        sys.exit("\n".join(str(problem) for problem in error.problems))
