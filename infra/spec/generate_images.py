"""Generate `images.json` from the SageMaker SDK, or compare it: `python -m infra.spec.generate_images [--check]`.

Needs the extra `images`. What ends up in the table is taken apart from the URIs that the SDK itself builds, region by
region, rather than from the SDK's own tables, whose layout is nobody's contract.
"""

from __future__ import annotations

import difflib
import json
import sys
from importlib.metadata import version as installed_version
from typing import Any

from .images import TABLE

__all__ = ["main"]

_FRAMEWORK = "pytorch"
_OLDEST = (2, 0)
"""`training/` runs on PyTorch 2.0 and later."""
_DEVICES = {"cpu": "ml.m5.xlarge", "gpu": "ml.g5.xlarge"}


def _generate() -> dict[str, Any]:
    from sagemaker.core import image_uris

    config = image_uris.config_for_framework(_FRAMEWORK)["training"]
    regions = sorted({region for entry in config["versions"].values() for region in entry["registries"]})
    registries: dict[str, tuple[str, str]] = {}
    versions: dict[str, dict[str, Any]] = {}
    for short, full in config["version_aliases"].items():
        if tuple(map(int, short.split("."))) < _OLDEST:
            continue
        python = config["versions"][full]["py_versions"][-1]
        offered = config["versions"][full]["registries"]
        entry: dict[str, Any] = {}
        for device, instance in _DEVICES.items():
            for region in offered:
                uri = image_uris.retrieve(
                    _FRAMEWORK,
                    region,
                    version=full,
                    py_version=python,
                    instance_type=instance,
                    image_scope="training",
                )
                registry, _, image = uri.partition("/")
                account, domain = registry.split(f".dkr.ecr.{region}.")
                repository, tag = image.split(":")
                # One account per region over all versions is what lets a CfnMapping be keyed by region alone.
                assert registries.setdefault(region, (account, domain)) == (account, domain), (region, uri)
                assert entry.setdefault("repository", repository) == repository, uri
                assert entry.setdefault(device, tag) == tag, uri
        versions[short] = entry | {"absent": [region for region in regions if region not in offered]}
    known = [region for region in regions if region in registries]
    for entry in versions.values():
        entry["absent"] = [region for region in entry["absent"] if region in registries]
    return {
        "about": {
            "source": f"sagemaker-core {installed_version('sagemaker-core')}, sagemaker.core.image_uris.retrieve",
            "command": "make images",
        },
        "accounts": {region: registries[region][0] for region in known},
        "domains": {region: registries[region][1] for region in known if registries[region][1] != "amazonaws.com"},
        "frameworks": {_FRAMEWORK: versions},
    }


def main(arguments: list[str]) -> int:
    """Write the table, or with `--check` say how the one checked in differs. Returns the exit code."""
    text = json.dumps(_generate(), indent=2) + "\n"
    if "--check" not in arguments:
        TABLE.write_text(text, encoding="utf-8")
        return 0
    was = TABLE.read_text(encoding="utf-8")
    difference = difflib.unified_diff(was.splitlines(True), text.splitlines(True), "images.json", "SageMaker SDK")
    sys.stderr.writelines(difference)
    return was != text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
