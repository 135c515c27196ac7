"""Deadlines, runtimes and budgets."""

from __future__ import annotations

from collections.abc import Iterator

from infra.spec.catalogue import catalogue
from infra.spec.rules.compute import known_pools
from infra.spec.rules.registry import Finding, error, rule, warning
from infra.spec.sections import Compute, Limits
from infra.spec.units import format_duration

_MAX_RUNTIME_S = 28 * 86_400
_START_UP_S = 360
"""Start-up of a training job, billed: about 6 minutes for a framework container."""


@rule("deadline-once", source="slipstream")
def one_deadline(limits: Limits) -> Iterator[Finding]:
    """Two deadlines would need a precedence that nobody remembers."""
    if limits.deadline is not None and limits.deadline_at is not None:
        yield error("limits", "deadline_at", message="stands beside limits.deadline; give one of the two")


@rule("max-runtime", source="API_StoppingCondition MaxRuntimeInSeconds")
def runtime_within_awss(limits: Limits) -> Iterator[Finding]:
    """SageMaker stops every training job after 28 days at the latest."""
    if limits.max_runtime > _MAX_RUNTIME_S:
        yield error(
            "limits",
            "max_runtime",
            message=f"{format_duration(limits.max_runtime)} is more than the 28d that SageMaker allows one training "
            "job; the run continues from its checkpoints anyway",
        )


@rule("max-runtime-deadline", source="slipstream")
def runtime_within_deadline(limits: Limits) -> Iterator[Finding]:
    """No attempt is let run past the deadline, so a longer max_runtime promises what it will not get."""
    if limits.deadline is not None and limits.max_runtime > limits.deadline:
        yield warning(
            "limits",
            "max_runtime",
            message=f"{format_duration(limits.max_runtime)} is longer than the deadline "
            f"({format_duration(limits.deadline)}), which ends every attempt",
        )


@rule("budget-start-up", source="slipstream")
def budget_pays_a_start(limits: Limits, compute: Compute) -> Iterator[Finding]:
    """A budget below the price of starting up buys no training step."""
    prices = [catalogue.price(name, compute.pools[number].market) for number, name in known_pools(compute)]
    if limits.max_cost_usd is None or not prices:
        return
    start_usd = min(prices) * compute.instance_count * _START_UP_S / 3600
    if limits.max_cost_usd < start_usd:
        yield warning(
            "limits",
            "max_cost_usd",
            message=f"{limits.max_cost_usd:g} does not pay one start of the cheapest pool (about {start_usd:.2f} USD)",
        )
