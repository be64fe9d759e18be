"""The paper's experiments, remade: ``python -m benchmarks``."""
