"""An emulated account on a free loopback port: moto's server with the interpreter behind its Step Functions API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from moto.moto_api._internal import moto_api_backend
from moto.server import ThreadedMotoServer

from infra.offline.states import moto_plugin
from infra.offline.states.aws import BotoServices
from infra.offline.states.executions import Executions
from tests.offline.states.running import ROLE_ARN

REGION = "us-east-1"


@dataclass
class Account:
    endpoint_url: str
    services: BotoServices
    executions: Executions

    def client(self, service: str) -> Any:
        return self.services.client(service)

    def create(self, name: str, definition: str) -> str:
        answer = self.client("stepfunctions").create_state_machine(name=name, definition=definition, roleArn=ROLE_ARN)
        return str(answer["stateMachineArn"])


@pytest.fixture(scope="session")
def moto_endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    yield f"http://localhost:{port}"
    server.stop()


@pytest.fixture(scope="session")
def services(moto_endpoint: str) -> Iterator[BotoServices]:
    services = BotoServices(endpoint_url=moto_endpoint, region=REGION, poll_s=0.02)
    yield services
    services.close()


@pytest.fixture
def account(moto_endpoint: str, services: BotoServices, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    moto_api_backend.reset()
    executions = Executions(services)
    with monkeypatch.context() as patch:
        moto_plugin.install(executions, partial(patch.setattr, raising=False))
        yield Account(moto_endpoint, services, executions)
    executions.close()
