"""Start an execution of a job's state machine."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any

from infra.cli.errors import CliError, EnvironmentNotReady, InputError
from infra.cli.runs import Run, run_id
from infra.cli.target import Target
from infra.spec import Job

__all__ = ["OFFLINE_LOOK_S", "execution_input", "refuse_unavailable", "start"]

OFFLINE_LOOK_S = 1.0
"""Offline a job takes seconds, so the machine looks every second."""


def refuse_unavailable(job: Job) -> None:
    """Refuse what would silently be ignored. Raises `InputError` naming every such key."""
    problems = job.unavailable()
    if problems:
        raise InputError("\n".join(str(problem) for problem in problems))


def execution_input(job: Job, overrides: list[str], *, data_version: str, look_s: float | None) -> dict[str, Any]:
    """What `docs/execution-input.schema.json` describes.

    `job` has the overrides applied and is valid. Only hyperparameters and limits can differ from what is deployed:
    everything else is part of the state machine. Raises `InputError` for other overrides.
    """
    document: dict[str, Any] = {"data_version": data_version}
    if look_s is not None:
        document["look_s"] = look_s
    for override in overrides:
        key = override.partition("=")[0].strip()
        section, _, name = key.partition(".")
        if section == "hyperparameters" and name:
            top = name.split(".")[0]
            document.setdefault("hyperparameters", {})[top] = job.flat_hyperparameters()[top]
        elif key == "limits.deadline_at" and job.limits.deadline_at is not None:
            document["deadline_at"] = job.limits.deadline_at.isoformat()
        elif section == "limits" and name:
            document.setdefault("limits", {})[name] = getattr(job.limits, name)
        else:
            raise InputError(
                f"--set {override}: '{key}' is part of the deployed state machine",
                hint="change the job file and deploy; --set takes hyperparameters.* and limits.*",
            )
    return document


def start(job: Job, target: Target, document: dict[str, Any], *, name: str | None = None) -> Run:
    """Start the execution, or follow the running one of the same name and input.

    Raises `EnvironmentNotReady` when the machine is not deployed, `InputError` when the name is taken.
    """
    client = target.client("stepfunctions")
    arn = target.state_machine_arn(job.name)
    name = name or f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
    try:
        execution: str = client.start_execution(stateMachineArn=arn, name=name, input=json.dumps(document))[
            "executionArn"
        ]
    except client.exceptions.StateMachineDoesNotExist as error:
        raise EnvironmentNotReady(
            f"the state machine of '{job.name}' is not deployed in {target.describe()}",
            hint=f"deploy first: slipstream deploy{' --offline' if target.offline else ''}",
        ) from error
    except client.exceptions.ExecutionAlreadyExists as error:
        raise InputError(
            f"an execution named '{name}' exists: it is over, or runs with another input",
            hint="choose another --name, or leave it out; AWS keeps a closed execution's name for 90 days",
        ) from error
    except client.exceptions.InvalidName as error:
        raise InputError(f"--name '{name}' is not a name that Step Functions accepts") from error
    except client.exceptions.InvalidExecutionInput as error:
        raise CliError(f"Step Functions refused the input: {error}") from error
    return Run(id=run_id(execution), job=job.name, execution=execution)
