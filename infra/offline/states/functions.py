"""The functions Step Functions adds to JSONata, and the frame in which every expression of an execution is evaluated.

Source: developer guide, "Transforming data with JSONata", section "JSONata functions provided by Step Functions".
"""

from __future__ import annotations

import hashlib
import random
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from jsonata import Functions, JException, Jsonata  # type: ignore[import-untyped]

from infra.offline.states.values import loads

__all__ = ["Frame", "execution_frame"]

Frame = Jsonata.Frame

_HASHES: Final = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_MAX_RANGE_ITEMS: Final = 360_000  # beyond this AWS reports that the expression's memory limit is exceeded


def _partition(items: Any, size: Any) -> Any:
    if items is None or size is None:
        return None
    if not isinstance(items, list):
        items = [items]
    step = int(size)
    if step < 1:
        raise JException("D3137", -1, "The second argument of partition function must be a positive number")
    items = list(items)
    return [items[start : start + step] for start in range(0, len(items), step)]


def _range(first: Any, last: Any, step: Any) -> Any:
    if first is None or last is None or step is None:
        return None
    if step == 0:
        raise JException("D3137", -1, "The third argument of range function must not be zero")
    start, end, delta = (Decimal(str(number)) for number in (first, last, step))
    count = max(0, int((end - start) // delta) + 1)
    if count > _MAX_RANGE_ITEMS:
        raise JException("D3137", -1, "Expression evaluation memory limit exceeded: Check for excessive memory usage")
    numbers = [start + index * delta for index in range(count)]
    return [int(number) if number == number.to_integral() else float(number) for number in numbers]


def _hash(content: Any, algorithm: Any) -> Any:
    if content is None or algorithm is None:
        return None
    if algorithm not in _HASHES:
        raise JException("D3137", -1, f"Unsupported hash algorithm: {algorithm}; use one of {', '.join(_HASHES)}")
    return hashlib.new(_HASHES[algorithm], content.encode(), usedforsecurity=False).hexdigest()


def _random(seed: Any = None) -> float:
    return random.Random(seed).random() if seed is not None else random.random()


def _uuid() -> str:
    return str(uuid.uuid4())


def _parse(text: Any) -> Any:
    if text is None:
        return None
    try:
        return loads(text)
    except ValueError as error:
        raise JException("D3137", -1, f"The argument of parse function is not valid JSON: {error}") from error


def _function(implementation: Callable[..., Any], signature: str) -> Any:
    return Jsonata.JFunction(Jsonata.JLambda(implementation), signature)


def _aws_bindings() -> dict[str, Any]:
    frame = Frame(None)
    frame.bindings.update(Jsonata.static_frame.bindings)
    del frame.bindings["eval"]  # refused on AWS too: text must not become code
    frame.bind("partition", _function(_partition, "<an:a>"))
    frame.bind("range", _function(_range, "<nnn:a>"))
    frame.bind("hash", _function(_hash, "<ss:s>"))
    frame.bind("random", _function(_random, "<n?:n>"))
    frame.bind("uuid", _function(_uuid, "<:s>"))
    frame.bind("parse", _function(_parse, "<s:x>"))
    return dict(frame.bindings)


_AWS_BINDINGS: Final = _aws_bindings()


def execution_frame(now: Callable[[], float]) -> Any:
    """The outermost frame of one execution: JSONata's functions, AWS's, and `$now` and `$millis` by the given clock.

    Args:
        now: epoch seconds.
    """

    def millis() -> int:
        return round(now() * 1000)

    def timestamp(picture: Any = None, timezone: Any = None) -> Any:
        return Functions.datetime_from_millis(millis(), picture, timezone)

    frame = Frame(None)
    frame.bindings.update(_AWS_BINDINGS)
    frame.bind("millis", _function(millis, "<:n>"))
    frame.bind("now", _function(timestamp, "<s?s?:s>"))
    return frame
