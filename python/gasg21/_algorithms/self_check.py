"""Whether to believe a fit: entries that it has not seen, and what it makes of them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from gasg21 import _core
from gasg21._data.samples import Array, HeldOut, Samples

# The self-check looks at this many samples, fewer where they are very long.
_CHECKED_SAMPLES, _CHECKED_ENTRIES = 300, 4_000_000
# It fails when more than this share of the samples that look like inliers are predicted worse on held-out
# entries than by 0, when one coordinate has been swallowed, or when the error estimate says so.
_BAD_SHARE, SWALLOWED, LOST = 0.3, 0.5, 0.22
# A fit to corrupted entries fails when no more than this share of all samples is predicted well.
_PREDICTED = 0.1


def hold_out(samples: Samples, n_components: int, seed: int) -> HeldOut:
    """Choose a tenth of the entries, at least one, of a few hundred random samples."""
    count = min(_CHECKED_SAMPLES, max(20, _CHECKED_ENTRIES // samples.n_features), samples.n_samples)
    rows = np.sort(_core.permutation(samples.n_samples, seed ^ 0x5EED)[:count].astype(np.intp))
    rng = np.random.default_rng(seed)
    features = {}
    for row, values in zip(rows, dense_rows(samples, rows), strict=True):
        observed = np.flatnonzero(~np.isnan(values))
        hidden = max(1, len(observed) // 10)
        if len(observed) - hidden > n_components + 1:
            features[int(row)] = np.sort(rng.choice(observed, hidden, replace=False))
    return HeldOut(features)


def dense_rows(samples: Samples, rows: Array) -> Array:
    """Return some samples as an array with NaN for what is not observed."""
    block = samples.take(rows)
    if isinstance(block.payload, tuple):
        part = sp.csr_matrix(block.payload, shape=(len(rows), samples.n_features))
        dense = np.full(part.shape, np.nan, samples.dtype)
        dense[np.repeat(np.arange(len(rows)), np.diff(part.indptr)), part.indices] = part.data
        return dense
    return block.payload if block.mask is None else np.where(block.mask, block.payload, np.nan).astype(samples.dtype)


def predicts(components: Array, samples: Samples, held_out: HeldOut) -> bool:
    """Whether the samples that look like inliers are predicted on entries that the fit has not seen."""
    rows = np.array(sorted(held_out.features), np.intp)
    if not len(rows):
        return True
    values = dense_rows(samples, rows)
    hidden = held_out.hide(values, rows)
    weights, residuals = project(components, hidden)
    observed = (~np.isnan(hidden)).sum(axis=1)
    # squared residual per degree of freedom over the mean square of the sample
    spread = residuals**2 * observed / np.maximum(observed - len(components), 1)
    inlier = np.flatnonzero((spread < 0.5) & weights.any(axis=1))  # a sample of zeros tells nothing
    if len(inlier) <= len(components):  # so many samples any subspace can be put through
        return False
    told, wrong = 0, 0
    for k in inlier:
        features = held_out.features[int(rows[k])]
        scale = float(np.nanmax(np.abs(values[k])))
        truth = values[k, features] / scale
        miss = truth - (weights[k] / scale) @ components[:, features]
        if np.abs(truth).max() > 1e-6:  # zero predicts itself
            told += 1
            wrong += bool(np.sum(miss**2) > np.sum(truth**2))
    if wrong > _BAD_SHARE * told:
        return False
    return not (_is_sparse(float(np.median(observed)), components) and coherence(components) > SWALLOWED)


def predicts_some(components: Array, samples: Samples, held_out: HeldOut, loss: _core.Loss) -> bool:
    """Whether enough samples are predicted well in half of their hidden entries; the other half may be corrupt."""
    rows = np.array(sorted(held_out.features), np.intp)
    if not len(rows):
        return True
    values = dense_rows(samples, rows)
    weights, _ = project(components, held_out.hide(values, rows), loss)
    told, good = 0, 0
    for row, truth, w in zip(rows, values, weights, strict=True):
        features = held_out.features[int(row)]
        scale = float(np.nanmax(np.abs(truth)))
        miss = np.median(np.abs(truth[features] / scale - (w / scale) @ components[:, features])) if scale > 0 else 0.0
        size = np.median(np.abs(truth[features] / scale)) if scale > 0 else 0.0
        told += size > 0  # zero predicts itself
        good += bool(miss < 0.5 * size)
    return good > max(_PREDICTED * told, min(len(components), told // 2))


def swallowed(polished: Array, stream: Array, observed: float) -> bool:
    """Whether the polish has taken a single coordinate into the subspace, as it may on very sparse data."""
    before, after = coherence(stream), coherence(polished)
    return _is_sparse(observed, polished) and after > SWALLOWED >= before and after - before > 0.3


def _is_sparse(observed: float, components: Array) -> bool:
    d, n = components.shape
    return bool(observed < 10 * d < n)


def project(components: Array, X: Array, loss: _core.Loss = "l21") -> tuple[Array, Array]:
    """Weights and relative residuals of the rows of an array of the components' dtype."""
    function = _core.project64 if components.dtype == np.float64 else _core.project32
    return function(np.ascontiguousarray(components), np.ascontiguousarray(X), None, loss)


def coherence(components: Array) -> float:
    """Largest share of a single coordinate that lies in the subspace."""
    return float(np.max(np.sum(components**2, axis=0)))
