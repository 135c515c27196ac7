"""One file per CloudFormation stack, composition only."""

from stacks.access import AccessStack
from stacks.storage import StorageStack
from stacks.training import TrainingStack

__all__ = ["AccessStack", "StorageStack", "TrainingStack"]
