"""The folder that the commands work on: where the jobs, the CDK app and the offline account's state live."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from infra.cli.errors import InputError
from infra.spec import Job, JobFileError, apply_overrides, load_job

__all__ = ["Project", "job_file_error"]


@dataclass(frozen=True, kw_only=True)
class Project:
    """The nearest folder, from the current one upwards, that holds `cdk.json`."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Project:
        """Raises `InputError` outside a project."""
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / "cdk.json").is_file() and (folder / "app.py").is_file():
                return cls(root=folder)
        raise InputError(
            f"no Slipstream project here: neither {here} nor a folder above it has cdk.json and app.py",
            hint="change into the project's folder",
        )

    @property
    def state(self) -> Path:
        """The offline account's folder; removed by `make clean`."""
        return self.root / ".slipstream"

    @property
    def job_files(self) -> list[Path]:
        return sorted((self.root / "jobs").glob("*.yaml"))

    def job_file(self, job: str) -> Path:
        """`job` is a path to a job file, or the name of a job under jobs/ (a file's name need not be its job's)."""
        as_path = Path(job)
        if as_path.suffix in {".yaml", ".yml"}:
            if as_path.is_file():
                return as_path
            raise InputError(f"no job file '{job}'", hint="give a path to a YAML file, or a job's name")
        same_name = self.root / "jobs" / f"{job}.yaml"
        candidates = [same_name] if same_name in self.job_files else []
        for path in [*candidates, *self.job_files]:
            if _declared_name(path) == job:
                return path
        names = sorted(filter(None, map(_declared_name, self.job_files)))
        raise InputError(f"no job '{job}' in {self.root / 'jobs'}", hint=f"jobs here: {', '.join(names) or 'none'}")

    def load(self, job: str, overrides: list[str] | None = None) -> Job:
        """The validated job; `overrides` are `key=value` texts. Raises `InputError` with every problem."""
        path = self.job_file(job)
        try:
            return apply_overrides(path, overrides) if overrides else load_job(path)
        except JobFileError as error:
            raise job_file_error(error) from error


def job_file_error(error: JobFileError) -> InputError:
    """All problems at once, one a line."""
    lines = [str(problem) for problem in error.problems]
    return InputError("\n".join(lines), details={"problems": [asdict(problem) for problem in error.problems]})


def _declared_name(path: Path) -> str | None:
    """The `name:` of a job file that may be broken otherwise: `run` must find it to say what is broken."""
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("name:"):
                return line.removeprefix("name:").split("#")[0].strip().strip("\"'")
    except (OSError, UnicodeDecodeError):
        return None
    return None
