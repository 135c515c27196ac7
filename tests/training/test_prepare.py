"""The preparation step: the same bytes twice, every rule counted, wrong input refused by name."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import boto3
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from moto import mock_aws

from tests.training.conftest import NUM_ROWS, RECIPE, ROOT, write_trips
from training.config import PrepareConfig
from training.data.manifest import MANIFEST, CategoricalFeature, DataError, Manifest, NumericFeature
from training.data.tables import encode, read_split
from training.prepare.clean import clean
from training.prepare.main import main, prepare, read_table
from training.prepare.shards import fit_features
from training.prepare.split import split_rows
from training.s3 import Prefix


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def frame_of(prepared: Path, split: str) -> pd.DataFrame:
    return pd.concat([pq.read_table(path).to_pandas() for path in sorted((prepared / split).iterdir())])


def no_table(source: str) -> pd.DataFrame:
    raise AssertionError(source)


def recipe(**change: Any) -> PrepareConfig:
    return PrepareConfig.from_mapping({**RECIPE, **change})


def test_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    write_trips(tmp_path / "raw")
    for name in ("once", "twice"):
        prepare(tmp_path / "raw", tmp_path / name, RECIPE)
    once = contents(tmp_path / "once")
    assert once == contents(tmp_path / "twice")
    assert {"MANIFEST.json", "quality.json", "train/part-00000.parquet", "train/part-00001.parquet"} <= once.keys()


def test_one_changed_value_changes_the_hash(tmp_path: Path) -> None:
    write_trips(tmp_path / "raw")
    first = prepare(tmp_path / "raw", tmp_path / "a", RECIPE).hash
    text = (tmp_path / "raw" / "trips.csv").read_text()
    (tmp_path / "raw" / "trips.csv").write_text(re.sub(r",AA,", ",BB,", text, count=1))
    assert prepare(tmp_path / "raw", tmp_path / "b", RECIPE).hash != first


def test_the_quality_report_counts(tmp_path: Path) -> None:
    write_trips(tmp_path / "raw")
    path = tmp_path / "raw" / "trips.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, *lines[100:130]]) + "\n")
    manifest = prepare(tmp_path / "raw", tmp_path / "prepared", RECIPE)
    quality = json.loads((tmp_path / "prepared" / "quality.json").read_text())
    assert quality["rows_in"] == NUM_ROWS + 30
    assert quality["duplicates_removed"] == 30
    assert quality["rows_without_label"] == NUM_ROWS // 40
    assert quality["rows_out"] == NUM_ROWS - NUM_ROWS // 40
    assert sum(split["rows"] for split in quality["splits"].values()) == quality["rows_out"]
    assert quality["missing"]["wind"] > 0
    assert quality["categories"] == {"carrier": 4, "weekday": 7}
    assert quality["hash"] == manifest.hash


def test_a_split_by_time_is_in_order_and_parts_no_moment(tmp_path: Path) -> None:
    write_trips(tmp_path)
    parts = split_rows(read_table(tmp_path, "trips.csv"), recipe().split)
    for earlier, later in (("train", "validation"), ("validation", "test")):
        assert parts[earlier]["hour"].max() < parts[later]["hour"].min()
    assert sum(map(len, parts.values())) == NUM_ROWS
    assert len(parts["train"]) == pytest.approx(0.6 * NUM_ROWS, abs=2)


def test_a_split_by_hash_does_not_depend_on_the_other_rows(tmp_path: Path) -> None:
    write_trips(tmp_path)
    frame = read_table(tmp_path, "trips.csv")
    frame["key"] = range(len(frame))
    config = recipe(split={"by": "hash", "column": "key", "train": 0.7, "validation": 0.3, "test": 0}).split
    whole = split_rows(frame, config)
    some = split_rows(frame.sample(frac=0.5, random_state=1), config)
    assert set(whole) == {"train", "validation"}
    assert set(some["train"]["key"]) <= set(whole["train"]["key"])
    assert set(some["validation"]["key"]) <= set(whole["validation"]["key"])
    assert len(whole["train"]) == pytest.approx(0.7 * NUM_ROWS, rel=0.1)


def test_what_is_filed_under_an_hour_is_joined_from_the_next_on() -> None:
    """Weather of 10:51 is filed under 10:00; a flight at 10:05 must not see it, one at 11:05 may."""
    flights = pd.DataFrame({"hour": ["2013-01-01 10:00:00", "2013-01-01 11:00:00"], "delay": [1, 20]})
    weather = pd.DataFrame({"hour": ["2013-01-01 10:00:00", "2013-01-01 09:00:00"], "temp": [10.0, 9.0]})
    config = PrepareConfig.from_mapping(
        {
            "source": "f",
            "label": {"column": "delay", "greater_than": 15},
            "numeric": ["temp"],
            "joins": [{"source": "w", "on": ["hour"], "columns": ["temp"], "shift_hours": {"hour": 1}}],
        }
    )
    frame, report = clean(flights, config, lambda source: weather)
    assert frame["temp"].tolist() == [9.0, 10.0]
    assert frame["hour"].tolist() == flights["hour"].tolist(), "the first table's own time stays"
    assert report.joined == {"w": 2}


def test_only_a_key_of_the_join_can_be_shifted() -> None:
    join = {"source": "w", "on": ["hour"], "columns": ["temp"], "shift_hours": {"day": 1}}
    recipe = {"source": "f", "label": {"column": "delay"}, "numeric": ["temp"], "joins": [join]}
    assert [problem.key for problem in PrepareConfig.check(recipe)] == ["joins.0.shift_hours.day"]


def test_joins_keep_every_row_once() -> None:
    flights = pd.DataFrame({"tail": ["a", "b", None, "c"], "delay": [1, 20, 30, 2], "x": [1.0, 2.0, 3.0, 4.0]})
    planes = pd.DataFrame({"tail": ["a", "a", "b", None], "seats": [10, 11, 12, 13]})
    config = PrepareConfig.from_mapping(
        {
            "source": "f",
            "label": {"column": "delay", "greater_than": 15},
            "numeric": ["x", "plane_seats"],
            "joins": [{"source": "planes", "on": ["tail"], "columns": ["seats"], "prefix": "plane_"}],
        }
    )
    frame, report = clean(flights, config, lambda source: planes)
    assert frame["plane_seats"].fillna(-1).tolist() == [10, 12, -1, -1]
    assert frame["label"].tolist() == [0, 1, 1, 0]
    assert report.joined == {"planes": 2}


def test_derived_columns() -> None:
    frame = pd.DataFrame({"clock": [5, 1215, 2359], "at": ["2013-01-02T01:00:00Z"] * 3, "delay": [0, 1, 0]})
    config = PrepareConfig.from_mapping(
        {
            "source": "f",
            "label": {"column": "delay"},
            "deduplicate": False,
            "numeric": ["minute", "day"],
            "categorical": ["utc", "local"],
            "derive": {
                "minute": {"from": "clock", "to": "minute_of_day"},
                "day": {"from": "at", "to": "day_of_year"},
                "utc": {"from": "at", "to": "weekday"},
                "local": {"from": "at", "to": "weekday", "timezone": "America/New_York"},
            },
        }
    )
    frame, _ = clean(frame, config, no_table)
    assert frame["minute"].tolist() == [5, 735, 1439]
    assert frame["day"].tolist() == [2, 2, 2]
    assert (frame["utc"][0], frame["local"][0]) == (2, 1)  # Wednesday in Greenwich, still Tuesday in New York


def test_a_category_is_written_alike_in_every_split(tmp_path: Path) -> None:
    """A fraction in the last rows must not turn 1 into 1.0 there alone."""
    lines = ["at,kind,late", *(f"2024-01-{day:02},{day % 2},{day % 2}" for day in range(1, 31)), "2024-01-31,0.5,1"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    given = {"source": "a.csv", "label": {"column": "late"}, "categorical": ["kind"], "min_category_count": 1}
    manifest = prepare(tmp_path, tmp_path / "prepared", {**given, "split": RECIPE["split"] | {"column": "at"}})
    known = set(manifest.categorical[0].vocabulary)
    assert set(frame_of(tmp_path / "prepared", "test")["kind"]) - known == {"0.5"}


def test_the_time_of_the_split_may_be_a_category_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,late\n" + "".join(f"{day},{day % 2}\n" for day in range(1, 31)))
    split = {"by": "time", "column": "day", "train": 0.5, "validation": 0.3, "test": 0.2}
    recipe = {"source": "a.csv", "label": {"column": "late"}, "categorical": ["day"], "split": split}
    prepare(tmp_path, tmp_path / "prepared", recipe)
    assert list(frame_of(tmp_path / "prepared", "train")["day"]) == [str(day) for day in range(1, 16)]


def test_infinity_counts_as_missing() -> None:
    frame = pd.DataFrame({"x": [1.0, float("inf"), -float("inf")], "late": [0, 1, 0]})
    config = PrepareConfig.from_mapping({"source": "f", "label": {"column": "late"}, "numeric": ["x"]})
    cleaned, report = clean(frame, config, no_table)
    assert report.missing == {"x": 2}
    (feature,), _ = fit_features(cleaned, config)
    assert (feature.mean, feature.impute) == (1.0, 1.0)


def test_rows_with_missing_features_can_be_dropped(tmp_path: Path) -> None:
    write_trips(tmp_path)
    config = recipe(missing={"numeric": "drop", "categorical": "drop"})
    frame, report = clean(read_table(tmp_path, "trips.csv"), config, no_table)
    assert report.rows_dropped_missing > 50
    assert not frame[["wind", "carrier"]].isna().any().any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": "trip.csv"}, r"no raw file matches 'trip\.csv'; there is trips\.csv"),
        ({"label": {"column": "late"}}, r"trips\.csv: no column 'late'; there are hour, carrier"),
        ({"numeric": ["wind", "rain"]}, "no column 'rain'"),
        ({"label": {"column": "delay"}}, "label 'delay' has values other than 0 and 1"),
        ({"derive": {"weekday": {"from": "when", "to": "weekday"}}}, r"derive\.weekday: no column 'when'"),
        ({"numeric": ["carrier"], "categorical": []}, r"column 'carrier' has \d+ values that are no number, such as"),
        (
            {"label": {"column": "carrier", "greater_than": 1}, "categorical": ["weekday"]},
            "column 'carrier' has .* no number",
        ),
        ({"split": {"by": "time", "column": "carrier"}}, r"split\.column: 'carrier' is text"),
        ({"joins": [{"source": "planes.csv", "on": ["x"], "columns": ["y"]}]}, r"no raw file matches 'planes\.csv'"),
    ],
)
def test_wrong_input_is_refused_by_name(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_trips(tmp_path / "raw")
    with pytest.raises(DataError, match=message):
        prepare(tmp_path / "raw", tmp_path / "prepared", {**RECIPE, **change})


def test_ragged_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(DataError, match=r"trips\.csv cannot be read: .*Expected 2 columns, got 1"):
        read_table(tmp_path, "trips.csv")


def test_every_form_of_a_table_reads_the_same(tmp_path: Path) -> None:
    write_trips(tmp_path, num_rows=50)
    expected = read_table(tmp_path, "trips.csv")
    text = (tmp_path / "trips.csv").read_bytes()
    with zipfile.ZipFile(tmp_path / "zipped.csv.zip", "w") as archive:
        archive.writestr("trips.csv", text)
        archive.writestr("__MACOSX/._trips.csv", b"\0")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text))
    expected.to_parquet(tmp_path / "columns.parquet")
    for name in ("zipped*", "packed*", "columns*"):
        # Parquet has no seconds, only milliseconds: the dtype differs, the values do not.
        pd.testing.assert_frame_equal(read_table(tmp_path, name), expected, check_dtype=False)


# -- the job --------------------------------------------------------------------------------------------------------


def job(tmp_path: Path, **variables: str) -> dict[str, str]:
    write_trips(tmp_path / "processing" / "input" / "raw")
    return {
        "SAGEMAKER_PROCESSING_DIR": str(tmp_path / "processing"),
        "SLIPSTREAM_PREPARE": json.dumps(RECIPE),
        **variables,
    }


def test_the_manifest_is_uploaded_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    order: list[str] = []
    put_file = Prefix.put_file
    monkeypatch.setattr(Prefix, "put_file", lambda self, name, path: (order.append(name), put_file(self, name, path)))
    with mock_aws():
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="data")
        assert main(job(tmp_path, SLIPSTREAM_PREPARED="s3://data/trips/prepared/ab12/")) == 0
        found = s3.list_objects_v2(Bucket="data")["Contents"]
    names = [entry["Key"].removeprefix("trips/prepared/ab12/") for entry in found]
    assert sorted(names) == sorted(contents(tmp_path / "processing" / "output" / "prepared"))
    assert order[-1] == MANIFEST
    assert sorted(order) == sorted(names)


def test_a_refusal_becomes_the_exit_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variables = job(tmp_path, SLIPSTREAM_PREPARE=json.dumps({**RECIPE, "numeric": ["rain"]}))
    assert main(variables) == 1
    assert "slipstream exit=1 data.prepare: " in capsys.readouterr().err
    assert "no column 'rain'" in (tmp_path / "output" / "message").read_text()


def test_it_needs_no_torch(tmp_path: Path) -> None:
    code = "import sys, training.prepare.main; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "False\n"


# -- reading it back ------------------------------------------------------------------------------------------------


def test_training_reads_scaled_and_numbered_values(prepared: Path) -> None:
    manifest = Manifest.read(prepared / MANIFEST)
    table = read_split(prepared / "train", "train", manifest)
    frame = frame_of(prepared, "train")
    assert len(table) == len(frame)
    torch.testing.assert_close(table.numeric.mean(0), torch.zeros(2), atol=1e-4, rtol=0)
    torch.testing.assert_close(table.numeric.std(0, correction=0), torch.ones(2), atol=1e-4, rtol=0)
    carriers = manifest.categorical[0]
    expected = [carriers.vocabulary.index(c) + 1 if isinstance(c, str) else 0 for c in frame["carrier"]]
    assert table.categorical[:, 0].tolist() == expected
    assert table.label.tolist() == frame["label"].tolist()


def test_missing_and_unseen_values() -> None:
    rows = pd.DataFrame({"wind": [1.0, None], "carrier": ["BB", "ZZ"]})
    numeric, categorical = encode(
        pa.Table.from_pandas(rows),
        [NumericFeature(name="wind", mean=2.0, std=4.0, impute=10.0)],
        [CategoricalFeature(name="carrier", vocabulary=("AA", "BB"))],
    )
    assert numeric.tolist() == [[-0.25], [2.0]]
    assert categorical.tolist() == [[2], [0]]


def test_a_changed_shard_or_manifest_is_refused(tmp_path: Path) -> None:
    write_trips(tmp_path / "raw")
    manifest = prepare(tmp_path / "raw", tmp_path, RECIPE)
    shard = tmp_path / "train" / "part-00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(DataError, match="is not the file that was prepared"):
        read_split(tmp_path / "train", "train", manifest)
    path = tmp_path / MANIFEST
    path.write_text(path.read_text().replace('"wind"', '"wand"', 1))
    with pytest.raises(DataError, match="does not match its own hash"):
        Manifest.read(path)
    with pytest.raises(DataError, match="'manifest' channel"):
        Manifest.read(tmp_path / "nowhere" / MANIFEST)
