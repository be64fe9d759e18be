"""What the user passes: samples and parameters."""
