"""Engines that are closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .world import World


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Makes worlds (see `World`), one after the other in the same folder."""
    made: list[World] = []

    def make(*faults: object, **options: object) -> World:
        made.append(World(tmp_path, faults, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for world in made:
        world.engine.close()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world()
