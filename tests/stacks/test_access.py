"""Each role may do what its job needs, to its job's things."""

from __future__ import annotations

import json
from typing import Any

import pytest

Statement = dict[str, Any]


@pytest.fixture
def statements(templates: dict[str, Any]) -> dict[str, list[Statement]]:
    """Statements by role: execution and workflow role of flights."""
    found: dict[str, list[Statement]] = {}
    for name, resource in templates["slipstream-access"]["Resources"].items():
        if resource["Type"] == "AWS::IAM::Policy":
            role = "execution" if "Execution" in name else "workflow"
            found[role] = resource["Properties"]["PolicyDocument"]["Statement"]
    return found


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def resources(statements: list[Statement], action: str) -> list[str]:
    """Where an action is allowed, intrinsics written out as `<...>`."""
    return sorted(
        flat(resource)
        for statement in statements
        if action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    )


def flat(value: Any) -> str:
    if isinstance(value, dict) and "Fn::Join" in value:
        return "".join(flat(part) for part in value["Fn::Join"][1])
    if isinstance(value, dict):
        return f"<{next(iter(value.values()))}>".replace("AWS::", "")
    return str(value)


BUCKET = "arn:<Partition>:s3:::slipstream-<AccountId>-<Region>"


def test_the_execution_role_reaches_its_own_prefixes_only(statements: dict[str, list[Statement]]) -> None:
    put = resources(statements["execution"], "s3:PutObject")
    assert put == [f"{BUCKET}-artifacts/flights/*", f"{BUCKET}-checkpoints/flights/*", f"{BUCKET}-data/flights/*"]
    assert resources(statements["execution"], "s3:DeleteObject") == [f"{BUCKET}-checkpoints/flights/*"]


def test_the_execution_role_reads_one_code_bundle(statements: dict[str, list[Statement]]) -> None:
    (code,) = [arn for arn in resources(statements["execution"], "s3:GetObject") if "assets" in arn]
    assert code.endswith(".zip")


def test_the_execution_role_may_list_its_code_bundle(statements: dict[str, list[Statement]]) -> None:
    """CreateTrainingJob looks for the objects of each channel with ListBucket, and refuses the job without it."""
    (code,) = [arn for arn in resources(statements["execution"], "s3:GetObject") if "assets" in arn]
    bucket, _, key = code.partition("/")
    (listing,) = [s for s in statements["execution"] if bucket in resources([s], "s3:ListBucket")]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": key}}


def test_models_may_be_encrypted_with_the_key(statements: dict[str, list[Statement]]) -> None:
    for action in ("kms:Encrypt", "kms:GenerateDataKey", "kms:Decrypt", "kms:CreateGrant"):
        assert len(resources(statements["execution"], action)) == 1, action


@pytest.mark.parametrize("role", ["execution", "workflow"])
def test_listing_ends_at_the_jobs_prefix(statements: dict[str, list[Statement]], role: str) -> None:
    listing = [s for s in statements[role] if any(BUCKET in arn for arn in resources([s], "s3:ListBucket"))]
    assert listing
    # IfExists: a GetObject of what is not there has no prefix, and has to hear 404, not 403.
    assert all(s["Condition"] == {"StringLikeIfExists": {"s3:prefix": "flights/*"}} for s in listing)


def test_the_workflow_role_works_on_jobs_named_after_its_job(statements: dict[str, list[Statement]]) -> None:
    for verb in ("Create", "Describe", "Stop"):
        for kind in ("training", "processing"):
            action = f"sagemaker:{verb}{kind.capitalize()}Job"
            arns = resources(statements["workflow"], action)
            assert f"arn:<Partition>:sagemaker:<Region>:<AccountId>:{kind}-job/flights-*" in arns
            assert all("/flights-*" in arn for arn in arns)


def test_the_role_is_passed_to_sagemaker_only(statements: dict[str, list[Statement]]) -> None:
    (passing,) = [s for s in statements["workflow"] if s["Action"] == "iam:PassRole"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}}
    assert "FlightsExecution" in json.dumps(passing["Resource"]).replace("flightsExecution", "FlightsExecution")


def test_sync_has_its_managed_rule(statements: dict[str, list[Statement]]) -> None:
    rule = "arn:<Partition>:events:<Region>:<AccountId>:rule/StepFunctionsGetEventsForSageMakerProcessingJobsRule"
    for action in ("events:PutTargets", "events:PutRule", "events:DescribeRule"):
        assert resources(statements["workflow"], action) == [rule]


def test_the_machine_may_do_what_its_states_call(
    templates: dict[str, Any], statements: dict[str, list[Statement]]
) -> None:
    """Every integration in the definition has a statement: a missing one shows only in a run on AWS."""
    from tests.stacks.lint import machines

    definition = next(d for name, d in machines(templates["slipstream-training"]) if "Flights" in name)
    allowed = {action.lower() for s in statements["workflow"] for action in as_list(s["Action"])}
    called = {resource.split(":states:::")[1] for resource in task_resources(definition)}
    needed = {
        "aws-sdk:s3:listObjectsV2": "s3:listbucket",
        "aws-sdk:sfn:describeExecution": "states:describeexecution",
        "sagemaker:createProcessingJob.sync": "sagemaker:createprocessingjob",
    }
    assert called >= set(needed)
    for call in called:
        assert needed.get(call, call.removeprefix("aws-sdk:").lower()) in allowed, call


def task_resources(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for item in node for found in task_resources(item)]
    if not isinstance(node, dict):
        return []
    own = [node["Resource"]] if node.get("Type") == "Task" else []
    return own + [found for value in node.values() for found in task_resources(value)]
