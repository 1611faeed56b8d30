"""Benchmarks of the real service: `python -m benchmarks --help`."""
