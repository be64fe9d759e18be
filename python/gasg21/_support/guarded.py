"""Estimators that many threads may share.

A method that changes an estimator works on a draft and commits it at the end, by one assignment. So an error changes
nothing, and other threads see the attributes from before or from after, never a mixture. Methods that read work on a
snapshot. Writers wait for each other, readers never wait.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Method = TypeVar("Method", bound=Callable[..., Any])
Self = TypeVar("Self", bound="Guarded")

_forks = 0  # of this process and its ancestors: a lock from before a fork may be held by a thread that is not here
_renewing = threading.Lock()


def _after_fork_in_child() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


class Guarded:
    """Base of the estimators. Its own attributes are slots, which are neither copied nor pickled."""

    __slots__ = ("_checked", "_labels", "_latest", "_origin", "_writing")

    _writing: tuple[int, Any]  # the lock of the writers, and the forks before it was made
    _origin: Any  # of a draft or snapshot: the estimator that it was taken from; None for the estimator itself
    _latest: Any  # computed by a reader, for the next one
    _checked: Any  # parameters that a reader has found to be valid
    _labels: Any  # names of the fit, and labels of a table that were found to be the same

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Show how a class is constructed."""
        super().__init_subclass__(**kwargs)
        show_signature(cls)

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        """Return an object with its lock."""
        self = super().__new__(cls)
        self._origin = self._latest = self._checked = self._labels = None
        self._writing = _forks, threading.RLock()
        return self

    def _replace_attributes(self, attributes: dict[str, Any]) -> None:
        """Replace all attributes at once: another thread sees the old ones or the new ones."""
        self.__dict__ = attributes  # type: ignore[misc]  # subclasses have one


def show_signature(cls: type) -> None:
    """Give a class the signature of its `__init__`: Python 3.10 would show the one of `__new__`."""
    own = inspect.signature(cls.__init__)  # type: ignore[misc]
    cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])  # type: ignore[attr-defined]


def snapshot(estimator: Self) -> Self:
    """Return an estimator with a copy of the attributes."""
    twin = object.__new__(type(estimator))
    twin._origin, twin._latest = estimator, None
    twin._replace_attributes(vars(estimator).copy())
    return twin


def _lock_of(estimator: Guarded) -> Any:
    forks, lock = estimator._writing
    if forks == _forks:
        return lock
    with _renewing:
        if estimator._writing[0] != _forks:
            estimator._writing = _forks, threading.RLock()
        return estimator._writing[1]


@contextmanager
def drafted(estimator: Self) -> Iterator[Self]:
    """Yield a draft of the estimator, and commit what was changed in it unless an error is raised."""
    if estimator._origin is not None:  # a draft already
        yield estimator
        return
    with _lock_of(estimator):
        draft = snapshot(estimator)
        before = vars(draft).copy()
        yield draft
        after = vars(draft)
        changed = {name: value for name, value in after.items() if name not in before or before[name] is not value}
        kept = {name: value for name, value in vars(estimator).items() if name in after or name not in before}
        estimator._replace_attributes(kept | changed)


def reads(method: Method) -> Method:
    """Let a method work on a snapshot of the estimator."""

    @functools.wraps(method)
    def on_snapshot(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(self if self._origin is not None else snapshot(self), *args, **kwargs)

    return on_snapshot  # type: ignore[return-value]
