"""Attacks on gasg21, each with a count: ``python -m attacks NAME COUNT`` with ``tests`` on the path.

Each prints one line with what ran and what failed, and fails if something did. docs/reliability.md has the table.
"""
