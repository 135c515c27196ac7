"""The command line: `slipstream`."""

from infra.cli.main import main

__all__ = ["main"]
