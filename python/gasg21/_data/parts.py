"""The parts of a `BlockSource` as `Samples`: what `check_samples` is for one array. Errors name the part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from gasg21._data.block_source import BlockSource
from gasg21._data.samples import Samples, canonical_csr, check_mask, refuse_infinite
from gasg21._readers.stored import as_floats
from gasg21.exceptions import InvalidInputError


@dataclass(frozen=True)
class Reading:
    """How parts are read: the parameters of an estimator that matter for it."""

    on_bad: str = "raise"
    absent: str = "missing"


def read_part(source: BlockSource, i: int, reading: Reading, *, look_for_infinity: bool = True) -> Samples:
    """Read and check one part. It may be empty, and all of it may be missing.

    ``look_for_infinity=False`` trusts that an earlier pass has looked.
    """
    try:
        read = source.read(i)
    except (InvalidInputError, MemoryError):
        raise
    except Exception as error:
        msg = f"{source.name(i)} cannot be read: {type(error).__name__}: {error}"
        raise InvalidInputError(msg) from error
    try:
        X, mask = read if isinstance(read, tuple) else (read, None)
        samples = as_samples(X, mask, source.dtype, reading)
        _check_shape(samples, source, i)
        if look_for_infinity and reading.on_bad == "raise":
            refuse_infinite(samples, 1)
    except (InvalidInputError, TypeError) as error:
        msg = f"{source.name(i)}: {error}"
        raise InvalidInputError(msg) from error
    return samples


def as_samples(X: Any, mask: Any, dtype: np.dtype[Any], reading: Reading) -> Samples:
    """Return an array-like, data frame or sparse matrix as samples of a dtype."""
    if isinstance(X, np.ma.MaskedArray):
        observed = ~np.ma.getmaskarray(X)
        mask, X = observed if mask is None else observed & mask, X.data
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.dtype.kind == "O":
        X = _numbers(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        msg = f"X has shape {X.shape} and dtype {X.dtype}; it must have shape (samples, features) and hold numbers"
        raise InvalidInputError(msg)
    if sp.issparse(X):
        X = canonical_csr(X, dtype)
    samples = Samples(X, check_mask(mask, X), dtype, absent_is_zero=reading.absent == "zero")
    if samples.can_be_borrowed:
        return samples
    return replace(samples, data=as_floats(X, dtype))  # as a whole: sums over batches would have other bits


def _numbers(X: Any) -> Any:
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        msg = f"X has dtype {X.dtype}, which does not convert to numbers: {error}"
        raise InvalidInputError(msg) from error


def _check_shape(samples: Samples, source: BlockSource, i: int) -> None:
    if samples.n_features != source.n_features:
        msg = f"it has {samples.n_features} features; it must have {source.n_features}"
        raise InvalidInputError(msg)
    expected = source.lengths[i]
    if expected is not None and samples.n_samples != expected:
        msg = f"it has {samples.n_samples} rows; {expected} were expected"
        raise InvalidInputError(msg)
