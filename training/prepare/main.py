"""The processing job: reads SLIPSTREAM_PREPARE (the recipe), writes and uploads what training will read.

Folders as SageMaker Processing lays them out, under /opt/ml/processing (movable by SAGEMAKER_PROCESSING_DIR):
`input/raw/` holds the raw files, `output/prepared/` gets the result. SLIPSTREAM_PREPARED names the S3 prefix to which
it goes, the manifest last, so that a prefix that has one is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from training.config import ConfigError, PrepareConfig
from training.data.manifest import LABEL, MANIFEST, DataError, Manifest
from training.prepare.clean import CleanReport, clean
from training.prepare.shards import category_text, fit_features, write_shards
from training.prepare.split import split_rows
from training.s3 import Prefix

__all__ = ["main", "prepare"]

QUALITY = "quality.json"


def main(variables: Mapping[str, str] = os.environ) -> int:
    """Exit code: 0, or 1 with the reason on stderr and in the job's exit message."""
    root = Path(variables.get("SAGEMAKER_PROCESSING_DIR", "/opt/ml/processing"))
    try:
        recipe = json.loads(variables["SLIPSTREAM_PREPARE"])
        manifest = prepare(root / "input" / "raw", root / "output" / "prepared", recipe)
        if "SLIPSTREAM_PREPARED" in variables:
            _upload(root / "output" / "prepared", manifest, Prefix(variables["SLIPSTREAM_PREPARED"]))
    except (ConfigError, DataError) as error:
        return _fail(root, f"data.prepare: {error}")
    except Exception as error:
        traceback.print_exc()
        return _fail(root, f"{type(error).__name__}: {error}")
    print(f"slipstream prepared {manifest.hash[:16]}", flush=True)
    return 0


def prepare(raw: Path, folder: Path, recipe: Mapping[str, Any]) -> Manifest:
    """Carry out `recipe` on the files in `raw`; `folder` is emptied first. Raises ConfigError, DataError."""
    started = time.monotonic()
    config = PrepareConfig.from_mapping(recipe)
    frame, report = clean(read_table(raw, config.source), config, lambda source: read_table(raw, source))
    for name in config.categorical:
        if name != config.split.column:  # which has its own order still to give
            frame[name] = category_text(frame[name])
    splits = split_rows(frame, config.split)
    numeric, categorical = fit_features(splits["train"], config)
    shutil.rmtree(folder, ignore_errors=True)
    shards = {split: write_shards(rows, folder, split, config) for split, rows in splits.items()}
    manifest = Manifest(recipe=_shaping(config), numeric=numeric, categorical=categorical, splits=shards)
    (folder / QUALITY).write_text(json.dumps(_quality(report, splits, manifest), indent=1) + "\n")
    (folder / MANIFEST).write_text(manifest.to_json())
    counts = " ".join(f"{split}={len(rows)}" for split, rows in splits.items())
    print(f"slipstream rows_in={report.rows_in} {counts} seconds={time.monotonic() - started:.1f}", flush=True)
    return manifest


def read_table(raw: Path, pattern: str) -> pd.DataFrame:
    """All files in `raw` that match, one after another by name. Raises DataError."""
    paths = sorted(path for path in raw.glob(pattern) if path.is_file())
    if not paths:
        there = ", ".join(sorted(path.name for path in raw.glob("*"))) or "nothing"
        raise DataError(f"no raw file matches {pattern!r}; there is {there}")
    try:
        tables = [_read_file(path) for path in paths]
        return pa.concat_tables(tables).to_pandas()
    except (pa.ArrowInvalid, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"{', '.join(path.name for path in paths)} cannot be read: {error}") from error


def _read_file(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    missing_text = pa_csv.ConvertOptions(strings_can_be_null=True)
    if path.suffix != ".zip":
        return pa_csv.read_csv(path, convert_options=missing_text)  # .gz is recognized
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".csv") and not name.startswith("__MACOSX/")]
        with_rows = [pa_csv.read_csv(archive.open(name), convert_options=missing_text) for name in sorted(names)]
    return pa.concat_tables(with_rows)


def _shaping(config: PrepareConfig) -> dict[str, Any]:
    """The recipe with its defaults, less what does not touch the data."""
    recipe = config.to_mapping()
    del recipe["instance"]
    return recipe


def _quality(report: CleanReport, splits: Mapping[str, pd.DataFrame], manifest: Manifest) -> dict[str, Any]:
    return {
        **asdict(report),
        "splits": {
            split: {"rows": len(rows), "positive_share": round(float(rows[LABEL].mean()), 6)}
            for split, rows in splits.items()
        },
        "categories": {feature.name: len(feature.vocabulary) for feature in manifest.categorical},
        "hash": manifest.hash,
    }


def _upload(folder: Path, manifest: Manifest, prefix: Prefix) -> None:
    names = [shard.name for shards in manifest.splits.values() for shard in shards]
    for name in (*names, QUALITY, MANIFEST):
        prefix.put_file(name, folder / name)


def _fail(root: Path, reason: str) -> int:
    """DescribeProcessingJob shows the message as ExitMessage (at most 1 KB)."""
    print(f"slipstream exit=1 {reason}", file=sys.stderr, flush=True)
    message = root.parent / "output" / "message"
    message.parent.mkdir(parents=True, exist_ok=True)
    message.write_text(reason[:1000])
    return 1
