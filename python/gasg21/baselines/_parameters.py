"""A check of parameters that only the baselines need."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21.exceptions import InvalidInputError


def check_flag(name: str, value: Any) -> bool:
    """Refuse a value that is not True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name}={value!r} must be True or False"
        raise InvalidInputError(msg)
    return bool(value)
