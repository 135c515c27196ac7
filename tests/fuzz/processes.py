"""What a folder's processes are, and whether a port is listened on."""

from __future__ import annotations

import os
import socket
from pathlib import Path

__all__ = ["listening", "processes_naming"]


def processes_naming(text: str) -> dict[int, str]:
    """Live processes, this one aside, with `text` in their arguments or environment: id -> arguments."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes()  # empty once it is a zombie
            if arguments and text.encode() in arguments + (entry / "environ").read_bytes():
                found[int(entry.name)] = arguments.replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def listening(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0
