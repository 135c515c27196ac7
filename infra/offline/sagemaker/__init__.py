"""SageMaker on this machine: jobs are real processes, with AWS's words and order of events."""

from .engine import Engine
from .errors import SageMakerError
from .objects import ObjectStore, S3Objects, S3Uri
from .platform import LogSink

__all__ = ["Engine", "LogSink", "ObjectStore", "S3Objects", "S3Uri", "SageMakerError"]
