"""Our engine behind moto's SageMaker endpoint. Requests arrive parsed by botocore's model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.core.utils import camelcase_to_underscores
from moto.sagemaker.exceptions import SagemakerClientError
from moto.sagemaker.responses import SageMakerResponse

from ..sagemaker import Engine, SageMakerError

__all__ = ["install"]

_list_tags = SageMakerResponse.list_tags
_add_tags = SageMakerResponse.add_tags
_delete_tags = SageMakerResponse.delete_tags


def install(engine: Engine) -> None:
    """Answer the engine's operations by the engine; all others stay moto's."""
    for operation, answer in engine.operations.items():
        setattr(SageMakerResponse, camelcase_to_underscores(operation), _handler(answer))

    def list_tags(self: SageMakerResponse) -> ActionResult:
        tags = engine.tags(self.params["ResourceArn"])
        return _list_tags(self) if tags is None else ActionResult({"Tags": tags})

    def add_tags(self: SageMakerResponse) -> ActionResult:
        arn = self.params["ResourceArn"]
        tags = engine.tags(arn)
        if tags is None:
            return _add_tags(self)
        new = {tag["Key"]: tag for tag in self.params["Tags"]}
        engine.set_tags(arn, [tag for tag in tags if tag["Key"] not in new] + list(new.values()))
        return ActionResult({"Tags": engine.tags(arn)})

    def delete_tags(self: SageMakerResponse) -> ActionResult:
        arn = self.params["ResourceArn"]
        tags = engine.tags(arn)
        if tags is None:
            return _delete_tags(self)
        engine.set_tags(arn, [tag for tag in tags if tag["Key"] not in self.params["TagKeys"]])
        return ActionResult({})

    for handler in (list_tags, add_tags, delete_tags):
        setattr(SageMakerResponse, handler.__name__, handler)


def _handler(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[SageMakerResponse], ActionResult]:
    def handle(self: SageMakerResponse) -> ActionResult:
        try:
            return ActionResult(answer(dict(self.params)))
        except SageMakerError as error:
            # of this class: moto finds the service's error model by the module of the exception
            raise SagemakerClientError(error.code, error.message) from error

    return handle
