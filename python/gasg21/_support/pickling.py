"""How estimators and objects of the compiled core come back from a pickle."""

from typing import Any

from gasg21 import _core


def restored(cls: Any, state: Any) -> Any:
    """Return an estimator, whole or not at all: a pickle cannot end between the object and its state."""
    estimator = cls.__new__(cls)
    estimator.__setstate__(state)
    return estimator


def new(cls: Any) -> Any:
    """Return an estimator whose state follows, as in the first pickles."""
    return cls.__new__(cls)


def restore(name: str, state: Any) -> Any:
    """Return the object of the core's class of that name; the bytes have a checksum."""
    return getattr(_core, name)._from_state(state)
