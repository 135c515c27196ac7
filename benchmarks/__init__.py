"""Benchmarks that keep a ledger: `python -m benchmarks.offline`, `python -m benchmarks.step_cost`."""
