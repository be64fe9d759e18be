"""What goes wrong on the command line, in one sentence."""

from __future__ import annotations


class CommandError(Exception):
    """What the user is to be told."""


def sentence(error: BaseException | str) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        return "the data does not fit into memory"
    return " ".join(str(error).split()) or type(error).__name__
