"""Who still needs the offline account: of the commands that use it at once, the last one to leave takes it down.

Every command holds a shared lock on `users.lock` for as long as it lives, so a killed one holds nothing. The mark
`for-commands` beside it says that the account was brought up by a command for itself; it goes when somebody asks for
the account to stay (`offline up`, `--detach`, Ctrl-C).
"""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["Lease"]


class Lease:
    """One command's use of the account in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._for_commands = folder / "for-commands"
        self._lock: Any = (folder / "users.lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_SH)  # waits while somebody takes the account down

    def brought_up(self) -> None:
        """This command started the account, for itself and whoever comes meanwhile."""
        self._for_commands.touch()

    def keep(self) -> None:
        """The account stays up whoever leaves."""
        self._for_commands.unlink(missing_ok=True)

    def leave(self) -> bool:
        """Whether this command is the last one, and has to take the account down. Others then wait until `close`.

        The own lock is given up first: of two that leave at once, each would see the other's, and neither would act.
        """
        if not self._for_commands.exists():
            return False
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        with suppress(BlockingIOError):  # somebody else uses it, and will find the mark
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def close(self) -> None:
        self._lock.close()
