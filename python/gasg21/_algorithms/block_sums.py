"""The sums of a block of data, for a round of the polish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.parts import Reading, as_samples
from gasg21._data.samples import Array, Batch, Samples, check_basis, refuse_infinite
from gasg21.exceptions import InvalidInputError


class _Addable:
    """Sums that the built-in `sum` can add."""

    def __radd__(self, other: Any) -> Any:
        """Return the sums themselves: `sum` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


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
class BlockSums(_Addable):
    """The sums of one block in a round. The sums of several blocks can be added, also by `sum`.

    Each sample has a weight, omega, which is small for outliers. All sums are in float64, whatever the dtype of the
    data. An empty block has zeros.

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
    near : int
        Samples much nearer to the subspace than a random direction.
    residuals : ndarray of uint64
        Histogram of the residuals of the unit-norm samples, for `quantile`.
    counts : ndarray of uint64
        What became of the samples, for `diagnostics`.

    Examples
    --------
    >>> from gasg21.blocks import block_sums
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> total = sum(block_sums(data.basis, block) for block in (data.data[:200], data.data[200:]))
    >>> total.rows.shape
    (20, 5)
    >>> total.diagnostics["n_used"]
    400
    """

    C: Array
    s: float
    weight: float
    rows: Array
    information: Array
    near: int
    residuals: Array
    counts: Array

    def __add__(self, other: BlockSums) -> BlockSums:
        """Return the sums over both blocks."""
        if not isinstance(other, BlockSums):
            return NotImplemented
        return BlockSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def scatter(self) -> Scatter:
        """The scatter of the inliers, from these sums."""
        return Scatter(*_core.scatter_of(native(self.C), self.s, self.weight))

    @property
    def estimated_angle(self) -> float:
        """Standard error of the largest angle between the subspace of the round and the true subspace, in radians."""
        return _core.standard_error(self.information, len(self.rows))

    @property
    def diagnostics(self) -> dict[str, int]:
        """How many samples were seen and used, and why others were not, as ``diagnostics_`` of an estimator."""
        return _core.diagnostics(native(self.counts))

    def quantile(self, share: float) -> float:
        """Return the residual below which a share of all residuals lies, to within one percent.

        Parameters
        ----------
        share : float
            Between 0 and 1.

        Returns
        -------
        residual : float
            NaN if there are none.
        """
        return _core.quantile(self.residuals, share)

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the sums as the core takes them."""
        return tuple(native(getattr(self, f.name)) for f in fields(self))


@dataclass(frozen=True)
class UnionSums(_Addable):
    """The sums of one block for K subspaces, each over the samples that are nearest to it. They can be added.

    Attributes
    ----------
    clusters : tuple of BlockSums
        The sums for each subspace.
    unassigned : ndarray of uint64
        What became of the samples that are nearest to none, as `BlockSums.counts`.
    labels : ndarray of int
        The nearest subspace of each sample, -1 if none is. Adding blocks joins them in their order.

    Examples
    --------
    >>> from gasg21.blocks import union_sums
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> data = make_union_of_subspaces(400, 20, 2, 3, random_state=0)
    >>> total = sum(union_sums(data.bases, block) for block in (data.data[:200], data.data[200:]))
    >>> len(total.clusters), len(total.labels)
    (3, 400)
    """

    clusters: tuple[BlockSums, ...]
    unassigned: Array
    labels: Array

    def __add__(self, other: UnionSums) -> UnionSums:
        """Return the sums over both blocks."""
        if not isinstance(other, UnionSums):
            return NotImplemented
        clusters = tuple(a + b for a, b in zip(self.clusters, other.clusters, strict=True))
        labels = np.concatenate([self.labels, other.labels])
        return UnionSums(clusters, self.unassigned + other.unassigned, labels)

    @property
    def diagnostics(self) -> dict[str, int]:
        """How many samples were seen and used, and why others were not."""
        return _core.diagnostics(sum((each.counts for each in self.clusters), self.unassigned))


def block_sums(
    components: Array,
    X: Any,
    scatter: Scatter | None = None,
    mask: Any = None,
    *,
    lift: tuple[Array, float] | None = None,
    on_bad: str = "raise",
    absent: str = "missing",
) -> BlockSums:
    """Return the sums of one block of samples.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Basis of the round, with orthonormal rows, float64 or float32.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples of the block, as for `gasg21.GASG21.fit`. There may be none, and all entries may be missing.
    scatter : Scatter, optional
        Scatter of the round; None in the first round.
    mask : bool array of shape (n_samples, n_features), optional
        True where an entry is observed.
    lift : (centre, constant), optional
        For an affine subspace: the samples become ``(x - centre, constant)``, and components has one more column.
    on_bad, absent : str
        As for `gasg21.GASG21`.

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
    components = check_basis(components)
    samples = checked(X, mask, components.dtype, Reading(on_bad, absent))
    wanted = components.shape[1] - (0 if lift is None else 1)
    if samples.n_features != wanted:
        msg = f"X has {samples.n_features} features; it must have {wanted}, as many as components"
        raise InvalidInputError(msg)
    return sums_of(components, samples, pair_of(scatter), lift)


def sums_of(components: Array, samples: Samples, scatter: Any, lift: Any = None) -> BlockSums:
    """Return the sums of checked samples; the scatter is a pair (C, s) or None."""
    if lift is not None:
        lift = np.ascontiguousarray(lift[0], components.dtype), float(lift[1])
    total = sum(
        BlockSums(*_core.block_sums(components, batch.payload, batch.mask, scatter, lift))
        for batch in _batches(samples)
    )
    assert isinstance(total, BlockSums)
    return total


def union_sums(
    subspaces: Sequence[Array],
    X: Any,
    scatters: Sequence[Scatter | None] | None = None,
    mask: Any = None,
    *,
    on_bad: str = "raise",
    absent: str = "missing",
) -> UnionSums:
    """Return the sums of one block for K subspaces: assign each sample to the nearest, and sum over the members.

    Parameters
    ----------
    subspaces : sequence of ndarray of shape (d_k, n_features)
        Bases of the round, each with orthonormal rows.
    X, mask, on_bad, absent
        As for `block_sums`.
    scatters : sequence of Scatter or None, optional
        Scatter of each subspace; None in the first round.

    Returns
    -------
    sums : UnionSums
        Sums over the samples of the block.

    Examples
    --------
    >>> from gasg21.blocks import union_sums
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> data = make_union_of_subspaces(400, 20, 2, 3, random_state=0)
    >>> bool((union_sums(data.bases, data.data).labels == data.labels).mean() > 0.99)
    True
    """
    bases = [check_basis(each) for each in subspaces]
    if not bases:
        msg = "subspaces is empty; there must be at least one subspace"
        raise InvalidInputError(msg)
    known = [None] * len(bases) if scatters is None else [pair_of(each) for each in scatters]
    return union_sums_of(bases, checked(X, mask, bases[0].dtype, Reading(on_bad, absent)), known)


def union_sums_of(
    bases: list[Array], samples: Samples, scatters: list[Any], labels: Array | None = None, lift: Any = None
) -> UnionSums:
    """Return the sums of checked samples; the scatters are pairs (C, s) or None.

    ``labels`` name the subspace to which each sample belongs, -1 for none. None: to the nearest.
    """
    total: Any = 0
    for batch in _batches(samples):
        own = None if labels is None else labels[batch.rows].astype(np.uint64)
        sums, unassigned, found = _core.union_sums(bases, batch.payload, batch.mask, scatters, own, lift)
        small = found.astype(np.int16 if len(bases) < 2**15 else np.int32)
        total = total + UnionSums(tuple(BlockSums(*each) for each in sums), unassigned, small)
    assert isinstance(total, UnionSums)
    return total


def pair_of(scatter: Scatter | None) -> tuple[Array, float] | None:
    """Return a scatter as the core takes it."""
    return None if scatter is None else (np.require(scatter.C, np.float64, ["C", "A"]), float(scatter.s))


def native(value: Any) -> Any:
    """Return an array that the core can borrow: other processes hand over arrays that are not aligned."""
    return np.require(value, None, ["C", "A"]) if isinstance(value, np.ndarray) else value


def checked(X: Any, mask: Any, dtype: Any, reading: Reading) -> Samples:
    samples = as_samples(X, mask, np.dtype(dtype), reading)
    if reading.on_bad == "raise":
        refuse_infinite(samples, 1)
    return samples


def _batches(samples: Samples) -> Any:
    """Return the batches of samples; of an empty block, one without rows."""
    if samples.n_samples:
        return samples.batches()
    return [Batch(np.zeros((1, samples.n_features), samples.dtype)[:0], None, slice(0))]  # NumPy gives it strides
