"""The benchmarks: ``python -m benchmarks list`` names them."""
