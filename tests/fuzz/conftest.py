"""The seed in the report, and the small container of the training tests."""

from __future__ import annotations

from tests.fuzz.seeds import ROUNDS, SEED
from tests.training.conftest import code_zip, container, prepared

__all__ = ["code_zip", "container", "prepared"]


def pytest_report_header() -> str:
    return f"fuzz: FUZZ_SEED={SEED} FUZZ_ROUNDS={ROUNDS}"
