"""`slipstream`: the commands. Each reads its arguments, calls one module and prints; nothing is decided here."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from infra.cli.errors import CliError, EnvironmentNotReady, InputError
from infra.cli.output import duration, err, out, print_json, say, when

__all__ = ["app", "main"]

app = typer.Typer(
    name="slipstream",
    help="Model training on Amazon SageMaker that is fast, cheap and certain. Add --offline to try it on this machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
offline_app = typer.Typer(help="The offline account: the AWS API on this machine.", no_args_is_help=True)
app.add_typer(offline_app, name="offline")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Offline = Annotated[bool, typer.Option("--offline", help="Use the project's offline account in place of AWS.")]
RunName = Annotated[str, typer.Argument(help="The run's id, or the name or ARN of its execution.")]

OFFLINE_INTERVAL_S = 0.5
AWS_INTERVAL_S = 15.0
CTRL_C = 130


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        out.print(version("slipstream"))
        raise typer.Exit


def _interval(offline: bool) -> float:
    return OFFLINE_INTERVAL_S if offline else AWS_INTERVAL_S


@app.command()
def validate(
    files: Annotated[list[Path] | None, typer.Argument(help="Job files; all of jobs/ if left out.")] = None,
    json: Json = False,
) -> None:
    """Check job files: every problem with file, line and key. Exit code 2 if one is an error."""
    from infra.cli.project import Project
    from infra.spec import Problem, check_file

    paths = files or Project.find().job_files
    if not paths:
        raise InputError("no job files: jobs/ has no *.yaml", hint="name the files to check")
    problems: list[Problem] = []
    for path in paths:
        job, found = check_file(path)
        problems += found
        # Valid, but `deploy` and `run` will refuse it: better known now.
        problems += [replace(problem, severity="warning") for problem in (job.unavailable() if job else [])]
    valid = not any(problem.severity == "error" for problem in problems)
    if json:
        print_json({"valid": valid, "problems": [asdict(problem) for problem in problems]})
    else:
        for problem in problems:
            out.print(str(problem), style="red" if problem.severity == "error" else "yellow", markup=False)
        if valid:
            out.print(f"{len(paths)} job file{'s' if len(paths) != 1 else ''} valid", style="green")
    if not valid:
        raise typer.Exit(2)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def deploy(context: typer.Context, offline: Offline = False, json: Json = False) -> None:
    """Deploy the stacks with the CDK CLI. Further arguments go to `cdk deploy`."""
    from infra.cli.deploy import deploy as cdk_deploy
    from infra.cli.deploy import deploy_if_changed
    from infra.cli.project import Project
    from infra.cli.start import refuse_unavailable
    from infra.cli.target import connect

    project = Project.find()
    jobs = [project.load(str(path)) for path in project.job_files]
    for job in jobs:
        refuse_unavailable(job)
    with connect(project, offline=offline) as target:
        if offline and not context.args:
            changed = deploy_if_changed(project, target, _source_dirs(project, jobs))
        else:
            cdk_deploy(project, target, arguments=context.args)
            changed = True
        where = target.describe()
    if json:
        print_json({"deployed": changed, "jobs": [job.name for job in jobs]})
    else:
        say(f"deployed to {where}" if changed else f"{where} is up to date", style="green")


@app.command()
def run(
    job: Annotated[str, typer.Argument(help="A job's name, or its file.")],
    offline: Offline = False,
    faults: Annotated[Path | None, typer.Option(help="Faults to inject (YAML); offline only.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="key=value for this run only.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the execution; the same name never trains twice.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Start and return.")] = False,
    json: Json = False,
) -> None:
    """Run a job and follow it. Ctrl-C stops watching, not the run."""
    from infra.cli.data import publish_data
    from infra.cli.deploy import deploy_if_changed
    from infra.cli.project import Project
    from infra.cli.runs import describe
    from infra.cli.start import OFFLINE_LOOK_S, execution_input, refuse_unavailable, start
    from infra.cli.target import connect
    from infra.cli.watch import follow, summary_table

    project = Project.find()
    spec = project.load(job, set_)
    refuse_unavailable(spec)
    execution_input(spec, set_ or [], data_version="", look_s=None)  # a --set that cannot be passed on fails now
    flag = " --offline" if offline else ""
    with connect(project, offline=offline, faults=faults, keep_up=detach) as target:
        if offline:
            deploy_if_changed(project, target, _source_dirs(project, [spec]))
        data_version = publish_data(spec, target)
        look_s = OFFLINE_LOOK_S if offline else None
        document = execution_input(spec, set_ or [], data_version=data_version, look_s=look_s)
        this = start(spec, target, document, name=name)
        say(f"run {this.id}: {this.execution}", style="bold")
        if detach:
            summary = describe(target, this)
            if json:
                print_json(summary)
            say(f"follow it: slipstream status {this.id}{flag}, slipstream logs {this.id} -f{flag}")
            if offline:
                say("the offline account stays up for it; stop that: slipstream offline down")
            return
        try:
            summary = follow(target, this, interval_s=_interval(offline))
        except KeyboardInterrupt:
            say(f"\nstopped watching; the run goes on. Follow it: slipstream logs {this.id} -f{flag}")
            say(f"see it: slipstream status {this.id}{flag}; stop it: slipstream stop {this.id}{flag}")
            if offline:
                say("the offline account stays up for it; stop that: slipstream offline down")
            raise
    if json:
        print_json(summary)
    else:
        out.print(summary_table(summary))
    if summary["status"] != "SUCCEEDED":
        raise typer.Exit(1)


@app.command()
def status(
    run: Annotated[str | None, typer.Argument(help="The run's id; all runs if left out.")] = None,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """The runs, or one of them."""
    from infra.cli.project import Project
    from infra.cli.runs import describe, find, list_runs
    from infra.cli.target import connect
    from infra.cli.watch import summary_table

    with connect(Project.find(), offline=offline) as target:
        document: dict[str, Any] = (
            describe(target, find(target, run)) if run is not None else {"runs": list_runs(target)}
        )
    if json:
        print_json(document)
    elif run is not None:
        out.print(summary_table(document))
    else:
        _print_runs(document["runs"])


@app.command()
def logs(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
    offline: Offline = False,
    json: Json = False,
) -> None:
    """What the containers of a run wrote."""
    from infra.cli.logs import follow_logs, read_logs
    from infra.cli.project import Project
    from infra.cli.runs import find
    from infra.cli.target import connect

    if follow and json:
        raise InputError("--json prints one document: it cannot --follow")
    with connect(Project.find(), offline=offline) as target:
        this = find(target, run)
        if json:
            print_json({"run": this.id, "lines": [asdict(line) for line in read_logs(target, this)]})
            return
        lines = follow_logs(target, this, interval_s=_interval(offline)) if follow else read_logs(target, this)
        for line in lines:
            attempt = line.stream.split("/")[0].rsplit("-", 1)[-1]
            out.print(f"[{attempt}] {line.message}", markup=False)


@app.command()
def stop(run: RunName, offline: Offline = False, json: Json = False) -> None:
    """Stop a run: its execution and its jobs."""
    from infra.cli.project import Project
    from infra.cli.runs import find
    from infra.cli.stop import stop as stop_run
    from infra.cli.target import connect

    with connect(Project.find(), offline=offline) as target:
        summary = stop_run(target, find(target, run), interval_s=_interval(offline))
    if json:
        print_json(summary)
    else:
        say(f"run {summary['run']}: {summary['status']}")


@offline_app.command("up")
def offline_up(
    faults: Annotated[Path | None, typer.Option(help="Faults to inject (YAML).")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any free one.")] = 0,
    json: Json = False,
) -> None:
    """Start the account, ready for `cdk deploy`, and print the variables that point an AWS client at it."""
    from infra.cli.deploy import bootstrap
    from infra.cli.lease import Lease
    from infra.cli.project import Project
    from infra.cli.target import Target, bring_up

    project = Project.find()
    lease = Lease(project.state)
    try:
        account, info = bring_up(project, lease, faults=faults, port=port)
        lease.keep()
        environment = account.environment(info)
        # Without Node or the CDK CLI the account is good for everything but deploying.
        with suppress(EnvironmentNotReady):
            bootstrap(project, Target(offline=True, environment=environment))
    finally:
        lease.close()
    if json:
        print_json({"pid": info.pid, "endpoint_url": info.endpoint_url, "environment": environment})
        return
    for key, value in environment.items():
        out.print(f"export {key}={value}", markup=False)
    say(f"the offline account is up at {info.endpoint_url} (process {info.pid}); stop it: slipstream offline down")


@offline_app.command("down")
def offline_down(json: Json = False) -> None:
    """Stop the account and every process that it started."""
    from infra.cli.project import Project
    from infra.offline.account import Account

    was_up = Account(Project.find().state).down()
    if json:
        print_json({"was_up": was_up})
    else:
        say("the offline account is down" if was_up else "the offline account was not up")


@offline_app.command("status")
def offline_status(json: Json = False) -> None:
    """Whether the account is up, and where."""
    from infra.cli.project import Project
    from infra.offline.account import Account

    info = Account(Project.find().state).status()
    if json:
        print_json({"up": info is not None} | ({"pid": info.pid, "endpoint_url": info.endpoint_url} if info else {}))
    elif info is None:
        out.print("down")
    else:
        out.print(f"up at {info.endpoint_url} (process {info.pid})", markup=False)


def _source_dirs(project: Any, jobs: list[Any]) -> list[Path]:
    return [folder for job in jobs if (folder := project.root / job.source_dir).is_dir()]


def _print_runs(runs: list[dict[str, Any]]) -> None:
    from rich.table import Table

    if not runs:
        say("no runs yet")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("run", "job", "status", "started", "took"):
        table.add_column(column)
    for row in runs:
        took = duration(row["ended"] - row["started"]) if row["ended"] else "-"
        table.add_row(row["run"], row["job"], row["status"], when(row["started"]), took)
    out.print(table)


@app.callback(invoke_without_command=False)
def _common(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False,
) -> None:
    del version  # the callback has printed it and ended


def main() -> None:
    """Entry point. No traceback reaches a user: each error says what, why and what next."""
    json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=False)
        if code == CTRL_C and json:
            print_json({"error": "interrupted", "message": "stopped by Ctrl-C", "hint": None})
        sys.exit(code if isinstance(code, int) else 0)
    except CliError as error:
        _report(error, json)
        sys.exit(error.exit_code)
    except typer.TyperException as error:  # an unknown option, a missing argument
        if json:
            print_json({"error": "usage", "message": error.format_message(), "hint": None})
        error.show()  # type: ignore[attr-defined]  # click.ClickException, which typer carries inside
        sys.exit(2)
    except BrokenPipeError:  # `slipstream logs RUN | head`
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if (known := _environment_error(error)) is None:
            raise
        _report(known, json)
        sys.exit(known.exit_code)


def _report(error: CliError, json: bool) -> None:
    if json:
        print_json(error.document())
    err.print(error.message, style="red", markup=False)
    if error.hint:
        err.print(error.hint, style="dim", markup=False)


def _environment_error(error: Exception) -> CliError | None:
    """AWS's and the machine's own refusals, as ours."""
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.exceptions import ConnectionError as BotoConnectionError

    if isinstance(error, BotoConnectionError) and "//localhost:" in str(error):
        return EnvironmentNotReady(
            "the offline account has ended under this command",
            hint="its last words are in .slipstream/account.log; what ran can be seen: slipstream status --offline",
        )
    if isinstance(error, ClientError | BotoCoreError):
        return EnvironmentNotReady(f"AWS refused: {error}")
    if isinstance(error, OSError):
        return EnvironmentNotReady(f"this machine refused: {error}")
    return None
