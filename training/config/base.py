"""Frozen dataclasses read from a mapping: unknown keys and wrong types are refused, all of them at once, by key."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ClassVar, Literal, TypeVar, Union

__all__ = ["Config", "ConfigError", "NotYetAvailable"]

C = TypeVar("C", bound="Config")


class ConfigError(ValueError):
    """One thing that is wrong: `key` (dotted, relative to the section) and `message` (what, why, what to do)."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.key = key
        self.message = message

    def under(self, section: str) -> ConfigError:
        """The same problem, named from the section above."""
        return type(self)(f"{section}.{self.key}" if self.key else section, self.message)


class NotYetAvailable(ConfigError):  # noqa: N818 - reads as what it says
    """The key is right, but what it asks for is not built yet: ignoring it in silence would be a lie."""


class Config:
    """Base of all configuration dataclasses.

    Annotations are the grammar: `int`, `float`, `str`, `bool`, `Literal`, `tuple[X, ...]`, `dict[str, X]`, another
    `Config`, and unions of these. Rules over several fields stand in `_rules`, which yields `ConfigError`s.
    """

    __slots__ = ()

    NOT_YET: ClassVar[Mapping[str, frozenset[str] | None]] = {}
    """Key -> values that are not available yet; None: whatever the value."""

    @classmethod
    def from_mapping(cls: type[C], mapping: Mapping[str, Any]) -> C:
        """Build from parsed YAML or JSON. Raises the first of `check`'s problems."""
        config, problems = _parse(cls, mapping)
        if problems:
            raise problems[0]
        assert config is not None
        return config

    @classmethod
    def check(cls, mapping: Mapping[str, Any]) -> list[ConfigError]:
        """Everything that is wrong with `mapping`; `NotYetAvailable` among them. Empty: `from_mapping` succeeds."""
        return _parse(cls, mapping)[1]

    def to_mapping(self) -> dict[str, Any]:
        """JSON from which `from_mapping` builds the same again, defaults written out."""
        assert is_dataclass(self)
        return {_key(field.name): _plain(getattr(self, field.name)) for field in fields(self)}

    def _rules(self) -> typing.Iterator[ConfigError]:
        """Problems that need more than one field's type to see."""
        return iter(())


def _parse(cls: type[C], mapping: object) -> tuple[C | None, list[ConfigError]]:
    if not isinstance(mapping, Mapping):
        return None, [ConfigError("", f"expected keys and values, got {_show(mapping)}")]
    assert is_dataclass(cls)
    hints = typing.get_type_hints(cls)
    known = {_key(field.name): field for field in fields(cls)}
    values: dict[str, Any] = {}
    problems: list[ConfigError] = []
    for key, value in mapping.items():
        if _not_yet(cls, key, value):
            what = key if cls.NOT_YET[key] is None else f"{key} {value!r}"
            problems.append(NotYetAvailable(str(key), f"{what} is not available yet; leave it out"))
        elif key not in known:
            problems.append(ConfigError(str(key), _unknown(str(key), [*known, *cls.NOT_YET])))
        else:
            try:
                values[known[key].name] = _convert(value, hints[known[key].name])
            except ConfigError as error:
                problems.append(error.under(str(key)))
            except _ConfigErrors as many:
                problems.extend(error.under(str(key)) for error in many.errors)
    for key, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and key not in mapping:
            problems.append(ConfigError(key, "is required"))
    if any(not isinstance(problem, NotYetAvailable) for problem in problems):
        return None, problems
    config = cls(**values)
    problems.extend(config._rules())
    return (None if problems else config), problems


def _key(field: str) -> str:
    """The field `from_` holds the key `from`, which Python has taken."""
    return field.rstrip("_")


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_mapping()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


class _ConfigErrors(Exception):  # noqa: N818 - several of them
    def __init__(self, errors: list[ConfigError]) -> None:
        self.errors = errors


def _not_yet(cls: type[Config], key: object, value: object) -> bool:
    if key not in cls.NOT_YET:
        return False
    values = cls.NOT_YET[typing.cast(str, key)]
    return values is None or (isinstance(value, str) and value in values)


def _convert(value: Any, annotation: Any) -> Any:
    """`value` as `annotation` says, or ConfigError with an empty key."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return _convert_union(value, arguments)
    if origin is Literal:
        if value in arguments and type(value) in {type(choice) for choice in arguments}:
            return value
        choices = ", ".join(map(str, arguments))
        raise ConfigError("", f"{_show(value)} is not one of {choices}")
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise ConfigError("", f"expected a list, got {_show(value)}")
        return tuple(_collect({str(i): item for i, item in enumerate(value)}, arguments[0]).values())
    if origin is dict:
        if not isinstance(value, Mapping):
            raise ConfigError("", f"expected keys and values, got {_show(value)}")
        return _collect({str(key): item for key, item in value.items()}, arguments[1])
    if isinstance(annotation, type) and issubclass(annotation, Config):
        config, problems = _parse(annotation, value)
        if problems:
            raise _ConfigErrors(problems)
        return config
    return _convert_scalar(value, annotation)


def _convert_union(value: Any, choices: tuple[Any, ...]) -> Any:
    if value is None and type(None) in choices:
        return None
    errors = []
    for choice in choices:
        if choice is not type(None):
            try:
                return _convert(value, choice)
            except ConfigError as error:
                errors.append(error)
    raise ConfigError("", "; or ".join(dict.fromkeys(error.message for error in errors)))


def _convert_scalar(value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if value != value or value in (float("inf"), float("-inf")):
            raise ConfigError("", f"{value} is not a finite number")
        return float(value)
    if kind is not float and type(value) is kind:  # `type`: a bool is not an int here
        return value
    name = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}[kind]
    raise ConfigError("", f"expected {name}, got {_show(value)}")


def _collect(items: Mapping[str, Any], annotation: Any) -> dict[str, Any]:
    values, errors = {}, []
    for key, item in items.items():
        try:
            values[key] = _convert(item, annotation)
        except ConfigError as error:
            errors.append(error.under(key))
        except _ConfigErrors as many:
            errors.extend(error.under(key) for error in many.errors)
    if errors:
        raise _ConfigErrors(errors)
    return values


def _unknown(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(set(known)))}"
    return f"unknown key; {hint}"


def _show(value: object) -> str:
    return "nothing" if value is None else repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
