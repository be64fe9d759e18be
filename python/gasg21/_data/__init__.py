"""The input of the user: samples and parameters."""
