"""Expressions: AWS's functions, null and undefined, and the same answers as the library's own evaluator."""

from __future__ import annotations

import random
import re
import threading
from typing import Any

import pytest
from jsonata import Jsonata

from infra.offline.states.errors import QueryEvaluationError
from infra.offline.states.functions import Frame, execution_frame
from infra.offline.states.jsonata import Expression, ExpressionSyntaxError
from infra.offline.states.values import NULL, dumps, inward, iso_time, loads, normalize, outward

VARIABLES = {
    "states": {"input": {"a": 1, "l": [1, 2, 3], "none": None, "o": {"x": None, "y": [], "t": 'say "hi"'}}},
    "jobs": [
        {"name": "j1", "verdict": "running", "n": 3, "tags": ["x"]},
        {"name": "j2", "verdict": "capacity", "n": 1},
        {"name": "j3", "verdict": "capacity", "n": 2, "tags": ["y", "z"]},
    ],
    "empty": [],
    "one": [7],
}


def evaluate(text: str, **more: Any) -> Any:
    scope = Frame(execution_frame(lambda: 1_700_000_000.25))
    scope.bindings.update(inward({**VARIABLES, **more}))
    return outward(Expression(text, "Output").evaluate(scope))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$hash('a', 'MD5')", "0cc175b9c0f1b6a831c399e269772661"),
        ("$hash('a', 'SHA-1')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("$hash('é', 'SHA-256')", "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"),
        ("$length($hash('a', 'SHA-384'))", 96),
        ("$length($hash('a', 'SHA-512'))", 128),
        ("$range(1, 7, 3)", [1, 4, 7]),
        ("$range(3, 1, -1)", [3, 2, 1]),
        ("$range(0, 1, 0.25)", [0, 0.25, 0.5, 0.75, 1]),
        ("$range(2, 1, 1)", []),
        ("$partition([1..5], 2)", [[1, 2], [3, 4], [5]]),
        ("$parse('{\"a\": [1, null]}')", {"a": [1, None]}),
        ("$random(42) = $random(42)", True),
        ("$random(1) != $random(2)", True),
        ("$random() < 1", True),
        ("$now()", "2023-11-14T22:13:20.250Z"),
        ("$millis()", 1_700_000_000_250),
        ("$fromMillis($millis(), '[Y0001]-[M01]-[D01]')", "2023-11-14"),
        ("$toMillis('2023-11-14T22:13:20Z')", 1_700_000_000_000),
        ("$type($states.input.none)", "null"),
        ("$exists($states.input.none)", True),
        ("$exists($states.input.gone)", False),
        ("$states.input.none = null", True),
        ("$states.input.o = {'x': null, 'y': [], 't': 'say \"hi\"'}", True),
        ("$jobs[verdict = 'capacity'].name", ["j2", "j3"]),
        ("$jobs[verdict = 'running'].name", "j1"),
        ("[$jobs[verdict = 'running'].name]", ["j1"]),
        ("$jobs[-1].tags[0]", "y"),
        ("$jobs^(n).name", ["j2", "j3", "j1"]),
        ("$jobs{verdict: $sum(n)}", {"running": 3, "capacity": 3}),
        ("$empty", []),
        ("$one", [7]),
        ("$count($jobs.tags)", 3),
        ("{'gone': $states.input.gone, 'kept': null}", {"kept": None}),
        ("[$states.input.gone, null]", [None]),
        ("($a := 12; $b := $a / 4 / 3; $b)", 1),
        ("$reduce($states.input.l, function($x, $y) { $x + $y })", 6),
        ("$map($jobs, function($j, $i) { $j.name & $i })", ["j10", "j21", "j32"]),
        ("$states.input ~> |o|{'new': true}|", None),
        ("($half := $substring(?, 0, 1); $half('xyz'))", "x"),
        ("$states.input.o.t & '!'", 'say "hi"!'),
        ("1e3 + 0.5", 1000.5),
        ("5 / 2 * 2", 5),
    ],
)
def test_value(text: str, value: Any) -> None:
    if value is None:  # too long to write twice
        value = {**VARIABLES["states"]["input"]}  # type: ignore[call-overload]
        value["o"] = {**value["o"], "new": True}
    assert evaluate(text) == value


def test_an_endless_loop_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.offline.states.evaluator._MAX_CALLS", 10_000)
    with pytest.raises(QueryEvaluationError, match="infinite loop"):
        evaluate("($loop := function() { $loop() }; $loop())")
    assert evaluate("$sum([1..1000])") == 500_500


def test_uuid_is_one_of_version_4() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", evaluate("$uuid()"))


def test_chance_follows_the_seed_of_the_run() -> None:
    text = "[$random(), $uuid()]"
    drawn = [
        Expression(text, "Output").evaluate(execution_frame(lambda: 0.0, random.Random(seed))) for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$hash('a', 'CRC32')", "Unsupported hash algorithm: CRC32"),
        ("$hash('a')", "T0410"),
        ("$parse('{')", "not valid JSON"),
        ("$parse('NaN')", "NaN is not JSON"),
        ("$partition([1], 0)", "positive number"),
        ("$range(1, 2, 0)", "must not be zero"),
        ("$range(1, 1000000, 1)", "memory limit exceeded"),
        ("$eval('1')", "T1006"),
        ("$number('x')", "could not convert"),
        ("$undefined_function()", "T1006"),
        ("$states.input.gone", "returned nothing (undefined)"),
        ("$$", "returned nothing"),
        ("plain", "returned nothing"),
        ("/regular/", "not a JSON value"),
    ],
)
def test_failure(text: str, message: str) -> None:
    with pytest.raises(QueryEvaluationError, match=re.escape(message)) as failed:
        evaluate(text)
    assert failed.value.location == "Output"
    assert f"'{text}'" in failed.value.cause


@pytest.mark.parametrize("text", ["1 +", "(", "{'a' 1}", "$f(", "'open", "a b", ""])
def test_syntax(text: str) -> None:
    with pytest.raises(ExpressionSyntaxError):
        Expression(text, "Output")


@pytest.mark.parametrize(
    "text",
    [
        "$states.input.l",
        "$states.input.l[0]",
        "$states.input.o.x",
        "$states.input.l.x",
        "$jobs.name",
        "$jobs.tags",
        "$jobs[0].tags",
        "$jobs.tags[0]",
        "$jobs[n > 1].{'k': name}",
        "$jobs.tags[]",
        "$jobs.name[]",
        "$jobs@$j.tags@$t.{'j': $j.name, 't': $t}",
        "$jobs#$i.(name & $i)",
        "$jobs.tags.%.name",
        "$one[]",
        "$empty[]",
        "$empty",
        "[$empty]",
        "$one",
        "$append($one, $empty)",
        "**",
        "$states.*",
        "$states.**.t",
        "$sort($jobs, function($l, $r) { $l.n > $r.n }).name",
        "($x := $jobs[verdict = 'capacity']; $x.name)",
        "($x := $one; $x)",
        "$filter($jobs, function($j) { $j.n > 1 }).name",
        "$states.input.l ~> $sum()",
        "$each({'a': 1}, function($v, $k) { $k & $v })",
        "$not($states.input.a > 1) ? 'yes' : 'no'",
        "$match('ab1', /[a-z]+/)",
        "$distinct($jobs.verdict)",
        "$merge([{'a': 1}, {'b': $states.input.none}])",
        "($f := function($n) { $n < 1 ? 0 : $n + $f($n - 1) }; $f(100))",
        "$states.input.l[$ > 1] in [2, 3]",
        "-$states.input.a",
        "$jobs[verdict = 'nobody']",
    ],
)
def test_the_quick_evaluator_agrees_with_the_library_s(text: str) -> None:
    bindings = inward(VARIABLES)
    library = Jsonata(text)
    library.set_output_convert_nulls(False)
    expected = library.evaluate(None, bindings)
    if expected is None:
        with pytest.raises(QueryEvaluationError, match="returned nothing"):
            evaluate(text)
    else:
        assert evaluate(text) == outward(normalize(expected))


def test_results_share_nothing_with_the_variables() -> None:
    jobs = [{"n": 1}]
    scope = Frame(execution_frame(lambda: 0.0))
    scope.bindings["jobs"] = jobs
    result = Expression("$jobs", "Output").evaluate(scope)
    result[0]["n"] = 2
    assert jobs == [{"n": 1}]


def test_one_expression_serves_many_threads() -> None:
    expression = Expression("$sum($map([1..200], function($i) { $i * $k }))", "Output")
    results: dict[int, set[Any]] = {}

    def work(k: int) -> None:
        scope = Frame(execution_frame(lambda: 0.0))
        scope.bindings["k"] = k
        results[k] = {expression.evaluate(scope) for _ in range(20)}

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {k: {20_100 * k} for k in range(4)}


def test_values_come_out_as_they_went_in() -> None:
    value = {"a": None, "b": [None, {"c": None}], "d": 1.5, "e": "é\u2028", "f": True}
    inside = inward(value)
    assert inside["a"] is NULL
    assert outward(inside) == value
    assert loads(dumps(inside)) == inside


def test_times_are_written_in_utc_with_milliseconds() -> None:
    assert iso_time(1_700_000_000.0625) == "2023-11-14T22:13:20.062Z"
