"""Good job files, damaged at random: always told in problems with a line, never by a traceback."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from infra.spec import check_file
from infra.spec.problems import KeyPath

from .jobs import FULL, LEAST, write

BASES = [YAML(typ="safe").load(FULL), LEAST]
HOSTILE = [
    "", "../../etc", "a'b", 'a"b', "{% $x %}", "${AWS::Region}", "a\nb", "*", "arn:aws:s3:::*", "~", "null", "x" * 3000,
    "$states.input", "-", "s3://", "s3://a/", "1h", "auto", "é", "😀", "ml.m5.large", "validation:auc", "1e400",
]  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(HOSTILE),
    st.text(max_size=8),
    st.lists(st.sampled_from(HOSTILE) | st.integers(), max_size=3),
    st.dictionaries(
        st.sampled_from(["metric", "min", "values", "mode", "by", "x.y", "[0]"]), st.integers(), max_size=2
    ),
)


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    data: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(sorted(paths(data), key=str)))
        place: Any = data
        for part in path[:-1]:
            place = place[part]
        if draw(st.booleans()):
            place[path[-1]] = draw(VALUES)
        elif isinstance(place, dict):
            del place[path[-1]]
            if draw(st.booleans()):
                place[draw(st.text("abc.-_ ", min_size=1, max_size=6))] = draw(VALUES)
    return data


@settings(deadline=None)
@given(damaged())
@example({**LEAST, "hyperparameters": {"early_stopping": {"metric": 5, "mode": []}}})
@example({**LEAST, "data": {"raw": {"example": "nycflights13"}, "prepare": {"split": []}, "channels": {"test": {}}}})
def test_damage_is_told_and_never_crashes(data: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), data)
        num_lines = len(path.read_text().split("\n"))
        job, found = check_file(path)
    errors = [problem for problem in found if problem.severity == "error"]
    assert (job is None) == bool(errors)
    for problem in found:
        assert 1 <= problem.line <= num_lines
        assert problem.message
        assert len(str(problem)) < 1500
        assert str(problem).isprintable(), "a terminal obeys control characters"
    if job is not None:
        job.unavailable()
        assert all(isinstance(value, str) for value in job.flat_hyperparameters().values())
        json.dumps(job.model_dump(mode="json"))
