"""Offline accounts that are taken down after the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.offline.account import Account, AccountInfo
from infra.offline.settings import Settings

FAST = Settings(phase_s=0.05, grace_s=20.0, sync_interval_s=0.05, poll_s=0.02, sync_poll_s=0.05)

Clients = Callable[[str], Any]


def clients_of(account: Account, info: AccountInfo) -> Clients:
    """Makes boto3 clients from nothing but the variables that the account gives."""
    variables = account.environment(info)

    def client(service: str) -> Any:
        make: Any = boto3.client
        return make(
            service,
            endpoint_url=variables["AWS_ENDPOINT_URL"],
            region_name=variables["AWS_REGION"],
            aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
            config=Config(retries={"total_max_attempts": 1}, max_pool_connections=50),
        )

    return client


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    """An account that is down; whatever a test does with it, it is down afterwards."""
    made = Account(tmp_path / "account")
    yield made
    made.down()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An account that is up, for all tests of a module."""
    made = Account(tmp_path_factory.mktemp("shared") / "account")
    made.up(settings=FAST)
    yield made
    made.down()


@pytest.fixture(scope="module")
def client(shared: Account) -> Clients:
    """boto3 clients of the shared account."""
    info = shared.status()
    assert info is not None
    return clients_of(shared, info)
