"""Entrypoint of the container: `python3 code.zip [train | rank | prepare]`, or `python -m training ...`.

Each branch imports its own part alone: the launcher has to listen for SIGTERM before anything heavy is read.
"""

from __future__ import annotations

import sys


def main(arguments: list[str]) -> int:
    command, *rest = arguments or ["train"]
    if command == "train":
        from training.stop import StopRequest

        # Before even the launcher is read: as process 1 of a container, it would never hear of an earlier SIGTERM.
        stop = StopRequest().listen()
        from training.launch import main as launch

        return launch(stop)
    if command == "rank":
        from training.train import main as rank

        return rank(rest)
    if command == "prepare":
        from training.prepare.main import main as prepare

        return prepare()
    print(f"unknown command {command!r}; known are train, rank, prepare", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
