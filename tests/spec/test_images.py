"""The table of container images. `make images` holds it against the SageMaker SDK itself."""

from __future__ import annotations

import re

import pytest

from infra.spec.images import image_mapping, image_name, image_table
from infra.spec.sections import Framework

VERSIONS = image_table().versions("pytorch")


def test_an_image_of_each_device() -> None:
    framework = Framework(version="2.6")
    assert image_name(framework, "ml.m5.2xlarge") == "pytorch-training:2.6.0-cpu-py312"
    assert image_name(framework, "ml.g5.2xlarge") == "pytorch-training:2.6.0-gpu-py312"


@pytest.mark.parametrize(
    ("region", "account"),
    [("us-east-1", "763104351884"), ("eu-south-1", "692866216735"), ("cn-north-1", "727897471807")],
)
def test_registries_of_regions(region: str, account: str) -> None:
    assert image_mapping(Framework(version="2.6"))[region] == {"Account": account}


@pytest.mark.parametrize("version", VERSIONS)
def test_entries_are_whole(version: str) -> None:
    framework = Framework(version=version)
    for instance, device in (("ml.m5.large", "cpu"), ("ml.p3.2xlarge", "gpu")):
        assert re.fullmatch(rf"pytorch-training:{version}\.\d+-{device}-py3\d+", image_name(framework, instance))
    mapping = image_mapping(framework)
    assert {"us-east-1", "us-west-2", "eu-west-1"} <= mapping.keys()
    assert all(re.fullmatch(r"\d{12}", entry["Account"]) for entry in mapping.values())


def test_a_region_without_the_version_is_not_in_the_mapping() -> None:
    """CloudFormation then refuses the deployment, instead of SageMaker the job."""
    assert "me-west-1" in image_mapping(Framework(version="2.10"))
    assert "me-west-1" not in image_mapping(Framework(version="2.0"))


def test_versions_from_2_0_on_oldest_first() -> None:
    as_numbers = [tuple(map(int, version.split("."))) for version in VERSIONS]
    assert as_numbers == sorted(as_numbers)
    assert as_numbers[0] == (2, 0)
    assert image_table().about["command"] == "make images"
