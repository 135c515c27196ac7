"""One loader of service models for the whole process.

Every botocore session has its own, with its own copy of the models that it has parsed. moto makes dozens of sessions
while it is imported, and reads the list of endpoints (1 MB of JSON) for each: a quarter of the account's start.
"""

from __future__ import annotations

import functools

import botocore.loaders

__all__ = ["share_loader"]


def share_loader() -> None:
    """To be called before `botocore.session` (boto3, moto) is imported: that takes the function by name."""
    botocore.loaders.create_loader = functools.cache(botocore.loaders.create_loader)
