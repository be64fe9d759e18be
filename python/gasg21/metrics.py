"""Metrics that compare a result with the known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment

from gasg21.exceptions import InvalidInputError

__all__ = ["clustering_error", "relative_residual", "subspace_angle"]


def subspace_angle(A: npt.ArrayLike, B: npt.ArrayLike) -> float:
    """Return the largest principal angle between the row spaces of A and B.

    It is accurate for tiny angles, too. (The usual formula, an arc cosine, returns 0 for angles below 1e-8.)

    Parameters
    ----------
    A : array-like of shape (d_A, n_features)
        Basis of the first subspace, one vector per row, as in ``components_``. The rows need not be orthonormal.
    B : array-like of shape (d_B, n_features)
        Basis of the second subspace.

    Returns
    -------
    angle : float
        Angle in radians. For different dimensions it is the largest of the min(d_A, d_B) principal angles.

    Examples
    --------
    >>> round(subspace_angle([[1, 0, 0]], [[1, 1e-10, 0]]), 12)
    1e-10
    """
    A, B = _rows("A", A), _rows("B", B)
    if A.shape[1] != B.shape[1]:
        msg = f"A has {A.shape[1]} columns and B has {B.shape[1]}; they must have the same number of columns"
        raise InvalidInputError(msg)
    for name, array in (("A", A), ("B", B)):
        if not array.any():
            msg = f"{name} of shape {array.shape} is zero everywhere; it must span a subspace"
            raise InvalidInputError(msg)
    return float(np.max(subspace_angles(A.T, B.T)))


def clustering_error(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, outlier_label: Any = None) -> float:
    """Return the fraction of samples in the wrong cluster, under the best matching of labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels, of any type.
    y_pred : array-like of shape (n_samples,)
        Predicted labels, of any type.
    outlier_label : object, optional
        Label of outliers. True outliers are not counted. Other samples that are predicted to be outliers count as
        errors.

    Returns
    -------
    error : float
        Fraction of the counted samples that are wrong, in [0, 1].

    Examples
    --------
    >>> clustering_error([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    """
    true, predicted = np.asarray(y_true), np.asarray(y_pred)
    if true.ndim != 1 or true.shape != predicted.shape or not len(true):
        msg = (
            f"y_true has shape {true.shape} and y_pred has shape {predicted.shape}; "
            "both must have shape (n_samples,) and must not be empty"
        )
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
    """Return the relative error of a recovered matrix in Frobenius norm, ``|true - rec| / |true|``.

    Parameters
    ----------
    true : array-like of shape (n_samples, n_features)
        True matrix, not zero.
    rec : array-like of shape (n_samples, n_features)
        Recovered matrix.

    Returns
    -------
    error : float
        Relative error.

    Examples
    --------
    >>> relative_residual([[3.0, 4.0]], [[3.0, 4.5]])
    0.1
    """
    true, rec = np.asarray(true, np.float64), np.asarray(rec, np.float64)
    if true.shape != rec.shape:
        msg = f"true has shape {true.shape} and rec has shape {rec.shape}; the shapes must be equal"
        raise InvalidInputError(msg)
    norm = np.linalg.norm(true)
    if norm == 0:
        msg = f"true of shape {true.shape} is zero everywhere; at least one entry must be nonzero"
        raise InvalidInputError(msg)
    return float(np.linalg.norm(true - rec) / norm)


def _rows(name: str, value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return a basis as a float64 array."""
    array = np.asarray(value, np.float64)
    if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
        msg = f"{name} has shape {array.shape}; it must be a nonempty 2-d array of finite numbers"
        raise InvalidInputError(msg)
    return array
