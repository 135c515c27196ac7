"""Faults as data: what goes wrong, in which job, when.

    - {job: "flights-*", at_step: 300, do: interrupt}
    - {job: "*", attempt: 1, do: capacity_error}
    - {do: throttle, times: 2}

The first rule that matches and is not spent fires.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infra.spec.document import Document
    from infra.spec.problems import KeyPath, Problem

__all__ = ["AT_CREATE", "AT_START", "WHILE_RUNNING", "Fault", "FaultFileError", "Faults", "attempt_of", "load_faults"]

AT_CREATE = ("throttle", "quota")
"""CreateTrainingJob itself is refused."""
AT_START = ("capacity_error", "internal_error")
"""The job is created and fails before its instances run. With a time or a step they come while it runs: Spot takes
the instance and has no other (`capacity_error`), the service breaks down (`internal_error`)."""
WHILE_RUNNING = ("interrupt", "kill", "stop", "sync_stall", "capacity_error", "internal_error", "out_of_memory")
_KINDS = tuple(dict.fromkeys((*WHILE_RUNNING, *AT_CREATE, *AT_START)))


class FaultFileError(ValueError):
    """A fault file cannot be used. `problems` has all that is wrong; `str()` gives one `file:line: key: text` each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One rule."""

    do: str
    job: str = "*"
    """Glob on TrainingJobName."""
    attempt: int | None = None
    """Number of the Create: the last part of the job's name. Restarts inside a job do not count."""
    at_step: int | None = None
    """Global optimizer step after which the trainer holds until the fault has been carried out."""
    after_s: float | None = None
    """Seconds after the container started."""
    times: int = 1

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Fault:
        """Raises `ValueError` with all that is wrong."""
        problems = [f"{key}: {message}" if key else message for key, message in _check(values)]
        if problems:
            raise ValueError("; ".join(problems))
        return cls(**values)

    def to_mapping(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}

    def matches(self, job: str) -> bool:
        return fnmatchcase(job, self.job) and self.attempt in (None, attempt_of(job))


def attempt_of(training_job_name: str) -> int:
    """The number that ends a training job's name; 1 where none does."""
    last = training_job_name.rpartition("-")[2]
    return int(last) if last.isascii() and last.isdigit() else 1


class Faults:
    """The rules and how often each has fired. Safe to use from many jobs at once."""

    def __init__(self, rules: Iterable[Fault] = ()) -> None:
        self._lock = threading.Lock()
        self.replace(rules)

    def replace(self, rules: Iterable[Fault]) -> None:
        """Start over with other rules. A container that already runs holds only at the steps it was started with."""
        with self._lock:
            self._rules = list(rules)
            self._left = [rule.times for rule in self._rules]

    def take(
        self,
        kinds: Collection[str],
        job: str,
        *,
        step: int | None = None,
        elapsed_s: float | None = None,
    ) -> Fault | None:
        """Fire the first rule of these kinds that is due, and count it.

        Args:
            kinds: what can happen here.
            job: TrainingJobName.
            step: the optimizer step that the trainer is held at; None when it is not held.
            elapsed_s: seconds since the container started; None while none runs.
        """
        with self._lock:
            for index, rule in enumerate(self._rules):
                if self._left[index] and rule.do in kinds and rule.matches(job) and _due(rule, step, elapsed_s):
                    self._left[index] -= 1
                    return rule
        return None

    def steps(self, job: str, kinds: Collection[str]) -> list[int]:
        """Steps at which unspent rules of these kinds want the trainer to hold."""
        with self._lock:
            found = {
                rule.at_step
                for rule, left in zip(self._rules, self._left, strict=True)
                if left and rule.at_step is not None and rule.do in kinds and rule.matches(job)
            }
        return sorted(found)

    def left(self) -> list[dict[str, Any]]:
        """The rules that have not fired as often as they may, with `times` what is left of it."""
        with self._lock:
            pairs = zip(self._rules, self._left, strict=True)
            return [rule.to_mapping() | {"times": left} for rule, left in pairs if left]


def load_faults(path: Path) -> list[Fault]:
    """Read a YAML file of rules. Raises `FaultFileError` with every problem, each with its line."""
    from infra.spec.document import read_document  # brings pydantic (0.5 s): not for the account's process
    from infra.spec.problems import JobFileError

    try:
        document = read_document(path)
    except JobFileError as error:
        raise FaultFileError(error.problems) from error
    problems: list[Problem] = []
    if not isinstance(document.data, list):
        text = "a fault file is a list of rules: - {do: interrupt, at_step: 300}"
        raise FaultFileError([_problem(document, (), text)])
    for index, values in enumerate(document.data):
        if not isinstance(values, dict):
            problems.append(_problem(document, (index,), "a rule is a mapping such as {do: interrupt, at_step: 300}"))
            continue
        problems += [_problem(document, (index, key) if key else (index,), text) for key, text in _check(values)]
    if problems:
        raise FaultFileError(problems)
    return [Fault(**values) for values in document.data]


def _due(rule: Fault, step: int | None, elapsed_s: float | None) -> bool:
    if rule.at_step is not None:
        return step == rule.at_step
    if rule.after_s is not None:
        return elapsed_s is not None and elapsed_s >= rule.after_s
    return rule.do not in AT_START or elapsed_s is None


def _check(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(key, message) of everything that is wrong with one rule."""
    known = [field.name for field in fields(Fault)]
    problems = [(key, f"no such key; a rule has: {', '.join(known)}") for key in values if key not in known]
    kind = values.get("do")
    if kind not in _KINDS:
        problems.append(("do" if "do" in values else "", f"`do` must be one of {', '.join(_KINDS)}"))
    if not isinstance(values.get("job", "*"), str) or not values.get("job", "*"):
        problems.append(("job", "must be a pattern for training job names, such as 'flights-*'"))
    for key, least in (("attempt", 1), ("at_step", 1), ("times", 1)):
        value = values.get(key, least)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            problems.append((key, f"must be a whole number from {least}"))
    after_s = values.get("after_s", 0)
    if isinstance(after_s, bool) or not isinstance(after_s, int | float) or after_s < 0:
        problems.append(("after_s", "must be a number of seconds from 0"))
    problems += _check_timing(values)
    return problems


def _check_timing(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    kind, timed = values.get("do"), [key for key in ("at_step", "after_s") if key in values]
    if len(timed) == 2:
        return [("after_s", "give at_step or after_s, not both")]
    if timed and kind in _KINDS and kind not in WHILE_RUNNING:
        return [(timed[0], f"'{kind}' happens when the job is created: leave {timed[0]} out")]
    if kind == "out_of_memory" and timed != ["at_step"]:
        return [("do", "'out_of_memory' needs at_step: the trainer runs out of memory in that step")]
    return []


def _problem(document: Document, path: KeyPath, message: str) -> Problem:
    return document.problem(path, message, rule="fault")
