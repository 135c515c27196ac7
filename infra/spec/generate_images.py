"""Generate `images.json` from the SageMaker SDK, or compare it: `python -m infra.spec.generate_images [--check]`.

Needs the extra `images`, and a minute. What ends up in the table is taken apart from the URIs that the SDK itself
builds, region by region, rather than copied from the SDK's own tables, whose layout is nobody's contract.
"""

from __future__ import annotations

import difflib
import json
import sys
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any

from .images import TABLE

__all__ = ["main"]

_FRAMEWORK = "pytorch"
_OLDEST = (2, 0)
"""`training/` runs on PyTorch 2.0 and later."""
_INSTANCES = {"cpu": "ml.m5.xlarge", "gpu": "ml.g5.xlarge"}
"""One of each device: the SDK derives the image's device from an instance type."""


def _generate() -> dict[str, Any]:
    # Not a plain import: the type checker runs without the extra.
    image_uris = import_module("sagemaker.core.image_uris")
    config = image_uris.config_for_framework(_FRAMEWORK)["training"]
    accounts: dict[str, str] = {}
    versions: dict[str, dict[str, Any]] = {}
    for short, full in config["version_aliases"].items():
        if tuple(map(int, short.split("."))) < _OLDEST:
            continue
        python = config["versions"][full]["py_versions"][-1]
        regions = sorted(config["versions"][full]["registries"])
        versions[short] = {"regions": regions}
        for device, instance in _INSTANCES.items():
            for region in regions:
                uri = image_uris.retrieve(
                    _FRAMEWORK, region, full, python, instance_type=instance, image_scope="training"
                )
                account, repository, tag = _parts(uri, region)
                # That these agree everywhere is what lets one CfnMapping be keyed by region alone.
                _agree(accounts, region, account)
                _agree(versions[short], "repository", repository)
                _agree(versions[short], device, tag)
    for entry in versions.values():
        entry["absent"] = sorted(accounts.keys() - set(entry.pop("regions")))
    return {
        "about": {
            "source": f"sagemaker.core.image_uris.retrieve of sagemaker-core {installed_version('sagemaker-core')}",
            "command": "make images",
        },
        "accounts": dict(sorted(accounts.items())),
        "frameworks": {_FRAMEWORK: versions},
    }


def _parts(uri: str, region: str) -> tuple[str, str, str]:
    """Account, repository and tag of `<account>.dkr.ecr.<region>.<domain>/<repository>:<tag>`."""
    registry, _, image = uri.partition("/")
    repository, _, tag = image.partition(":")
    return registry.partition(f".dkr.ecr.{region}.")[0], repository, tag


def _agree(table: dict[str, Any], key: str, value: object) -> None:
    if table.setdefault(key, value) != value:
        raise SystemExit(f"the SDK says {value!r} and {table[key]!r} for {key}: images.json cannot express that")


def main(arguments: list[str]) -> int:
    """Write the table, or with `--check` show how the one checked in differs. Returns the exit code."""
    text = json.dumps(_generate(), indent=2) + "\n"
    if "--check" not in arguments:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    was = TABLE.read_text(encoding="utf-8")
    sys.stderr.writelines(
        difflib.unified_diff(was.splitlines(keepends=True), text.splitlines(keepends=True), TABLE.name, "SageMaker SDK")
    )
    return int(was != text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
