"""Measuring the real service: `python -m benchmarks --help`."""
