"""Between the rounds over blocks of data: the next subspace, the first scatter, and clusters that were missed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gasg21 import _core
from gasg21._algorithms.block_sums import BlockSums, Scatter, checked, pair_of
from gasg21._data.parts import Reading
from gasg21._data.samples import check_basis
from gasg21._support.arrays import Array


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
        self._core = _core.block_polish(check_basis(components), pair_of(scatter))

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
    samples = checked(X, mask, components.dtype, Reading())
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
    batch = checked(X, mask, bases[0].dtype, Reading()).whole()
    found, replaced = _core.repair(bases, batch.payload, batch.mask, max(n_candidates, len(bases)), 0, seed)
    return list(found), list(replaced)
