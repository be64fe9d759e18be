"""How objects of the compiled core come back from a pickle."""

from typing import Any

from gasg21 import _core


def restore(name: str, state: Any) -> Any:
    """Return the object of the core's class of that name with that state."""
    return getattr(_core, name)._from_state(state)
