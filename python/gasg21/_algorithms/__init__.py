"""Algorithms that stay in Python."""
