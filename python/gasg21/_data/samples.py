"""The user's data as `Samples` that the core can borrow.

Everything behind this module relies on its checks. float64 and float32 arrays whose rows are contiguous are
borrowed, and so are CSR matrices of these dtypes. Other arrays (other dtypes, Fortran order, byte-swapped or
misaligned memory) are converted: as a whole by `fit` and `score`, which read them more than once, by the first
`partial_fit` and by `KGASG21.partial_fit`; batch by batch by all other methods. Sparse matrices that are not
canonical CSR of a float dtype are converted once. (A memory-mapped file that is truncated while it is mapped ends the
process with SIGBUS, which nothing can catch.)
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from gasg21 import _core
from gasg21._data.frames import raise_for_dimensions, refuse_text_columns
from gasg21._data.parameters import check_n_jobs, check_reading, n_threads
from gasg21._support.arrays import Array as Array  # some modules take the name from here
from gasg21._support.guarded import Guarded
from gasg21.exceptions import InvalidInputError

_BATCH_ENTRIES = 2**19  # 4 MB of float64
_WORTH_THREADS = 2**13  # entries; to start a thread takes longer than to fit fewer


class Batch(NamedTuple):
    """Some samples in the form that the core takes."""

    payload: _core.Payload
    mask: Array | None
    rows: Array | slice  # their places in the data set


@dataclass(frozen=True)
class Samples:
    """A validated data set: ``data`` is an array (with an optional mask) or a canonical CSR matrix."""

    data: Any
    mask: Array | None
    dtype: np.dtype[Any]  # float64 or float32, in which the core computes
    absent_is_zero: bool = False

    @property
    def n_samples(self) -> int:
        return int(self.data.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.data.shape[1])

    @cached_property
    def is_sparse(self) -> bool:
        return not isinstance(self.data, np.ndarray) and bool(sp.issparse(self.data))

    @cached_property
    def can_be_borrowed(self) -> bool:
        return self.is_sparse or _can_borrow(self.data, self.dtype)

    @property
    def is_small(self) -> bool:
        """Whether one thread is faster than several."""
        return self.n_samples * self.n_features < _WORTH_THREADS

    def n_threads(self, n_jobs: Any) -> int:
        """Return the number of threads that `n_jobs` asks for; few samples need one, whatever joblib would say."""
        if self.is_small:
            check_n_jobs(n_jobs)
            return 1
        return n_threads(n_jobs)

    def whole(self) -> Batch:
        """Return all samples as one batch: borrowed if possible, else converted."""
        return self._batch(slice(None))

    def take(self, rows: Array | slice) -> Batch:
        """Return some samples as one batch, converted if necessary."""
        return self.subset(rows)._batch(rows)

    def batches(self) -> Iterator[Batch]:
        """Yield all samples: one batch if they can be borrowed, else converted in pieces."""
        if self.can_be_borrowed:
            yield self.whole()
        else:
            yield from self.pieces()

    def pieces(self) -> Iterator[Batch]:
        """Yield all samples in batches of a few megabytes."""
        step = max(1, _BATCH_ENTRIES // self.n_features)
        for start in range(0, self.n_samples, step):
            yield self.take(slice(start, min(start + step, self.n_samples)))

    def dense(self, rows: Array | slice = slice(None)) -> Array:
        """Return samples as an array of the core's dtype with NaN for what is not observed."""
        payload, mask, _ = self.take(rows)
        if not isinstance(payload, tuple):
            return payload if mask is None else np.where(mask, payload, np.nan).astype(self.dtype)
        data, indices, indptr = payload[:3]
        out = np.full((len(indptr) - 1, self.n_features), 0.0 if self.absent_is_zero else np.nan, self.dtype)
        out[np.repeat(np.arange(len(out)), np.diff(indptr)), indices] = data
        return out

    def observed(self, rows: Array | slice) -> tuple[Array, Array]:
        """Return which entries of these rows are observed, and the rows, dense, in their own dtype."""
        some = self.subset(rows)
        if not some.is_sparse:
            observed = ~np.isnan(some.data)
            return (observed if some.mask is None else observed & some.mask), some.data
        kept = some.data.toarray()
        if self.absent_is_zero:
            return ~np.isnan(kept), kept
        ones = np.ones(some.data.nnz, bool)
        stored = sp.csr_matrix((ones, some.data.indices, some.data.indptr), shape=kept.shape).toarray()
        return stored & ~np.isnan(kept), kept

    def subset(self, rows: Array | slice) -> Samples:
        """Return some of the samples."""
        return replace(self, data=self.data[rows], mask=None if self.mask is None else self.mask[rows])

    def _batch(self, rows: Array | slice) -> Batch:
        data = self.data
        if self.is_sparse:
            parts = (data.data, data.indices, data.indptr)
            return Batch((*parts, True) if self.absent_is_zero else parts, None, rows)
        if not self.can_be_borrowed:
            with np.errstate(over="ignore"):  # a number too large for the dtype is reported as infinite
                data = np.require(data, self.dtype, ["C", "A"])
        return Batch(data, self.mask, rows)


class TakesSamples:
    """Tells scikit-learn that an estimator accepts all that `check_samples` accepts. Goes before its other bases."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_samples(
    estimator: Any,
    X: Any,
    mask: Any = None,
    *,
    reset: bool,
    dtype: np.dtype[Any] | None = None,
    finite: bool = True,
) -> Samples:
    """Validate a data set for an estimator.

    ``dtype`` is the model's, None before there is one. With ``finite=False`` the caller refuses infinities.
    """
    check_reading(estimator)
    if isinstance(X, np.ma.MaskedArray):
        observed = ~np.ma.getmaskarray(X)
        mask, X = observed if mask is None else observed & mask, X.data
    known = _new(estimator, X) if reset else _known(estimator, X, dtype)
    X = _validated(estimator, X, reset) if known is None else known
    if dtype is None:
        is_single = X.dtype.kind == "f" and X.dtype.itemsize == 4
        dtype = np.dtype(np.float32 if is_single else np.float64)
    if not isinstance(X, np.ndarray):
        X = canonical_csr(X, dtype)
    mask = check_mask(mask, X)
    if mask is not None and not mask.any():
        msg = f"mask of shape {mask.shape} is False everywhere: no entry of X, shape {X.shape}, is observed"
        raise InvalidInputError(msg)
    samples = Samples(X, mask, dtype, absent_is_zero=estimator.absent == "zero")
    if finite and estimator.on_bad == "raise":
        refuse_infinite(samples, samples.n_threads(getattr(estimator, "n_jobs", None)))
    return samples


def _validated(estimator: Any, X: Any, reset: bool) -> Any:
    if getattr(X, "ndim", 2) > 2:
        raise_for_dimensions(X.shape)
    try:
        checked = validate_data(
            estimator, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
        )
    except (ValueError, TypeError):
        refuse_text_columns(X)
        raise
    if checked.dtype.kind not in "fiub":
        refuse_text_columns(X)
        msg = f"X has dtype {checked.dtype}; it must hold numbers"
        raise InvalidInputError(msg)
    return checked


def known_values(estimator: Guarded, X: Any) -> Array | None:
    """Return X if it is a plain array, or its values if it is a pandas row or table with the names of the fit.

    None for everything else, and for an array if the fit had names: that has to be validated.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return X if type(X) is np.ndarray else None
    pandas = sys.modules.get("pandas")  # not imported: then X is none of its objects
    if pandas is None or type(X) not in (pandas.DataFrame, pandas.Series):
        return None
    labels = X.columns if type(X) is pandas.DataFrame else X.index
    keeper = estimator._origin or estimator
    # Rows of one table share their labels. To compare them takes longer than to fit a row.
    if keeper._labels is None or keeper._labels[0] is not names or not labels.is_(keeper._labels[1]):
        if len(labels) != len(names) or not np.array_equal(labels.to_numpy(), names):
            return None
        keeper._labels = names, labels
    values = np.asarray(X.to_numpy())
    return np.ascontiguousarray(values) if values.size == len(names) else values


def _known(estimator: Any, X: Any, dtype: np.dtype[Any] | None) -> Array | None:
    """Return what validation would return, if that is plain to see. It takes 100 us, and a prediction of one row 5."""
    values = known_values(estimator, X)
    is_plain = (
        values is not None
        and values.dtype == dtype
        and values.ndim == 2
        and len(values) > 0
        and values.shape[1] == estimator.n_features_in_
    )
    return values if is_plain else None


def _new(estimator: Any, X: Any) -> Array | None:
    """Return a plain array of floats for a first fit, as validation would. That takes 50 to 300 us of a small fit."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.size == 0 or X.dtype not in (np.float64, np.float32):
        return None
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = X.shape[1]
    return X


def one_as_row(X: Any, mask: Any) -> tuple[Any, Any]:
    """Return one vector (n,) and its mask as rows (1, n); anything else as it is."""
    is_plain = isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(x, numbers.Real) for x in X)
    if is_plain or getattr(X, "ndim", None) == 1:
        X = X[None, :] if isinstance(X, np.ndarray) else np.asarray(X)[None, :]
        mask = None if mask is None else np.atleast_2d(mask)
    return X, mask


def _can_borrow(X: Array, dtype: np.dtype[Any]) -> bool:
    rows_contiguous = X.shape[1] <= 1 or X.strides[1] == X.itemsize
    return bool(X.dtype == dtype and X.flags.aligned and rows_contiguous and X.strides[0] % X.itemsize == 0)


def canonical_csr(X: Any, dtype: np.dtype[Any]) -> Any:
    """Return a CSR matrix that the core can borrow."""
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
    indices, indptr = (np.require(each, None, ["C", "A"]) for each in (X.indices, X.indptr))
    return type(X)((data, indices, indptr), shape=X.shape, copy=False)


def check_mask(mask: Any, X: Any) -> Array | None:
    """Refuse a mask that does not fit X."""
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
    return mask if mask.shape[1] <= 1 or mask.strides[1] == 1 else np.ascontiguousarray(mask)


def check_basis(components: Any) -> Array:
    """Refuse components that are not an orthonormal basis of float64 or float32; return them C-ordered."""
    components = np.asarray(components)
    if components.ndim != 2 or components.dtype not in (np.float64, np.float32):
        msg = (
            f"components has shape {components.shape} and dtype {components.dtype}; "
            "it must be a 2-d array of dtype float64 or float32"
        )
        raise InvalidInputError(msg)
    if not len(components):
        msg = f"components has shape {components.shape}; it must have at least one row"
        raise InvalidInputError(msg)
    components = np.require(components, None, ["C", "A"])
    error = _core.orthonormality_error(components)
    if not error < 1e-3:
        msg = (
            f"components must have orthonormal rows; components @ components.T differs from the identity by {error:.1e}"
        )
        raise InvalidInputError(msg)
    return np.asarray(components)


def refuse_infinite(samples: Samples, threads: int) -> None:
    """Refuse samples with an infinite entry."""
    for batch in samples.batches():
        found = _core.find_infinite(batch.payload, batch.mask, samples.n_features, threads)
        if found is not None:
            start = batch.rows.start if isinstance(batch.rows, slice) else None
            row, column = found[0] + (start or 0), found[1]
            msg = (
                f"Input X contains infinity at row {row}, column {column} (as {samples.dtype}); entries must be "
                "finite, or NaN for missing. on_bad='skip' leaves such rows out."
            )
            raise InvalidInputError(msg)
