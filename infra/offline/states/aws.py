"""Service integrations by boto3: what Task states call, in an account on AWS's own endpoints or an emulated one.

Supported resources:

- `arn:aws:states:::aws-sdk:<service>:<action>`: any action boto3 knows;
- `arn:aws:states:::sagemaker:create{Training,Processing,Transform,HyperParameterTuning}Job[.sync]`;
- `arn:aws:states:::states:startExecution` and `arn:aws:states:::sns:publish`.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from infra.offline.states.aws_names import (
    client_name,
    error_name,
    error_prefix,
    iso_instant,
    milliseconds,
    to_answer,
    to_request,
)
from infra.offline.states.errors import RUNTIME, StatesError
from infra.offline.states.services import TaskContext, split_resource
from infra.offline.states.sync_jobs import SYNC_JOBS, run_job

__all__ = ["BotoServices"]

_OPTIMIZED: Final = frozenset(
    {"states:startExecution", "sns:publish", *(f"sagemaker:{create}" for create in SYNC_JOBS)}
)
_JSON_TEXT: Final = frozenset({"Input", "Message"})  # members that optimized integrations take as JSON too


class BotoServices:
    """Calls AWS services; each call runs in a worker thread.

    Args:
        endpoint_url: where all services answer, None for AWS itself.
        region: of the clients.
        poll_s: seconds between two looks at a job of a `.sync` task.
        max_workers: calls at the same time; `.sync` jobs take none while they wait.
    """

    def __init__(self, *, endpoint_url: str | None, region: str, poll_s: float = 1.0, max_workers: int = 16) -> None:
        self._endpoint_url = endpoint_url
        self._poll_s = poll_s
        # Dummy keys where the account is an emulated one: whatever the environment holds must not reach it.
        key = None if endpoint_url is None else "offline"
        self._session: Any = boto3.Session(aws_access_key_id=key, aws_secret_access_key=key, region_name=region)
        self._clients: dict[str, Any] = {}
        self._lock = threading.Lock()  # making a client is not thread-safe, using one is
        self._workers = ThreadPoolExecutor(max_workers, thread_name_prefix="states-call")

    async def call(self, resource: str, arguments: Any, context: TaskContext) -> Any:
        """Carry out one attempt of a task (see `Services`)."""
        kind, action = split_resource(resource)
        if kind.startswith("aws-sdk:"):
            return await self._in_worker(_Call(self, kind.removeprefix("aws-sdk:"), action, optimized=False), arguments)
        create = action.removesuffix(".sync")
        if f"{kind}:{create}" not in _OPTIMIZED or (action != create and create not in SYNC_JOBS):
            raise StatesError(RUNTIME, f"The resource '{resource}' is not emulated.")
        call = _Call(self, kind, create, optimized=True)
        if action == create:
            return await self._in_worker(call, arguments)

        async def invoke(action: str, arguments: dict[str, Any]) -> Any:
            return await self._in_worker(_Call(self, kind, action, optimized=True), arguments)

        return await run_job(SYNC_JOBS[create], invoke, arguments, context, self._poll_s)

    def close(self) -> None:
        """End the worker threads."""
        self._workers.shutdown(wait=False, cancel_futures=True)

    def client(self, name: str) -> Any:
        """The boto3 client of a service."""
        with self._lock:
            if name not in self._clients:
                config = Config(
                    retries={"total_max_attempts": 1},  # the state machine decides what is tried again
                    s3={"addressing_style": "path"},
                    max_pool_connections=50,
                )
                self._clients[name] = self._session.client(name, endpoint_url=self._endpoint_url, config=config)
            return self._clients[name]

    async def _in_worker(self, call: Callable[[Any], Any], arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, call, arguments)


class _Call:
    """One request and its answer, in the spelling of SDK integrations or of the older, optimized ones."""

    def __init__(self, services: BotoServices, service: str, action: str, *, optimized: bool) -> None:
        self._services = services
        self._service = service
        self._action = action
        self._optimized = optimized

    def __call__(self, arguments: Any) -> Any:
        try:
            client = self._services.client(client_name(self._service))
        except BotoCoreError as error:
            raise StatesError(RUNTIME, f"There is no service '{self._service}': {error}") from error
        operation = self._action[:1].upper() + self._action[1:]
        if operation not in client.meta.service_model.operation_names:
            raise StatesError(RUNTIME, f"The service '{self._service}' has no action '{self._action}'.")
        model = client.meta.service_model.operation_model(operation)
        if self._optimized:
            arguments = {name: _text(value) if name in _JSON_TEXT else value for name, value in arguments.items()}
        request = {} if model.input_shape is None else to_request(model.input_shape, arguments)
        try:
            answer = getattr(client, xform_name(operation))(**request)
        except ParamValidationError as error:
            raise StatesError(RUNTIME, str(error)) from error
        except ClientError as error:
            raise self._failure(client, error) from error
        except BotoCoreError as error:
            prefix = error_prefix(self._service)
            raise StatesError(f"{prefix}.SdkClientException", f"Unable to execute HTTP request: {error}") from error
        if model.output_shape is None:
            return {}
        return to_answer(model.output_shape, answer, milliseconds if self._optimized else iso_instant)

    def _failure(self, client: Any, error: ClientError) -> StatesError:
        """The error in the words of the SDK for Java, version 2 or, in optimized integrations, 1."""
        code = error.response.get("Error", {}).get("Code", "")
        message = error.response.get("Error", {}).get("Message", "")
        metadata = error.response.get("ResponseMetadata", {})
        status, request = metadata.get("HTTPStatusCode", 400), metadata.get("RequestId", "")
        prefix = error_prefix(self._service)
        modelled = {shape.metadata.get("error", {}).get("code", shape.name): shape.name for shape in _errors(client)}
        modelled.update({shape.name: shape.name for shape in _errors(client)})
        if self._optimized:
            name = error_name(code, modelled, f"Amazon{prefix}Exception")
            about = f"Service: Amazon{prefix}; Status Code: {status}; Error Code: {code}; Request ID: {request}"
            about += "; Proxy: null"
        else:
            name = error_name(code, modelled, f"{prefix}Exception")
            about = f"Service: {prefix}, Status Code: {status}, Request ID: {request}"
            if prefix == "S3":
                about += f", Extended Request ID: {metadata.get('HostId', '')}"
        return StatesError(f"{prefix}.{name}", f"{message} ({about})")


def _errors(client: Any) -> list[Any]:
    errors: list[Any] = client.meta.service_model.error_shapes
    return errors


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
