from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.spec.units import format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("28.8h", 103_680),
        ("90m", 5_400),
        ("6m30s", 390),
        ("1d12h", 129_600),
        ("45s", 45),
        ("0.5h", 1_800),
        ("1d2h3m4s", 93_784),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value", ["", "h", "6", "6 h", "6hours", "30s6m", "1h1h", "-6h", "1e3s", ".5h", "６h", "6h\n", None, True, ["6h"]]
)
def test_what_is_no_duration(value: object) -> None:
    with pytest.raises(ValueError, match="write a number and a unit"):
        parse_duration(value)


def test_a_number_without_unit_is_told_how_it_could_be_meant() -> None:
    with pytest.raises(ValueError, match="10 has no unit; write for example 10s, 10m or 10h"):
        parse_duration(10)


@given(st.integers(min_value=1, max_value=10**8))
def test_a_formatted_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_no_time_at_all_has_a_unit_too() -> None:
    assert format_duration(0.2) == "0s"


@pytest.mark.parametrize(
    ("text", "size"), [("30GiB", 30 * 2**30), ("512MB", 512_000_000), ("1.5 TiB", 3 * 2**39), ("64KiB", 65_536)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("value", [30, "30", "30G", "GiB", "-1GiB", "30 gib", None])
def test_what_is_no_size(value: object) -> None:
    with pytest.raises(ValueError, match="for example 30GiB or 512MB"):
        parse_size(value)
