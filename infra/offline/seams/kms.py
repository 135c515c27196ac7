"""Tags of a key that CloudFormation makes: `Key`/`Value` there, `TagKey`/`TagValue` in the KMS API.

moto takes CloudFormation's for the API's; the key is then missing and whatever refers to it cannot be created.
"""

from __future__ import annotations

from typing import Any

from moto.kms.models import Key, KmsBackend

__all__ = ["install"]

_create_key = KmsBackend.create_key


def install() -> None:
    """Mend key creation."""
    KmsBackend.create_key = _with_api_tags  # type: ignore[method-assign]


def _with_api_tags(self: KmsBackend, *args: Any, tags: list[dict[str, str]] | None = None, **options: Any) -> Key:
    named = [{"TagKey": tag["Key"], "TagValue": tag["Value"]} if "Key" in tag else tag for tag in tags or []]
    return _create_key(self, *args, tags=named, **options)
