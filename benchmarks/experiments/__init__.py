"""The experiments of the paper, one file each; the contract is in ``benchmarks/framework/experiment.py``."""
