"""Rounds of the polish over blocks of data: the sums of a block, and what follows from the sums of all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.parts import Reading, as_samples
from gasg21._data.samples import Array, Batch, Samples, check_basis, refuse_infinite
from gasg21.exceptions import InvalidInputError

# What `BlockSums.counts` counts, as `diagnostics_` calls it. The first two are used.
OUTCOMES = (
    "n_taken",
    "n_in_subspace",
    "n_zero",
    "n_all_missing",
    "n_too_few",
    "n_nonfinite",
    "n_rank_deficient",
    "n_orthogonal",
    "entries_used",
)


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

    def __radd__(self, other: Any) -> BlockSums:
        """Return the sums themselves: `sum` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

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

    @property
    def diagnostics(self) -> dict[str, int]:
        """How many samples were seen and used, and why others were not, as ``diagnostics_`` of an estimator."""
        counts = dict(zip(OUTCOMES, map(int, self.counts), strict=True))
        entries = counts.pop("entries_used")
        used = counts.pop("n_taken") + counts.pop("n_in_subspace")
        return {"n_seen": used + sum(counts.values()), "n_used": used, **counts, "entries_used": entries}

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
        return tuple(_native(getattr(self, f.name)) for f in fields(self))


@dataclass(frozen=True)
class UnionSums:
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

    def __radd__(self, other: Any) -> UnionSums:
        """Return the sums themselves: `sum` begins with 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def diagnostics(self) -> dict[str, int]:
        """How many samples were seen and used, and why others were not."""
        counts = self.unassigned + sum(each.counts for each in self.clusters)
        return replace(self.clusters[0], counts=counts).diagnostics


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
    samples = _checked(X, mask, components.dtype, Reading(on_bad, absent))
    wanted = components.shape[1] - (0 if lift is None else 1)
    if samples.n_features != wanted:
        msg = f"X has {samples.n_features} features; it must have {wanted}, as many as components"
        raise InvalidInputError(msg)
    return sums_of(components, samples, _check_scatter(scatter, len(components)), lift)


def sums_of(components: Array, samples: Samples, scatter: Any, lift: Any = None) -> BlockSums:
    """Return the sums of checked samples; the scatter is a pair (C, s) or None."""
    lift = None if lift is None else (np.ascontiguousarray(lift[0], components.dtype), float(lift[1]))
    parts = [
        BlockSums(*_core.block_sums(components, batch.payload, batch.mask, scatter, lift))
        for batch in _batches(samples)
    ]
    return sum(parts[1:], parts[0])


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
    known = [None] * len(bases) if scatters is None else list(scatters)
    if not bases or len(known) != len(bases):
        msg = f"there are {len(bases)} subspaces and {len(known)} scatters; there must be one scatter per subspace"
        raise InvalidInputError(msg)
    samples = _checked(X, mask, bases[0].dtype, Reading(on_bad, absent))
    pairs = [_check_scatter(each, len(basis)) for each, basis in zip(known, bases, strict=True)]
    return union_sums_of(bases, samples, pairs)


def union_sums_of(bases: list[Array], samples: Samples, scatters: list[Any]) -> UnionSums:
    """Return the sums of checked samples; the scatters are pairs (C, s) or None."""
    total: Any = 0
    for batch in _batches(samples):
        sums, labels, unassigned = _core.union_sums(bases, batch.payload, batch.mask, scatters)
        small = labels.astype(np.int16 if len(bases) < 2**15 else np.int32)
        total = total + UnionSums(tuple(BlockSums(*each) for each in sums), unassigned, small)
    assert isinstance(total, UnionSums)
    return total


def new_basis(components: Array, sums: BlockSums, scatter: Scatter | None) -> tuple[Array, Scatter, float]:
    """Compute the subspace and the scatter of the next round, without extrapolation. `BlockPolish` needs fewer rounds.

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
    polish = BlockPolish(components, scatter)
    change = polish.update(sums)
    assert polish.scatter is not None
    return polish.components, polish.scatter, change


class BlockPolish:
    """One subspace between the rounds: ends a round, and extrapolates from the last two.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Where to start, with orthonormal rows.
    scatter : Scatter, optional
        Scatter to start with, such as `start_scatter` of a sample. Without it, the first round only estimates it.

    Examples
    --------
    >>> from gasg21.blocks import BlockPolish, block_sums, start_scatter
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> polish = BlockPolish(data.basis, start_scatter(data.basis, data.data))
    >>> moved = polish.update(block_sums(polish.components, data.data, polish.scatter))
    >>> bool(moved < 1e-6)
    True
    """

    def __init__(self, components: Array, scatter: Scatter | None = None) -> None:
        components = check_basis(components)
        self._core = _core.block_polish(components, _check_scatter(scatter, len(components)))

    @property
    def components(self) -> Array:
        """Basis of the next round, (n_components, n_features)."""
        return self._core.components

    @property
    def scatter(self) -> Scatter | None:
        """Scatter of the next round; None before the first."""
        pair = self._core.scatter
        return None if pair is None else Scatter(*pair)

    def update(self, sums: BlockSums) -> float:
        """End a round.

        Parameters
        ----------
        sums : BlockSums
            Sums over all blocks, made with `components` and `scatter`.

        Returns
        -------
        moved : float
            Angle by which the subspace moved, in radians; pi / 2 if there was no scatter.
        """
        _ = sums.scatter  # refuses sums over no sample
        return self._core.update(sums.as_tuple())


def start_scatter(components: Array, X: Any, mask: Any = None, *, lift: tuple[Array, float] | None = None) -> Scatter:
    """Return the scatter of a sample of the data about a subspace: Tyler's fixed point.

    Rounds that start with it begin to move the subspace at once.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Basis with orthonormal rows.
    X, mask, lift
        As for `block_sums`.

    Returns
    -------
    scatter : Scatter
        For `BlockPolish`, or the first `block_sums`.

    Examples
    --------
    >>> from gasg21.blocks import start_scatter
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(400, 20, 2, outlier_fraction=0.2, random_state=0)
    >>> start_scatter(data.basis, data.data).C.shape
    (2, 2)
    """
    components = check_basis(components)
    samples = _checked(X, mask, components.dtype, Reading())
    batch = samples.whole()
    return Scatter(*_core.start_scatter(components, batch.payload, batch.mask, lift))


def repair(
    subspaces: Sequence[Array], X: Any, mask: Any = None, *, n_candidates: int = 30, seed: int = 0
) -> tuple[list[Array], list[int]]:
    """Replace subspaces that missed a cluster, on a sample of the data.

    Candidates come from where samples lie densely and far from all subspaces. A subspace is replaced if that brings the
    samples nearer.

    Parameters
    ----------
    subspaces : sequence of ndarray of shape (d_k, n_features)
        Bases with orthonormal rows.
    X, mask
        A uniform sample of the data, as for `block_sums`; some thousand samples.
    n_candidates : int
        Candidates to choose from, at least one per subspace and at most a million.
    seed : int
        Seed of the candidates.

    Returns
    -------
    subspaces : list of ndarray
        All subspaces.
    replaced : list of int
        Which of them are new. Their scatters are not known.

    Examples
    --------
    >>> from gasg21.blocks import repair
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> data = make_union_of_subspaces(600, 20, 2, 3, random_state=0)
    >>> missed = [data.bases[0], data.bases[1], data.bases[1]]  # twice the same
    >>> subspaces, replaced = repair(missed, data.data)
    >>> len(replaced) > 0
    True
    """
    bases = [check_basis(each) for each in subspaces]
    batch = _checked(X, mask, bases[0].dtype, Reading()).whole()
    found, replaced = _core.repair(bases, batch.payload, batch.mask, max(n_candidates, len(bases)), 0, seed)
    return list(found), list(replaced)


def _native(value: Any) -> Any:
    """Return an array that the core can borrow: other processes hand over arrays that are not aligned."""
    return np.require(value, None, ["C", "A"]) if isinstance(value, np.ndarray) else value


def _checked(X: Any, mask: Any, dtype: Any, reading: Reading) -> Samples:
    samples = as_samples(X, mask, np.dtype(dtype), reading)
    if reading.on_bad == "raise":
        refuse_infinite(samples, 1)
    return samples


def _batches(samples: Samples) -> Any:
    """Return the batches of samples; of an empty block, one without rows."""
    if samples.n_samples:
        return samples.batches()
    return [Batch(np.zeros((1, samples.n_features), samples.dtype)[:0], None, slice(0))]  # NumPy gives it strides


def _check_scatter(scatter: Scatter | None, d: int) -> tuple[Array, float] | None:
    if scatter is None:
        return None
    C, s = np.require(scatter.C, np.float64, ["C", "A"]), scatter.s
    if C.shape != (d, d) or not np.isfinite(C).all() or not s > 0:
        msg = (
            f"scatter has C of shape {C.shape} and s={s!r}; C must be a finite matrix of shape {(d, d)}, "
            "and s must be positive"
        )
        raise InvalidInputError(msg)
    return C, float(s)
