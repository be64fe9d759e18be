"""Errors of the command line, each in one sentence."""

from __future__ import annotations


class CommandError(Exception):
    """An error with a message for the user."""


class UsageError(CommandError):
    """The same, about the arguments."""


IN_PARTS = (
    "the command line reads whole files; GASG21.fit takes a gasg21.blocks.BlockSource, which reads a file in parts"
)


def sentence(error: BaseException | str) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        return f"the data does not fit into memory; {IN_PARTS}"
    return " ".join(str(error).split()) or type(error).__name__
