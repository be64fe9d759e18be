"""Entries that a subspace does not see: completion and the score."""

from __future__ import annotations

import numpy as np

from gasg21 import _core
from gasg21._data.samples import Array, Samples


def complete(subspace: _core.Subspace, samples: Samples, threads: int) -> Array:
    """Return the samples, dense, with their missing entries filled in; observed entries are kept."""
    basis, prior, lift = subspace.basis, subspace.prior, subspace.lift
    seen = subspace.range if len(subspace.range[0]) else None
    out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, basis.dtype))
    in_place = not samples.is_sparse and out.dtype == samples.dtype
    if in_place:
        out[...] = samples.data
    for batch in samples.batches() if in_place else samples.pieces():
        filled = out[batch.rows] if in_place else np.zeros(out[batch.rows].shape, samples.dtype)
        _core.complete(basis, batch.payload, batch.mask, filled, prior, seen, lift, threads)
        if not in_place:
            observed, kept = samples.observed(batch.rows)
            out[batch.rows] = np.where(observed, kept, filled)
    if lift is not None:  # a sample without an observed entry is expected at the mean
        mean = subspace.mean
        mean[unseen(subspace)] = np.nan
        out[np.isnan(out).all(axis=1)] = mean
    return out


def replace_missing(out: Array, samples: Samples, values: Array, subspace: _core.Subspace) -> None:
    """Write `values`, where they are not NaN, to the missing entries of the samples in `out`.

    As in `complete`, features that the fit has never observed stay NaN, and noisy data limits the values.
    """
    values = np.clip(values, *subspace.limits)  # NaN where the limits are
    for batch in samples.pieces():
        observed, _ = samples.observed(batch.rows)
        some = values[batch.rows]
        out[batch.rows] = np.where(observed | np.isnan(some), out[batch.rows], some)


def score(subspace: _core.Subspace, samples: Samples, threads: int) -> float:
    """Return 1 minus a robust mean, over the samples, of the relative errors of entries predicted from the others.

    Each observed entry is predicted once, from all other entries of its sample. The errors are relative to the
    distances from the coordinate-wise medians of the samples, so that fits with and without a centre compare.
    """
    basis, prior, lift, reference = subspace.basis, subspace.prior, subspace.lift, _medians(samples)
    errors = [
        _core.held_out_errors(basis, batch.payload, batch.mask, prior, reference, lift, threads)
        for batch in samples.batches()
    ]
    return _core.held_out_score(np.concatenate(errors))


def unseen(subspace: _core.Subspace) -> Array:
    """Return the features that no sample of the fit observes."""
    low, high, _ = subspace.range  # of a lifted subspace with the constant's
    return np.flatnonzero(low > high)


def _medians(samples: Samples) -> Array:
    """Return the median of each feature over some of the samples; 0 if they are few, or never observe it."""
    batch = samples.whole()
    return _core.score_reference(batch.payload, batch.mask, samples.n_features)
