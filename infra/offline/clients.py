"""boto3 clients of the account, for its own parts that speak to it as any client does."""

from __future__ import annotations

import threading
from typing import Any

from .account import AccountInfo

__all__ = ["Clients"]


class Clients:
    """Makes each service's client once, at its first use: boto3 takes a third of a second to come up."""

    def __init__(self, info: AccountInfo) -> None:
        self._info = info
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}

    def __call__(self, service: str) -> Any:
        with self._lock:  # making a client is not thread-safe, using one is
            if service not in self._made:
                self._made[service] = self._make(service)
            return self._made[service]

    def _make(self, service: str) -> Any:
        import boto3
        from botocore.config import Config

        make: Any = boto3.client  # the stubs want a literal name
        return make(
            service,
            endpoint_url=self._info.endpoint_url,
            region_name=self._info.region,
            aws_access_key_id="offline",
            aws_secret_access_key="offline",
            # checksums are for networks: here they would only cost time
            config=Config(
                max_pool_connections=50,
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                retries={"mode": "standard", "max_attempts": 3},
            ),
        )
