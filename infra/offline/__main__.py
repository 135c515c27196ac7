"""`python -m infra.offline`: the account's process. People use `slipstream offline up`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path

from .account import REGION, AccountError
from .faults import Fault
from .seams.botocore import share_loader
from .settings import Settings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.offline", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="the account's state")
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; 0 takes any free one")
    parser.add_argument("--region", default=REGION)
    parser.add_argument("--settings", type=json.loads, default={}, help="JSON, see settings.py")
    parser.add_argument("--faults", type=json.loads, default=[], help="JSON list of rules")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    share_loader()
    from .server import run  # imports moto, which must find the shared loader

    try:
        run(
            arguments.folder,
            port=arguments.port,
            region=arguments.region,
            settings=Settings(**arguments.settings),
            faults=[Fault.from_mapping(rule) for rule in arguments.faults],
        )
    except (AccountError, ValueError) as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
