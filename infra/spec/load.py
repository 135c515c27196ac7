"""From a job file to a `Job`, or to everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .document import Document, read_document
from .explain import problems_of
from .fields import shown
from .job import Job
from .overrides import override
from .problems import JobFileError, Problem
from .rules import find

__all__ = ["apply_overrides", "check_file", "load_job", "load_jobs"]


def load_job(path: Path) -> Job:
    """Read and validate one job file.

    Raises:
        JobFileError: with all errors found.
    """
    return _accept(*check_file(path))


def load_jobs(paths: Iterable[Path]) -> list[Job]:
    """Read several job files, in the order of their jobs' names.

    Raises:
        JobFileError: with the errors of all files; two jobs of one name are an error of the second. So are names that
            differ in hyphens only: CloudFormation's names have none, `flights-2` and `flights2` would be one there.
    """
    jobs: dict[str, Job] = {}
    problems: list[Problem] = []
    for path in sorted(paths):
        job, found = check_file(path)
        problems += [problem for problem in found if problem.severity == "error"]
        if job is None:
            continue
        first = jobs.setdefault(job.name.replace("-", ""), job)
        if first is not job:
            message = f"{job.name!r} is too like {first.name!r}, the name of another file's job; rename one"
            problems.append(job.problem(("name",), message, rule="name-once"))
    if problems:
        raise JobFileError(problems)
    return sorted(jobs.values(), key=lambda job: job.name)


def check_file(path: Path) -> tuple[Job | None, list[Problem]]:
    """The job, if it can be used, and all problems, warnings included, in the order of lines."""
    try:
        document = read_document(path)
    except JobFileError as error:
        return None, error.problems
    return _check(document)


def apply_overrides(path: Path, settings: Sequence[str]) -> Job:
    """The job with `key=value` settings from the command line put in, validated as if the file said so.

    Args:
        settings: such as `limits.deadline=18h` or `compute.pools[0].market=on_demand`; values are read as YAML.

    Raises:
        JobFileError: problems of settings name `--set` as their file and the setting's number as their line.
    """
    return _accept(*_check(override(read_document(path), settings)))


def _accept(job: Job | None, problems: list[Problem]) -> Job:
    if job is None:
        raise JobFileError([problem for problem in problems if problem.severity == "error"])
    return job


def _check(document: Document) -> tuple[Job | None, list[Problem]]:
    if not isinstance(document.data, dict):
        found = "is empty" if document.data is None else f"holds {shown(document.data)}"
        return None, [document.problem((), f"{found}: a job file has the keys name, task, data ...", rule="no-keys")]
    job, problems = None, []
    try:
        job = Job.model_validate_json(json.dumps(document.data), strict=True)
        sections = {name: getattr(job, name) for name in Job.model_fields}
        job._document = document
    except ValidationError as error:
        problems = problems_of(error, document)
        sections = _sound_sections(document.data, broken={details["loc"][0] for details in error.errors()})
    problems += [
        document.problem(finding.path, finding.message, rule=rule.id, severity=finding.severity)
        for rule, finding in find(sections)
    ]
    problems.sort(key=lambda problem: (problem.file, problem.line, problem.key))
    return (None if any(problem.severity == "error" for problem in problems) else job), problems


def _sound_sections(data: dict[str, Any], *, broken: set[int | str]) -> dict[str, Any]:
    """The sections without a mistake, so that the rules over them can be tried all the same."""
    sections: dict[str, Any] = {}
    for name, field in Job.model_fields.items():
        if name in data and name not in broken:
            adapter = TypeAdapter(field.rebuild_annotation())
            sections[name] = adapter.validate_json(json.dumps(data[name]), strict=True)
        elif name not in data and not field.is_required():
            sections[name] = field.get_default()
    return sections
