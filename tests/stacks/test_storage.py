"""Every bucket is closed, encrypted and kept tidy."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def storage(templates: dict[str, Any]) -> dict[str, Any]:
    return dict(templates["slipstream-storage"])


def of_type(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [resource["Properties"] for resource in template["Resources"].values() if resource["Type"] == kind]


def purpose(bucket: dict[str, Any]) -> str:
    return str(bucket["BucketName"]["Fn::Join"][1][-1])


def buckets(storage: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {purpose(bucket): bucket for bucket in of_type(storage, "AWS::S3::Bucket")}


def test_names_follow_from_account_and_region(storage: dict[str, Any]) -> None:
    assert set(buckets(storage)) == {"-data", "-checkpoints", "-artifacts", "-access-logs"}
    name = buckets(storage)["-data"]["BucketName"]["Fn::Join"][1]
    assert name == ["slipstream-", {"Ref": "AWS::AccountId"}, "-", {"Ref": "AWS::Region"}, "-data"]


def test_public_access_is_blocked_everywhere(storage: dict[str, Any]) -> None:
    for bucket in buckets(storage).values():
        assert bucket["PublicAccessBlockConfiguration"] == {
            "BlockPublicAcls": True,
            "BlockPublicPolicy": True,
            "IgnorePublicAcls": True,
            "RestrictPublicBuckets": True,
        }


def test_tls_only_everywhere(storage: dict[str, Any]) -> None:
    policies = of_type(storage, "AWS::S3::BucketPolicy")
    assert len(policies) == 4
    for policy in policies:
        denied = [s["Condition"] for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Deny"]
        assert {"Bool": {"aws:SecureTransport": "false"}} in denied


@pytest.mark.parametrize("name", ["-data", "-checkpoints", "-artifacts"])
def test_encrypted_with_the_kits_key_and_logged(storage: dict[str, Any], name: str) -> None:
    bucket = buckets(storage)[name]
    rule = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert rule["BucketKeyEnabled"] is True
    assert bucket["LoggingConfiguration"]["LogFilePrefix"] == f"{name[1:]}/"


def test_uploads_that_broke_off_are_cleared_away(storage: dict[str, Any]) -> None:
    for name in ("-data", "-checkpoints", "-artifacts"):
        rules = buckets(storage)[name]["LifecycleConfiguration"]["Rules"]
        assert {"DaysAfterInitiation": 1} in [rule.get("AbortIncompleteMultipartUpload") for rule in rules]


def test_checkpoints_expire_but_not_within_the_longest_run(storage: dict[str, Any]) -> None:
    rules = buckets(storage)["-checkpoints"]["LifecycleConfiguration"]["Rules"]
    assert [rule["ExpirationInDays"] for rule in rules if "ExpirationInDays" in rule] == [35]


def test_the_key_rotates(storage: dict[str, Any]) -> None:
    (key,) = of_type(storage, "AWS::KMS::Key")
    assert key["EnableKeyRotation"] is True


def test_outputs_the_command_line_reads(storage: dict[str, Any]) -> None:
    assert {"DataBucket", "CheckpointsBucket", "ArtifactsBucket"} <= set(storage["Outputs"])
