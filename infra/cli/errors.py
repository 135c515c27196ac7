"""What goes wrong at the command line, and with which exit code it ends.

0 ok, 1 the run failed or was stopped, 2 the user's input is wrong, 3 the environment is not ready, 130 Ctrl-C.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CliError", "EnvironmentNotReady", "InputError"]


class CliError(Exception):
    """An error the user can act on: what happened, why, and what to do next."""

    exit_code = 1
    kind = "error"

    def __init__(self, message: str, *, hint: str | None = None, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}

    def document(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {"error": self.kind, "message": self.message, "hint": self.hint, **self.details}


class InputError(CliError):
    """The job file, fault file or arguments are wrong; nothing was started."""

    exit_code = 2
    kind = "input"


class EnvironmentNotReady(CliError):  # noqa: N818 - reads as what it says
    """Something is missing on this machine or in the account: Node, the CDK CLI, credentials, a deployment."""

    exit_code = 3
    kind = "environment"
