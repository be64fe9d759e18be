"""Imports of optional packages, with an error that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any


def optional(module: str, *, extra: str, user: str) -> Any:
    """Import a module that comes with an extra of gasg21, for the function `user`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        msg = f"{user} needs {module.partition('.')[0]}: pip install 'gasg21[{extra}]'"
        raise ImportError(msg) from error
