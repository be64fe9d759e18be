"""What runs the experiments, keeps their results and writes the report."""
