"""What a person may say about a training run, and what it means.

Standard library only: the job file's validator reads this package on machines that have neither torch nor pandas, and
the container reads the same definitions, so that nothing is accepted in one place and refused in the other.
"""

from training.config.base import ConfigError, NotYetAvailable
from training.config.checkpoint import CheckpointConfig
from training.config.hyperparameters import NOT_YET, EarlyStoppingConfig, Hyperparameters
from training.config.metrics import TASK_METRICS, Metric, metric_names, metric_regex, primary_metric
from training.config.prepare import (
    DeriveConfig,
    JoinConfig,
    LabelConfig,
    MissingConfig,
    PrepareConfig,
    SplitConfig,
)

__all__ = [
    "NOT_YET",
    "TASK_METRICS",
    "CheckpointConfig",
    "ConfigError",
    "DeriveConfig",
    "EarlyStoppingConfig",
    "Hyperparameters",
    "JoinConfig",
    "LabelConfig",
    "Metric",
    "MissingConfig",
    "NotYetAvailable",
    "PrepareConfig",
    "SplitConfig",
    "metric_names",
    "metric_regex",
    "primary_metric",
]
