"""AWS's deep learning containers per framework version and region: a checked-in table, `images.json`.

The table is generated from the SageMaker SDK and compared with it by `generate_images.py`; the SDK itself is a
gigabyte, which neither a deployment nor a validation should need.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .catalogue import catalogue
from .sections import Framework

__all__ = ["TABLE", "ImageTable", "image_mapping", "image_name", "image_table"]

TABLE = Path(__file__).with_name("images.json")


@dataclass(frozen=True)
class ImageTable:
    """`images.json` as it stands."""

    about: Mapping[str, str]
    accounts: Mapping[str, str]
    """Registry account by region. The domain is what CloudFormation calls `AWS::URLSuffix`."""
    frameworks: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Name -> version -> {repository, cpu, gpu: tags, absent: regions without it}."""

    def versions(self, framework: str) -> list[str]:
        """What `framework.version` may say, oldest first."""
        return list(self.frameworks[framework])


@functools.cache
def image_table() -> ImageTable:
    return ImageTable(**json.loads(TABLE.read_text(encoding="utf-8")))


def image_mapping(framework: Framework) -> dict[str, dict[str, str]]:
    """For a CfnMapping: region -> {Account}. A region that lacks this version has no entry, so that CloudFormation
    refuses the deployment instead of SageMaker refusing the job.
    """
    table = image_table()
    absent = table.frameworks[framework.name][framework.version]["absent"]
    return {region: {"Account": account} for region, account in table.accounts.items() if region not in absent}


def image_name(framework: Framework, instance: str) -> str:
    """`pytorch-training:2.6.0-gpu-py312`: the image that `instance` takes, without its registry."""
    entry = image_table().frameworks[framework.name][framework.version]
    return f"{entry['repository']}:{entry[catalogue.instance(instance).device]}"
