"""The door: whatever the user has becomes `Samples` that the core can borrow, or is refused.

Nothing behind this module checks its input again, and nothing in it copies a whole array: float64
and float32 arrays whose rows are contiguous are borrowed as they are, CSR matrices of those dtypes
likewise, and any other array (other dtypes, Fortran order, byte-swapped or misaligned memory) is
converted block by block, each time it is read. Sparse matrices that are not canonical CSR of a float
dtype are converted once. (A memory-mapped file that is truncated while it is mapped ends the process
with SIGBUS, which nothing can catch.)
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from gasg21 import _core
from gasg21._data.parameters import n_threads
from gasg21.exceptions import InvalidInputError

Array = npt.NDArray[Any]
_BLOCK_ENTRIES = 2**19  # 4 MB of float64


class Block(NamedTuple):
    """Some samples as the core takes them."""

    payload: _core.Payload
    mask: Array | None
    order: Array | None  # which rows of the payload, None = all of them
    rows: Array | slice  # their places in the data set
    held_out: _core.HeldOut | None  # entries of the payload that count as missing


class HeldOut:
    """Entries of some samples that a fit does not see, so that it can be checked on them."""

    def __init__(self, features: dict[int, Array]) -> None:
        self.features = features  # sample -> sorted features
        self.core = _core.HeldOut({row: list(map(int, hidden)) for row, hidden in features.items()})

    def hide(self, block: Array, rows: Array) -> Array:
        """Return a block of samples, copied if it has to be, with NaN for what is held out of them."""
        touched = [k for k, row in enumerate(rows) if int(row) in self.features]
        if touched:
            block = block.copy()
            for k in touched:
                block[k, self.features[int(rows[k])]] = np.nan
        return block


@dataclass(frozen=True)
class Samples:
    """A validated data set: ``data`` is an array (with an optional mask) or a canonical CSR matrix."""

    data: Any
    mask: Array | None
    dtype: np.dtype[Any]  # float64 or float32, what the core computes in
    absent_is_zero: bool = False
    held_out: HeldOut | None = None

    @property
    def n_samples(self) -> int:
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.data.shape[1])

    def blocks(self, order: Array | None = None) -> Iterator[Block]:
        """Yield all samples, in the given order or as they stand: one block if they can be borrowed."""
        rows = slice(None) if order is None else order
        held_out = None if self.held_out is None else self.held_out.core
        if sp.issparse(self.data) and not self.absent_is_zero:
            yield Block((self.data.data, self.data.indices, self.data.indptr), None, order, rows, held_out)
        elif not sp.issparse(self.data) and _can_borrow(self.data, self.dtype):
            yield Block(self.data, self.mask, order, rows, held_out)
        else:
            yield from self.chunks(order)

    def every(self, step: int) -> Samples:
        """Return each step-th sample; arrays are not copied."""
        mask = None if self.mask is None else self.mask[::step]
        return Samples(self.data[::step], mask, self.dtype, self.absent_is_zero)

    def take(self, rows: Array | slice) -> Block:
        """Return some samples as one block, converted if need be."""
        data = self.data[rows]
        if sp.issparse(data) and not self.absent_is_zero:
            return Block((data.data, data.indices, data.indptr), None, None, rows, None)
        data = data.toarray() if sp.issparse(data) else data
        with np.errstate(over="ignore"):  # a number too large for the dtype is reported as infinite
            data = np.require(data, self.dtype, ["C", "A"])
        if self.held_out is not None:
            places = np.arange(rows.start, rows.start + len(data)) if isinstance(rows, slice) else rows
            data = self.held_out.hide(data, places)
        return Block(data, None if self.mask is None else self.mask[rows], None, rows, None)

    def whole(self) -> Block:
        """Return all samples as one block: borrowed if they can be, else converted as a whole."""
        blocks = self.blocks()
        first = next(blocks)
        rest_is_empty = next(blocks, None) is None
        return first if rest_is_empty else self.take(slice(0, self.n_samples))

    def chunks(self, order: Array | None = None) -> Iterator[Block]:
        """Yield all samples in blocks of a few megabytes, converted if need be."""
        step = max(1, _BLOCK_ENTRIES // self.n_features)
        for start in range(0, self.n_samples, step):
            yield self.take(slice(start, start + step) if order is None else order[start : start + step])


def check_samples(
    estimator: Any, X: Any, mask: Any = None, *, reset: bool, dtype: np.dtype[Any] | None = None
) -> Samples:
    """Validate a data set for an estimator; ``dtype`` is that of its model, None before there is one."""
    check_choice("on_bad", estimator.on_bad, ("raise", "skip"))
    check_choice("absent", estimator.absent, ("missing", "zero"))
    if isinstance(X, np.ma.MaskedArray):
        observed = ~np.ma.getmaskarray(X)
        mask, X = observed if mask is None else observed & mask, X.data
    X = validate_data(estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False)
    if X.dtype.kind not in "fiub":
        msg = f"X has dtype {X.dtype}; it must hold numbers"
        raise InvalidInputError(msg)
    if dtype is None:
        is_single = X.dtype.kind == "f" and X.dtype.itemsize == 4
        dtype = np.dtype(np.float32 if is_single else np.float64)
    if sp.issparse(X):
        X = _canonical(X, dtype)
    mask = _check_mask(mask, X)
    samples = Samples(X, mask, dtype, absent_is_zero=estimator.absent == "zero")
    if estimator.on_bad == "raise":
        _refuse_infinite(samples, n_threads(getattr(estimator, "n_jobs", None)))
    return samples


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed strings."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}"
        raise InvalidInputError(msg)


def check_integer(name: str, value: Any, low: int, high: int | None = None, high_name: str = "") -> int:
    """Refuse a value that is not an integer in [low, high]."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not is_integer or value < low or (high is not None and value > high):
        top = "" if high is None else f"in [{low}, {high_name}{high}]"
        msg = f"{name}={value!r} must be an integer {top or f'of at least {low}'}"
        raise InvalidInputError(msg)
    return int(value)


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """Refuse a value that is not a real number in the interval."""
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_real or not (value > low if open_low else value >= low) or not value <= high:
        left = "(" if open_low else "["
        right = "inf)" if high == np.inf else f"{high}]"
        msg = f"{name}={value!r} must be a number in {left}{low}, {right}"
        raise InvalidInputError(msg)
    return float(value)


def check_components(n_components: Any, n_features: int) -> int:
    """Refuse a subspace dimension that is not an integer in [1, n_features - 1]."""
    if n_features < 2:
        msg = (
            f"n_features={n_features}: at least 2 are needed, for a subspace of dimension n_components={n_components!r}"
        )
        raise InvalidInputError(msg)
    return check_integer("n_components", n_components, 1, n_features - 1, "n_features - 1 = ")


def seed_of(random_state: Any) -> int:
    """Return the seed for the core: an integer is taken as it is, so that C++ gives the same bits."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**64:
            msg = f"random_state={random_state!r} must be in [0, 2**64)"
            raise InvalidInputError(msg)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give the estimator back its attributes if the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _can_borrow(X: Array, dtype: np.dtype[Any]) -> bool:
    rows_contiguous = X.shape[1] <= 1 or X.strides[1] == X.itemsize
    return bool(X.dtype == dtype and X.flags.aligned and rows_contiguous and X.strides[0] % X.itemsize == 0)


def _canonical(X: Any, dtype: np.dtype[Any]) -> Any:
    try:
        X.check_format(full_check=True)
    except ValueError as error:
        msg = f"X is not a valid CSR matrix: {error}"
        raise InvalidInputError(msg) from error
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    with np.errstate(over="ignore"):
        data = np.require(X.data, dtype, ["C", "A"])
    return type(X)((data, X.indices, X.indptr), shape=X.shape, copy=False)


def _check_mask(mask: Any, X: Any) -> Array | None:
    if mask is None:
        return None
    if sp.issparse(X):
        msg = "mask must be None for a sparse X, whose stored entries are the observed ones"
        raise InvalidInputError(msg)
    mask = np.asarray(mask)
    if mask.dtype != np.bool_ or mask.shape != X.shape:
        msg = (
            f"mask has shape {mask.shape} and dtype {mask.dtype}; it must have the shape {X.shape} of X and "
            "dtype bool (True = observed)"
        )
        raise InvalidInputError(msg)
    if not mask.any():
        msg = f"mask of shape {mask.shape} is False everywhere: nothing of X, shape {X.shape}, is observed"
        raise InvalidInputError(msg)
    return mask if mask.shape[1] <= 1 or mask.strides[1] == 1 else np.ascontiguousarray(mask)


def _refuse_infinite(samples: Samples, threads: int) -> None:
    find = _core.find_infinite64 if samples.dtype == np.float64 else _core.find_infinite32
    for block in samples.blocks():
        found = find(block.payload, block.mask, samples.n_features, threads)
        if found is not None:
            start = block.rows.start if isinstance(block.rows, slice) else None
            row, column = found[0] + (start or 0), found[1]
            msg = (
                f"Input X contains infinity at row {row}, column {column} (as {samples.dtype}); entries must be "
                "finite, or NaN for missing. on_bad='skip' leaves such rows out."
            )
            raise InvalidInputError(msg)
