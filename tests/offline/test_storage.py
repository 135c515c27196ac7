"""Objects as files: names, overwriting, survival."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.offline.storage import ObjectFiles, StoredObject


def stored(key: str, *, version: str = "null") -> StoredObject:
    return StoredObject(bucket="bucket", key=key, version=version)


def recall(folder: Path) -> dict[str, bytes]:
    files = ObjectFiles(folder)
    return {item.key: files.read(item) for item in files.recalled() if item.file}


def test_an_object_lies_where_a_person_looks_for_it(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    files.write(stored("flights/1a2b/ledger.json"), b"{}")
    assert (tmp_path / "bucket/flights/1a2b/ledger.json").read_bytes() == b"{}"


def test_objects_are_known_in_the_next_life(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    files.write(stored("a"), b"one")
    files.write(stored("b"), b"two")
    gone = stored("c")
    files.write(gone, b"three")
    files.remove(gone)
    assert recall(tmp_path) == {"a": b"one", "b": b"two"}


def test_metadata_is_kept(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    item = stored("a")
    files.write(item, b"one")
    item.metadata = {"content-type": "text/html"}
    files.record(item)
    (again,) = ObjectFiles(tmp_path).recalled()
    assert (again.metadata, again.etag) == ({"content-type": "text/html"}, item.etag)


def test_overwriting_keeps_the_new_file_when_the_old_object_goes(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    old, new = stored("a"), stored("a")
    files.write(old, b"old")
    files.write(new, b"new")
    files.remove(old)  # as moto does it: the new one is there before the old one is disposed of
    assert files.read(new) == b"new"
    assert recall(tmp_path) == {"a": b"new"}


def test_versions_have_files_of_their_own(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    first, second = stored("a", version="v1"), stored("a", version="v2")
    files.write(first, b"1")
    files.write(second, b"2")
    assert (files.read(first), files.read(second)) == (b"1", b"2")


@pytest.mark.parametrize(
    "keys",
    [
        ["a", "a/b"],
        ["a/b", "a"],
        ["a/", "a"],
        ["", "x//y", "x/y"],
        ["../../etc/passwd", "./x", "x"],
        ["n" * 900, "ü" * 300, "@", "%2E"],
    ],
)
def test_keys_that_no_file_system_takes(tmp_path: Path, keys: list[str]) -> None:
    files = ObjectFiles(tmp_path / "s3")
    items = {key: stored(key) for key in keys}
    for key, item in items.items():
        files.write(item, key.encode())
    assert {key: files.read(item) for key, item in items.items()} == {key: key.encode() for key in keys}
    assert recall(tmp_path / "s3") == {key: key.encode() for key in keys}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s3"]


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=40), st.binary(max_size=8), max_size=8))
def test_any_keys_read_back(tmp_path_factory: pytest.TempPathFactory, objects: dict[str, bytes]) -> None:
    objects = {key: value for key, value in objects.items() if _is_utf8(key)}
    folder = tmp_path_factory.mktemp("s3")
    files = ObjectFiles(folder)
    for key, value in objects.items():
        files.write(stored(key), value)
    assert recall(folder) == objects


def test_a_torn_last_line_costs_that_line_only(tmp_path: Path) -> None:
    ObjectFiles(tmp_path).write(stored("a"), b"one")
    with (tmp_path / "journal.jsonl").open("a") as journal:
        journal.write('{"put": {"bucket": "bu')
    assert recall(tmp_path) == {"a": b"one"}


def test_a_file_newer_than_its_journal_line_gets_a_true_etag(tmp_path: Path) -> None:
    item = stored("a")
    ObjectFiles(tmp_path).write(item, b"one")
    (tmp_path / item.file).write_bytes(b"longer")
    (again,) = ObjectFiles(tmp_path).recalled()
    assert again.size == 6
    assert again.etag != item.etag


def test_the_journal_does_not_grow_over_lives(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    for number in range(50):
        files.write(stored("progress.json"), str(number).encode())
    lines = (ObjectFiles(tmp_path), (tmp_path / "journal.jsonl").read_text().splitlines())[1]
    assert [json.loads(line)["put"]["key"] for line in lines] == ["progress.json"]


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
