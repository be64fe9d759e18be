"""Measurements of speed; the contract is in ``benchmarks/framework/measurement.py``."""
