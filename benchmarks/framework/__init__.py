"""The code that runs the benchmarks, stores their results and writes the report."""
