"""How good an answer is, when the truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment

from gasg21.exceptions import InvalidInputError

__all__ = ["clustering_error", "relative_residual", "subspace_angle"]


def subspace_angle(A: npt.ArrayLike, B: npt.ArrayLike) -> float:
    """Largest principal angle between the row spaces of A and B, in radians.

    Accurate for tiny angles too (the arc cosine of the usual formula answers 0 below 1e-8). The rows
    need not be orthonormal. For different dimensions it is the largest of the min(d_A, d_B) angles.

    Parameters
    ----------
    A, B : array-like of shapes (d_A, n) and (d_B, n)
        Bases, one vector per row, as in ``components_``.

    Examples
    --------
    >>> round(subspace_angle([[1, 0, 0]], [[1, 1e-10, 0]]), 12)
    1e-10
    """
    A, B = _rows("A", A), _rows("B", B)
    if A.shape[1] != B.shape[1]:
        msg = f"A and B have {A.shape[1]} and {B.shape[1]} columns; both must lie in the same space"
        raise InvalidInputError(msg)
    for name, array in (("A", A), ("B", B)):
        if not array.any():
            msg = f"{name} is zero everywhere; it must span a subspace"
            raise InvalidInputError(msg)
    return float(np.max(subspace_angles(A.T, B.T)))


def clustering_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, outlier_label: Any = None) -> float:
    """Fraction of samples in the wrong cluster, under the best matching of labels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.
    outlier_label : optional
        Samples whose true label is this one are left out of the count; others that are predicted to be
        outliers count as wrong.

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or true.shape != predicted.shape or not len(true):
        msg = f"y_true and y_pred have shapes {true.shape} and {predicted.shape}; both must be (n_samples,), not empty"
        raise InvalidInputError(msg)
    if outlier_label is not None:
        keep = true != outlier_label
        true, predicted = true[keep], predicted[keep]
        if not len(true):
            return 0.0
    true_labels, true_index = np.unique(true, return_inverse=True)
    pred_labels, pred_index = np.unique(predicted, return_inverse=True)
    together = np.zeros((len(true_labels), len(pred_labels)), np.int64)
    np.add.at(together, (true_index, pred_index), 1)
    if outlier_label is not None:
        together[:, pred_labels == outlier_label] = 0
    matched = together[linear_sum_assignment(together, maximize=True)].sum()
    return float(1 - matched / len(true))


def relative_residual(true: npt.ArrayLike, rec: npt.ArrayLike) -> float:
    """Frobenius norm of ``true - rec`` over that of ``true``: the error of a recovered matrix."""
    true, rec = np.asarray(true, np.float64), np.asarray(rec, np.float64)
    if true.shape != rec.shape:
        msg = f"true and rec have shapes {true.shape} and {rec.shape}; they must be equal"
        raise InvalidInputError(msg)
    norm = np.linalg.norm(true)
    if norm == 0:
        msg = "true must not be zero everywhere"
        raise InvalidInputError(msg)
    return float(np.linalg.norm(true - rec) / norm)


def _rows(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(value, np.float64)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        msg = f"{name} of shape {array.shape} must be a non-empty 2-d array of finite numbers"
        raise InvalidInputError(msg)
    return array
