"""Rules over a job file: each a generator of findings, with a name, the reason and where the reason is written.

A rule is a function whose parameters are named after the sections it reads (as pytest's fixtures are), so it still
runs when other sections of the same file cannot be read, and the user sees all problems at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.spec.problems import KeyPath, Severity

__all__ = ["RULES", "Finding", "Rule", "error", "find", "rule", "warning"]


@dataclass(frozen=True)
class Finding:
    path: KeyPath
    message: str
    severity: Severity


def error(*path: str | int, message: str) -> Finding:
    """AWS, or the kit itself, would refuse this or do something else than it says."""
    return Finding(path, message, "error")


def warning(*path: str | int, message: str) -> Finding:
    """Works, but hardly as meant."""
    return Finding(path, message, "warning")


Check = Callable[..., Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """One rule. `reason` and `source` are for the catalogue of rules; the messages themselves say what to do."""

    id: str
    reason: str
    source: str
    sections: tuple[str, ...]
    check: Check


RULES: dict[str, Rule] = {}


def rule(id: str, *, source: str) -> Callable[[Check], Check]:
    """Register a rule; its docstring is the reason.

    Args:
        id: stable name, for `Problem.rule`.
        source: whose rule it is: an AWS page or API field, or `slipstream` for our own.
    """

    def register(check: Check) -> Check:
        assert id not in RULES, f"two rules are called {id}"
        reason = inspect.getdoc(check)
        assert reason, f"rule {id} needs a docstring: its reason"
        RULES[id] = Rule(id, reason, source, tuple(inspect.signature(check).parameters), check)
        return check

    return register


def find(sections: Mapping[str, Any]) -> Iterator[tuple[Rule, Finding]]:
    """All findings of the rules whose sections are there."""
    for each in RULES.values():
        if sections.keys() >= set(each.sections):
            for finding in each.check(*(sections[name] for name in each.sections)):
                yield each, finding
