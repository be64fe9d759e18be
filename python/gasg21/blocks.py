"""The polish over data that lies in blocks, on one disk or on many machines.

Everything that a pass of the polish needs of the data is a sum over samples. A round is: every block
returns its `block_sums` for a subspace and a scatter that all of them know; the sums are added; `new_basis`
makes the next subspace and scatter of them. The result does not depend on how the data is divided, up to
rounding, and adding in a fixed order makes it the same to the bit.

>>> import numpy as np
>>> from gasg21 import GASG21
>>> from gasg21.blocks import block_sums, new_basis
>>> from gasg21.datasets import make_low_rank
>>> from gasg21.metrics import subspace_angle
>>> data = make_low_rank(4000, 100, 3, outlier_fraction=0.6, observed_fraction=0.7, random_state=0)
>>> blocks = np.split(data.data, 4)                          # each of them could be far away
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
from gasg21._data.samples import Array, check_samples
from gasg21.exceptions import InvalidInputError

__all__ = ["BlockSums", "Scatter", "block_sums", "new_basis"]


@dataclass(frozen=True)
class Scatter:
    """The scatter of the inliers: of their weights, and of their residuals per degree of freedom."""

    C: Array  # (d, d)
    s: float


@dataclass(frozen=True)
class BlockSums:
    """What a block contributes to a round; add those of several blocks."""

    C: Array  # (d, d), sum of omega w w'
    s: float
    weight: float
    rows: Array  # (n, d (d + 1) / 2 + d), the normal equations of each feature
    information: Array  # (d, d)

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
        """The scatter that follows from these sums."""
        if not self.weight > 0:
            msg = "no sample of the blocks can be used"
            raise InvalidInputError(msg)
        return Scatter(self.C / self.weight, max(self.s / self.weight, 1e-34))

    @property
    def estimated_angle(self) -> float:
        """Standard error of the largest angle between the round's subspace and the truth."""
        smallest = float(np.linalg.eigvalsh(self.information)[0])
        return min(np.sqrt(len(self.rows) / smallest), np.pi / 2) if smallest > 0 else np.pi / 2


class _Door(BaseEstimator):  # type: ignore[misc]
    """What `check_samples` wants to know of an estimator."""

    on_bad, absent = "raise", "missing"
    n_jobs = 1  # blocks are summed side by side


def block_sums(components: Array, X: Any, scatter: Scatter | None = None, mask: Any = None) -> BlockSums:
    """Return the sums of one block of samples.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Orthonormal basis of the round, float64 or float32.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The block, as for `gasg21.GASG21.fit`.
    scatter : Scatter, optional
        That of the round; None in the first one.
    mask : bool array of the shape of X, optional
        True = observed.
    """
    components = _check_components(components)
    samples = check_samples(_Door(), X, mask, reset=True, dtype=components.dtype)
    if samples.n_features != components.shape[1]:
        msg = f"X has {samples.n_features} features; it must have {components.shape[1]}, as components"
        raise InvalidInputError(msg)
    function = _core.block_sums64 if components.dtype == np.float64 else _core.block_sums32
    C, s = (None, 0.0) if scatter is None else (np.asarray(scatter.C, np.float64), scatter.s)
    d = len(components)
    if C is not None and (C.shape != (d, d) or not np.isfinite(C).all() or not s > 0):
        msg = f"scatter must hold a finite {(d, d)} matrix and a positive number, not {C.shape} and {s!r}"
        raise InvalidInputError(msg)
    parts = [BlockSums(*function(components, b.payload, b.mask, C, s)) for b in samples.blocks()]
    return sum(parts[1:], parts[0])


def new_basis(components: Array, sums: BlockSums, scatter: Scatter | None) -> tuple[Array, Scatter, float]:
    """Return the next subspace, its scatter, and the angle between this subspace and that of the round.

    The first round (``scatter=None``) only finds the scatter: its samples all counted alike.
    """
    components = _check_components(components)
    following = sums.scatter
    if scatter is None:
        return components, following, float(np.pi / 2)
    function = _core.next_basis64 if components.dtype == np.float64 else _core.next_basis32
    rows = np.ascontiguousarray(sums.rows, components.dtype)
    basis, C, change = function(components, rows, following.C)
    return basis, Scatter(C, following.s), change


def _check_components(components: Array) -> Array:
    components = np.asarray(components)
    if components.ndim != 2 or components.dtype not in (np.float64, np.float32):
        msg = (
            f"components has shape {components.shape} and dtype {components.dtype}; it must be 2-d, float64 or float32"
        )
        raise InvalidInputError(msg)
    components = np.ascontiguousarray(components)
    if not _core.orthonormality_error(components) < 1e-3:
        msg = "components must have orthonormal rows"
        raise InvalidInputError(msg)
    return components
