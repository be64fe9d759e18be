"""The display of a running fit: the bar of ``verbose=1``, the lines of ``verbose=2``, and the callback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

Moved = Callable[[int, int, float], None]  # vectors done since the last call, level, step
PassCallback = Callable[[dict[str, Any]], Any]  # sees the record of each pass; what is true ends the fit


class Progress:
    """Reports of a running fit. The core calls it with vectors, level and step, and `on_pass` with each pass."""

    def __init__(self, name: str, n_samples: int, verbose: int, callback: PassCallback | None, bar: Any) -> None:
        self._name, self._n_samples, self._callback, self._bar = name, n_samples, callback, bar
        self._lines, self._began = verbose >= 2, time.perf_counter()

    def __call__(self, done: int, level: int, step: float) -> None:
        """Move the bar by some vectors. Called some twenty times a second, also where no vectors are counted."""
        if self._bar is None:
            return
        self._bar.update(done)
        if done:
            self._bar.set_postfix_str(f"pass {self._pass()}, level {level}, step {step:.1e}")
        else:
            self._bar.refresh()

    def stage(self, name: str) -> None:
        """Say what is done now."""
        if self._bar is not None:
            self._bar.set_description(f"{self._name}: {name}")
        if self._lines:
            print(f"{self._name}: {name}", flush=True)

    def silent(self) -> Progress | None:
        """Return what fits within this one call: they move the bar, but have no lines and no callback."""
        return None if self._bar is None else Progress(self._name, self._n_samples, 1, None, self._bar)

    def on_pass(self, record: dict[str, Any]) -> bool:
        """Show one pass. Returns whether the callback wants to end the fit."""
        if self._bar is not None:
            self._show(record)
        if self._lines:
            print(line_of(record, time.perf_counter() - self._began), flush=True)
        return self._callback is not None and bool(self._callback(record))

    def _show(self, record: dict[str, Any]) -> None:
        self._bar.set_description(f"{self._name}: {record['stage']}")
        if "pass" not in record:  # a step that is no pass
            self._bar.set_postfix_str(", ".join(_said(record)))
            return
        if record["stage"] != "stream":  # batch work counts no vectors
            self._bar.update(self._n_samples)
        self._bar.set_postfix_str(f"pass {record['pass']}, moved {_largest(record['moved']):.1e} rad")

    def _pass(self) -> int:
        return max(1, -(-int(self._bar.n) // self._n_samples))


def line_of(record: dict[str, Any], seconds: float) -> str:
    """Return one pass, or one step of a search, in words."""
    if "pass" not in record:
        return "  ".join([f"{record['stage']:<8}", *_said(record), f"{seconds:.2f} s"])
    said = [f"pass {record['pass']:>3}  {record['stage']:<6}  moved {_largest(record['moved']):8.1e} rad"]
    if "median_residual" in record:
        said.append(f"median residual {record['median_residual']:7.1e}")
    if "estimated_angle" in record:
        said.append(f"estimated error {_largest(record['estimated_angle']):7.1e} rad")
    if "members" in record:
        said.append(f"members {_few(record['members'])}")
    return "  ".join([*said, f"{seconds:.2f} s"])


def _said(record: dict[str, Any]) -> list[str]:
    """Return the numbers of a record with their names."""
    return [f"{key} {value:.3g}" for key, value in record.items() if not isinstance(value, str)]


def _largest(value: Any) -> float:
    return float(np.max(value))


def _few(members: Any, most: int = 8) -> str:
    shown = " ".join(str(int(count)) for count in members[:most])
    return shown + (" ..." if len(members) > most else "")


@contextmanager
def watched(
    name: str, n_samples: int, max_passes: int | None, verbose: int, callback: PassCallback | None
) -> Iterator[Progress]:
    """Yield what a fit calls; ``max_passes`` is None when it is not known in advance."""
    if verbose != 1:
        yield Progress(name, n_samples, verbose, callback, None)
        return
    with _tqdm()(total=None if max_passes is None else n_samples * max_passes, desc=name, unit="vec") as bar:
        yield Progress(name, n_samples, verbose, callback, bar)


@contextmanager
def watched_parts(
    name: str, n_parts: int, verbose: int, callback: PassCallback | None
) -> Iterator[tuple[Callable[[int], None] | None, Progress | None]]:
    """Yield what a fit to data in blocks calls: with the parts that are done, and with each pass."""
    progress = Progress(name, 1, verbose, callback, None) if verbose >= 2 or callback is not None else None
    if verbose != 1:
        yield None, progress
        return
    with _tqdm()(desc=name, unit="part") as bar:

        def advance(done: int) -> None:
            bar.update(done)
            bar.set_postfix_str(f"pass {-(-int(bar.n) // n_parts)}")

        yield advance, progress


# ---- baselines


_watching: ContextVar[PassCallback | None] = ContextVar("_watching", default=None)


class History(list[dict[str, Any]]):
    """One record per iteration of a baseline. `ended` says that a callback wants no more of them."""

    def __init__(self) -> None:
        super().__init__()
        self._watch, self.ended = _watching.get(), False

    def append(self, record: dict[str, Any]) -> None:
        """Add a record, and show it."""
        super().append(record)
        self.ended = self._watch is not None and bool(self._watch(record))


@contextmanager
def watched_iterations(name: str, verbose: int, callback: PassCallback | None) -> Iterator[None]:
    """Show the records of each `History` that is made within; what the callback returns ends it."""
    began, bar, count = time.perf_counter(), None if verbose != 1 else _tqdm()(desc=name, unit="iteration"), 0

    def show(record: dict[str, Any]) -> bool:
        nonlocal count
        count += 1
        said = "  ".join([*([record["stage"]] if "stage" in record else []), *_said(record)])
        if bar is not None:
            bar.update(1)
            bar.set_postfix_str(said)
        elif verbose >= 2:
            print(f"iteration {count:>4}  {said}  {time.perf_counter() - began:.2f} s", flush=True)
        return callback is not None and bool(callback(record))

    token = _watching.set(show)
    try:
        yield
    finally:
        _watching.reset(token)
        if bar is not None:
            bar.close()


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        msg = "verbose=1 needs tqdm: pip install 'gasg21[progress]'"
        raise ImportError(msg) from error
    return tqdm
