"""S3 URIs, and where a channel's objects go."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from infra.offline.sagemaker import S3Uri
from infra.offline.sagemaker.channels import channel_objects
from infra.offline.sagemaker.objects import below, download

from .folder_objects import FolderObjects
from .requests import channel


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/a/b",
        "https://s3.us-east-1.amazonaws.com/bucket/a/b",
        "https://s3.amazonaws.com/bucket/a/b",
    ],
)
def test_uris(uri: str) -> None:
    assert S3Uri.parse(uri) == S3Uri("bucket", "a/b")


@pytest.mark.parametrize("uri", ["s3:///key", "bucket/key", "https://example.com/bucket/key", ""])
def test_what_is_no_uri(uri: str) -> None:
    with pytest.raises(ValueError, match="is not an S3 URI"):
        S3Uri.parse(uri)


def test_joining() -> None:
    assert str(S3Uri.parse("s3://bucket") / "x") == "s3://bucket/x"
    assert str(S3Uri.parse("s3://bucket/a") / "x") == "s3://bucket/a/x"
    assert str(S3Uri.parse("s3://bucket/a/") / "x") == "s3://bucket/a/x"


@pytest.mark.parametrize(
    ("prefix", "key", "place"),
    [
        ("flights/train", "flights/train/part-0", "part-0"),
        ("flights/train/", "flights/train/a/part-0", "a/part-0"),
        ("code/abc.zip", "code/abc.zip", "abc.zip"),
        ("flights/part", "flights/part-0", "part-0"),
        ("", "a/b", "a/b"),
    ],
)
def test_places_of_a_channel(prefix: str, key: str, place: str) -> None:
    assert below(prefix, key) == PurePosixPath(place)


def test_sharding_shares_out_every_object_once(tmp_path: Path) -> None:
    store = FolderObjects(tmp_path)
    for number in range(5):
        store.write(f"s3://bucket/train/part-{number}", "x")
    sharded = channel("train", "s3://bucket/train/", S3DataDistributionType="ShardedByS3Key")
    shares = [[uri.key for uri, _ in channel_objects(store, sharded, host=host, num_hosts=2)] for host in range(2)]
    assert shares == [["train/part-0", "train/part-2", "train/part-4"], ["train/part-1", "train/part-3"]]
    with pytest.raises(ValueError, match="less than the number of instances"):
        channel_objects(store, sharded, host=0, num_hosts=6)


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leads out of train/"):
        download(
            FolderObjects(tmp_path), iter([(S3Uri("bucket", "x"), PurePosixPath("../../escape"))]), tmp_path / "train"
        )
