"""What is wrong although each value by itself is right: refused here rather than by AWS an hour later."""

from infra.spec.rules import compute, data, hyperparameters, limits, quality, tuning  # noqa: F401 - registers the rules
from infra.spec.rules.registry import RULES, Finding, Rule, find

__all__ = ["RULES", "Finding", "Rule", "find"]
