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
        JobFileError: with the errors of all files; two jobs of one name are an error of the second.
    """
    jobs: dict[str, Job] = {}
    problems: list[Problem] = []
    for path in sorted(paths):
        job, found = check_file(path)
        problems += [problem for problem in found if problem.severity == "error"]
        if job is None:
            continue
        if job.name in jobs:
            problems.append(job.problem(("name",), f"{job.name!r} is the name of another file's job", rule="name-once"))
        jobs.setdefault(job.name, job)
    if problems:
        raise JobFileError(problems)
    return [jobs[name] for name in sorted(jobs)]


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
    sections, problems = _sections(document)
    problems += [
        document.problem(finding.path, finding.message, rule=rule.id, severity=finding.severity)
        for rule, finding in find(sections)
    ]
    problems.sort(key=lambda problem: (problem.file, problem.line, problem.key))
    if any(problem.severity == "error" for problem in problems):
        return None, problems
    job = Job.model_construct(set(document.data), **sections)
    job._document = document
    return job, problems


def _sections(document: Document) -> tuple[dict[str, Any], list[Problem]]:
    """Each top-level section by itself, so that a mistake in one does not hide those in the others."""
    if not isinstance(document.data, dict):
        found = "is empty" if document.data is None else f"holds {shown(document.data)}"
        return {}, [document.problem((), f"{found}: a job file has the keys name, task, data ...", rule="no-keys")]
    sections: dict[str, Any] = {}
    try:
        whole = Job.model_validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        problems = problems_of(error, document)
        broken = {details["loc"][0] for details in error.errors()}
        for name, field in Job.model_fields.items():
            if name in document.data and name not in broken:
                adapter = TypeAdapter(field.rebuild_annotation())
                sections[name] = adapter.validate_json(json.dumps(document.data[name]), strict=True)
            elif name not in document.data and not field.is_required():
                sections[name] = field.get_default()
        return sections, problems
    return {name: getattr(whole, name) for name in Job.model_fields}, []
