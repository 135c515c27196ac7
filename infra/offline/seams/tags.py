"""Tags of resources that CloudFormation makes, in the form that moto's backends take.

A KMS key has `Key`/`Value` in a template and `TagKey`/`TagValue` in the API; an SSM parameter has a mapping in a
template and a list in the API. moto hands the template's form on, and the resource is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moto.kms.models import Key
from moto.ssm.models import Parameter

__all__ = ["install"]

Tags = list[dict[str, str]]


def install() -> None:
    """Mend KMS keys and SSM parameters of stacks."""
    _mend(Key, lambda tags: [{"TagKey": tag["Key"], "TagValue": tag["Value"]} for tag in tags])
    _mend(Parameter, lambda tags: [{"Key": key, "Value": value} for key, value in tags.items()])


def _mend(resource_class: Any, to_api: Callable[[Any], Tags]) -> None:
    create = resource_class.create_from_cloudformation_json

    def create_with_api_tags(name: str, resource: dict[str, Any], *args: Any, **options: Any) -> Any:
        properties = resource["Properties"]
        if properties.get("Tags"):
            properties = properties | {"Tags": to_api(properties["Tags"])}
        return create(name, resource | {"Properties": properties}, *args, **options)

    resource_class.create_from_cloudformation_json = staticmethod(create_with_api_tags)
