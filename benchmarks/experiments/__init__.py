"""The paper's experiments, one file each; the contract is in ``benchmarks/framework/experiment.py``."""
