"""Hostile and broken YAML: refused with a line, quickly, and without running anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.spec.document import MAX_BYTES, parse_document, read_document
from infra.spec.problems import JobFileError, Problem

BILLION = "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(9))


def refused(text: str) -> list[Problem]:
    with pytest.raises(JobFileError) as caught:
        parse_document(text, name="job.yaml")
    return caught.value.problems


def complaints(text: str) -> list[Problem]:
    try:
        parse_document(text, name="job.yaml")
    except JobFileError as error:
        return error.problems
    return []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("true", True),
        ("1e-4", 1e-4),
        ("1e3", 1000.0),
        ("0x1F", 31),
        ("0o17", 15),
        ("017", 17),
        ("-5", -5),
        ("1:30", "1:30"),
        ("2026-12-01T18:00:00+01:00", "2026-12-01T18:00:00+01:00"),
        ("2026-12-01", "2026-12-01"),
        ("~", None),
        ('"2.10"', "2.10"),
        ("'x: y'", "x: y"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    read = parse_document(f"key: {text}", name="job.yaml").data["key"]
    assert read == value
    assert type(read) is type(value)


def test_every_value_has_its_line() -> None:
    document = parse_document("a: 1\nb:\n  c: [x,\n    y]\n  d:\n    - {e: 1}\n", name="job.yaml")
    assert document.data == {"a": 1, "b": {"c": ["x", "y"], "d": [{"e": 1}]}}
    lines = {path: place.line for path, place in document.positions.items()}
    assert lines[("a",)] == 1
    assert lines[("b",)] == 2
    assert lines[("b", "c")] == 3
    assert lines[("b", "c", 1)] == 4
    assert lines[("b", "d", 0, "e")] == 6


def test_a_missing_key_stands_where_its_parent_does() -> None:
    document = parse_document("a: 1\nb:\n  c: 2\n", name="job.yaml")
    assert document.locate(("b", "absent", 3)).line == 2
    assert document.locate(("absent",)).line == 1


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("a: 1\na: 2", "yaml-duplicate-key", 2),
        ("x:\n  b: 1\n  c: 1\n  b: 2", "yaml-duplicate-key", 4),
        ("a: !!python/object/apply:os.system [id]", "yaml-tag", 1),
        ("a: !include secrets.yaml", "yaml-tag", 1),
        ("a: !x%1B%5B31m y", "yaml-tag", 1),
        ('!!int "\\e[31m": y', "yaml-key", 1),
        ("a: !!binary aGk=", "yaml-tag", 1),
        ("a: !!set {x, y}", "yaml-tag", 1),
        ("base: &b {x: 1}\na:\n  <<: *b", "yaml-merge-key", 3),
        ("a: 1\n2: b", "yaml-key", 2),
        ("? [x]\n: b", "yaml-key", 1),
        ("a: .inf", "yaml-value", 1),
        ("a: 1e999", "yaml-value", 1),
        ("a: " + "9" * 5000, "yaml-value", 1),
        ('a: 1\nb: "\\e[31m"', "yaml-character", 2),
        ('a: "x\\u202Ey"', "yaml-character", 1),
        ('a: "\\ud800"', "yaml-character", 1),
        ("a: x\x07", "yaml-character", 1),
        ("a: 1\nb: [1, 2", "yaml-syntax", 2),
        ("a: 1\n\tb: 2", "yaml-syntax", 2),
        ("a: *nowhere", "yaml-syntax", 1),
        ("a: 1\n---\nb: 2", "yaml-syntax", 2),
        ("%YAML 9.9\n---\na: 1", "yaml-syntax", 1),
        ("a: &a [*a]", "yaml-size", 1),
        ("x:\n  " + "[" * 100_000, "yaml-size", 2),
        ("k: v\n" * 6_000, "yaml-size", 5_000),
        ("a: " + "{b: " * 60 + "1" + "}" * 60, "yaml-size", 1),
        (BILLION, "yaml-size", 1),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_refused(text: str, rule: str, line: int) -> None:
    first = refused(text)[0]
    assert (first.rule, first.line) == (rule, line), str(first)
    assert "\x1b" not in str(first)


def test_all_that_is_wrong_with_the_yaml_is_told_at_once() -> None:
    assert [problem.line for problem in refused("a: !x 1\nb: 1\nb: 2\nc: .nan\n")] == [1, 3, 4]


@pytest.mark.parametrize(
    ("content", "rule", "line"),
    [
        (b"a: 1\nb: \xff\n", "file-encoding", 2),
        ("a: 1".encode("utf-16"), "file-encoding", 1),
        (b"# " + b"x" * MAX_BYTES, "file-size", 1),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, content: bytes, rule: str, line: int) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    with pytest.raises(JobFileError) as caught:
        read_document(path)
    assert [(problem.rule, problem.line) for problem in caught.value.problems] == [(rule, line)]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match=r"absent\.yaml:1: cannot be read: No such file"):
        read_document(tmp_path / "absent.yaml")
    with pytest.raises(JobFileError, match=r"cannot be read: Is a directory"):
        read_document(tmp_path)


def test_a_byte_order_mark_is_no_key(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_document(path).data == {"a": 1}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab: #-\n"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_json_comes_back_as_it_is(value: Any) -> None:
    assert parse_document(json.dumps({"key": value}), name="job.yaml").data == {"key": value}


@given(st.text(max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"%@`#?, \n\t01.e_~<", max_size=60))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    lines = sum(text.count(end) for end in "\n\r\x85\u2028\u2029")
    for problem in complaints(text):
        assert 1 <= problem.line <= lines + 2
        assert str(problem).isprintable()
