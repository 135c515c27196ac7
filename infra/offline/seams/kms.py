"""Tags of a key that CloudFormation makes: `Key`/`Value` there, `TagKey`/`TagValue` in the KMS API.

moto takes CloudFormation's for the API's; the key is then missing and whatever refers to it cannot be created.
"""

from __future__ import annotations

from typing import Any

from moto.kms.models import Key

__all__ = ["install"]

_create = Key.create_from_cloudformation_json


def install() -> None:
    """Mend keys of stacks."""
    setattr(Key, _create.__name__, staticmethod(_create_with_api_tags))


def _create_with_api_tags(name: str, resource: dict[str, Any], *args: Any, **options: Any) -> Key:
    tags = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in resource["Properties"].get("Tags", [])]
    return _create(name, resource | {"Properties": resource["Properties"] | {"Tags": tags}}, *args, **options)
