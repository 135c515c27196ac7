from __future__ import annotations

import pytest

from infra.cli.output import dollars, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"), (0, "0.0s"), (0.34, "0.3s"), (59.4, "59s"), (60, "1m00s"), (59.9, "1m00s"), (3599.7, "1h00m"),
        (4200, "1h10m"), (360000, "100h00m"),
    ],
)  # fmt: skip
def test_durations_read_as_people_say_them(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("usd", "text"), [(None, "-"), (0.00123, "$0.0012"), (0.0, "$0.0000"), (1234.5, "$1,234.50")])
def test_money_shows_what_matters(usd: float | None, text: str) -> None:
    assert dollars(usd) == text
