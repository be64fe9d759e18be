"""Measurements beyond the paper's experiments; the contract is in ``benchmarks/framework/measurement.py``."""
