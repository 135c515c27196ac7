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

from jsonata import Functions, JException, Jsonata, Utils

from infra.offline.states.values import loads

__all__ = ["Frame", "execution_frame"]

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


def _parse(text: Any) -> Any:
    if text is None:
        return None
    try:
        return loads(text)
    except ValueError as error:
        raise JException("D3137", -1, f"The argument of parse function is not valid JSON: {error}") from error


class Frame(Jsonata.Frame):  # type: ignore[misc]
    """Variables by name, above those of the frame around it."""

    is_parallel_call = False

    def __init__(self, parent: Any) -> None:
        self.bindings: dict[str, Any] = {}
        self.parent = parent

    def lookup(self, name: str) -> Any:
        """The innermost value of that name, None (undefined) when there is none."""
        frame = self
        while frame is not None:
            value = frame.bindings.get(name, _UNBOUND)
            if value is not _UNBOUND:
                return value
            frame = frame.parent
        return None


_UNBOUND: Final = Utils.NONE


def _function(name: str, implementation: Any, signature: str) -> Any:
    function = Jsonata.JFunction(Jsonata.JLambda(implementation), signature)
    function.signature.set_function_name(name)
    return function


def _aws_bindings() -> dict[str, Any]:
    bindings = dict(Jsonata.static_frame.bindings)
    del bindings["eval"]  # refused on AWS too: text must not become code
    for name, implementation, signature in (
        ("partition", _partition, "<an:a>"),
        ("range", _range, "<nnn:a>"),
        ("hash", _hash, "<ss:s>"),
        ("parse", _parse, "<s:x>"),
    ):
        bindings[name] = _function(name, implementation, signature)
    return bindings


_AWS_BINDINGS: Final = _aws_bindings()


def execution_frame(now: Callable[[], float], draw: random.Random | None = None) -> Frame:
    """The outermost frame of one execution: JSONata's functions and AWS's.

    Args:
        now: epoch seconds, for `$now` and `$millis`.
        draw: where `$random` and `$uuid` come from; give a seeded one for a reproducible run.
    """
    source = draw or random.Random()

    def millis() -> int:
        return round(now() * 1000)

    def timestamp(picture: Any = None, timezone: Any = None) -> Any:
        return Functions.datetime_from_millis(millis(), picture, timezone)

    def number(seed: Any = None) -> float:
        return (source if seed is None else random.Random(seed)).random()

    def identifier() -> str:
        return str(uuid.UUID(int=source.getrandbits(128), version=4))

    frame = Frame(None)
    frame.bindings.update(_AWS_BINDINGS)
    for name, implementation, signature in (
        ("millis", millis, "<:n>"),
        ("now", timestamp, "<s?s?:s>"),
        ("random", number, "<n?:n>"),
        ("uuid", identifier, "<:s>"),
    ):
        frame.bindings[name] = _function(name, implementation, signature)
    return frame
