"""Rounds of a fuzz test: how many, and from which seed. `FUZZ_ROUNDS=100 FUZZ_SEED=7 pytest tests/fuzz`."""

from __future__ import annotations

import os

import pytest

__all__ = ["ROUNDS", "SEED", "each_round"]

ROUNDS = int(os.environ.get("FUZZ_ROUNDS") or "3")
SEED = os.environ.get("FUZZ_SEED") or "3145"
"""The default's first three rounds meet every kind of kill, two damaged checkpoints, and an account up after a kill."""

each_round = pytest.mark.parametrize("seed", [f"{SEED}-{number}" for number in range(ROUNDS)])
"""Calls the test with `seed`, from which it draws everything: the failed test's name has it. Only time stays free."""
