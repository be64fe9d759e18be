"""Answers for one plain row, without validation, which takes longer than to fit it."""

from __future__ import annotations

from typing import Any

from gasg21._support.arrays import Array


def weights(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `transform`."""
    found: Array | None = now.subspace.row_weights(row, mask) if estimator._weights_loss() == "l21" else None
    return found


def score(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `score_samples`."""
    residual = now.subspace.row_residual(row, mask, False)
    return None if residual is None else -residual


def decision(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `decision_function`."""
    if now.offset is None:
        found: Array | None = now.subspace.row_decision(row, mask)
        return found
    residual = now.subspace.row_residual(row, mask, True)
    return None if residual is None else -residual - now.offset


def label(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `predict`; not if it has to warn."""
    if now.doubt_about_decisions is not None:
        return None
    margin = decision(estimator, now, row, mask)
    return None if margin is None else 2 * (margin >= 0) - 1  # False for NaN, without a warning


def distances(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `distances`."""
    found: Array | None = now.subspace.row_distances(row, mask)
    return found


def completed(estimator: Any, now: Any, row: Array, mask: Any) -> Array | None:
    """Answer for `complete`."""
    found: Array | None = now.subspace.row_completed(row, mask) if estimator._weights_loss() == "l21" else None
    return found
