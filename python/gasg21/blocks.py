"""The polish for data in blocks, on one disk or on many machines.

A pass of the polish needs only sums over samples. In each round, all blocks have the same subspace and scatter.
`block_sums` computes the sums of one block, the caller adds the sums of all blocks, and `new_basis` computes the next
subspace and scatter. Up to rounding, the result does not depend on how the data is divided. If the sums are added in
a fixed order, the result is reproducible bit by bit.

>>> import numpy as np
>>> from gasg21 import GASG21
>>> from gasg21.blocks import block_sums, new_basis
>>> from gasg21.datasets import make_low_rank
>>> from gasg21.metrics import subspace_angle
>>> data = make_low_rank(4000, 100, 3, outlier_fraction=0.6, observed_fraction=0.7, random_state=0)
>>> blocks = np.split(data.data, 4)                          # they could lie on different machines
>>> components = GASG21(3, random_state=0).partial_fit(blocks[0]).components_
>>> scatter = None
>>> for _ in range(8):
...     total = sum((block_sums(components, block, scatter) for block in blocks[1:]),
...                 block_sums(components, blocks[0], scatter))
...     components, scatter, change = new_basis(components, total, scatter)
>>> bool(subspace_angle(components, data.basis) < 1e-6)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from gasg21 import _core
from gasg21._data.block_source import BlockSource
from gasg21._data.samples import Array, check_samples
from gasg21.exceptions import InvalidInputError

__all__ = ["BlockSource", "BlockSums", "Scatter", "block_sums", "new_basis"]


@dataclass(frozen=True)
class Scatter:
    """The scatter of the inliers.

    Attributes
    ----------
    C : ndarray of shape (d, d)
        Scatter of the weights of the inliers in the basis.
    s : float
        Scatter of their residuals, per degree of freedom.

    Examples
    --------
    >>> from gasg21.blocks import block_sums
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> scatter = block_sums(data.basis, data.data).scatter
    >>> scatter.C.shape
    (2, 2)
    """

    C: Array
    s: float


@dataclass(frozen=True)
class BlockSums:
    """The sums of one block in a round. The sums of several blocks can be added.

    Each sample has a weight, omega, which is small for outliers.

    Attributes
    ----------
    C : ndarray of shape (d, d)
        Sum of omega w w', where w are the weights of a sample in the basis.
    s : float
        Sum of omega times the squared residual per degree of freedom.
    weight : float
        Sum of omega.
    rows : ndarray of shape (n_features, d (d + 1) / 2 + d)
        Normal equations of each feature.
    information : ndarray of shape (d, d)
        Information matrix, for `estimated_angle`.

    Examples
    --------
    >>> from gasg21.blocks import block_sums
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> total = block_sums(data.basis, data.data[:200]) + block_sums(data.basis, data.data[200:])
    >>> total.rows.shape
    (20, 5)
    """

    C: Array
    s: float
    weight: float
    rows: Array
    information: Array

    def __add__(self, other: BlockSums) -> BlockSums:
        """Return the sums over both blocks."""
        return BlockSums(
            self.C + other.C,
            self.s + other.s,
            self.weight + other.weight,
            self.rows + other.rows,
            self.information + other.information,
        )

    @property
    def scatter(self) -> Scatter:
        """The scatter of the inliers, from these sums."""
        if not self.weight > 0:
            msg = "no sample of the blocks can be used: each is zero or has too few observed entries"
            raise InvalidInputError(msg)
        return Scatter(self.C / self.weight, max(self.s / self.weight, 1e-34))

    @property
    def estimated_angle(self) -> float:
        """Standard error of the largest angle between the subspace of the round and the true subspace, in radians."""
        return _core.standard_error(self.information, len(self.rows))


class _BlockValidation(BaseEstimator):  # type: ignore[misc]
    """The parameters that `check_samples` reads from an estimator."""

    on_bad, absent = "raise", "missing"
    n_jobs = 1  # the caller sums blocks in parallel


def block_sums(components: Array, X: Any, scatter: Scatter | None = None, mask: Any = None) -> BlockSums:
    """Return the sums of one block of samples.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Basis of the round, with orthonormal rows, float64 or float32.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples of the block, as for `gasg21.GASG21.fit`.
    scatter : Scatter, optional
        Scatter of the round; None in the first round.
    mask : bool array of shape (n_samples, n_features), optional
        True where an entry is observed.

    Returns
    -------
    sums : BlockSums
        Sums over the samples of the block.

    Examples
    --------
    >>> from gasg21.blocks import block_sums
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> sums = block_sums(data.basis, data.data)
    >>> bool(sums.weight > 0)
    True
    """
    components = _check_components(components)
    samples = check_samples(_BlockValidation(), X, mask, reset=True, dtype=components.dtype)
    if samples.n_features != components.shape[1]:
        msg = f"X has {samples.n_features} features; it must have {components.shape[1]}, as many as components"
        raise InvalidInputError(msg)
    C, s = (None, 0.0) if scatter is None else (np.asarray(scatter.C, np.float64), scatter.s)
    d = len(components)
    if C is not None and (C.shape != (d, d) or not np.isfinite(C).all() or not s > 0):
        msg = (
            f"scatter has C of shape {C.shape} and s={s!r}; C must be a finite matrix of shape {(d, d)}, "
            "and s must be positive"
        )
        raise InvalidInputError(msg)
    parts = [BlockSums(*_core.block_sums(components, b.payload, b.mask, C, s)) for b in samples.batches()]
    return sum(parts[1:], parts[0])


def new_basis(components: Array, sums: BlockSums, scatter: Scatter | None) -> tuple[Array, Scatter, float]:
    """Compute the subspace and the scatter of the next round.

    The first round (``scatter=None``) gives all samples the same weight. It only estimates the scatter and keeps the
    subspace.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Basis of the round, with orthonormal rows.
    sums : BlockSums
        Sum of the `block_sums` of all blocks.
    scatter : Scatter or None
        Scatter of the round; None in the first round.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        Basis of the next round.
    scatter : Scatter
        Scatter of the next round.
    change : float
        Largest angle between the two subspaces, in radians; pi / 2 in the first round.

    Examples
    --------
    >>> from gasg21.blocks import block_sums, new_basis
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> scatter = block_sums(data.basis, data.data).scatter  # the first round keeps the subspace
    >>> components, scatter, change = new_basis(data.basis, block_sums(data.basis, data.data, scatter), scatter)
    >>> bool(change < 1e-3)
    True
    """
    components = _check_components(components)
    following = sums.scatter
    if scatter is None:
        return components, following, float(np.pi / 2)
    rows = np.ascontiguousarray(sums.rows, components.dtype)
    basis, C, change = _core.next_basis(components, rows, following.C)
    return basis, Scatter(C, following.s), change


def _check_components(components: Array) -> Array:
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
    return components
