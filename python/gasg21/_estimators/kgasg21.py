"""KGASG21: a union of subspaces."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.block_source import BlockSource
from gasg21._data.constructor import check_parameters, with_parameters
from gasg21._data.parameters import core_metric, core_rule, n_threads, progress_bar
from gasg21._data.samples import Array, Samples, one_as_row
from gasg21._estimators.fitted_union import FittedUnion, PublishedUnion, UnionStreamReport
from gasg21._estimators.union_blocks import fit_blocks
from gasg21._estimators.union_files import from_root, to_root
from gasg21._estimators.union_fit import checked, dimensions_of, is_auto, publish, recover, warn_unless_converged
from gasg21._support.guarded import drafted, snapshot
from gasg21._support.progress import PassCallback
from gasg21.exceptions import InvalidInputError, ModelFormatError


@with_parameters
class KGASG21(FittedUnion):
    """Robust clustering into a union of subspaces, from data with outliers and missing entries.

    One run makes candidate subspaces from the neighbours of sampled points, selects the K with the least sum of
    distances, and refines them: each sample goes to the nearest subspace, which takes one step of `GASG21`. Then each
    subspace is polished on its own members, samples are assigned again, and so on. Missed subspaces are sought where
    samples lie densely and far from all subspaces. Each sample is scaled to unit length first.

    By default `fit` then judges the run. It stands if its clusters are told apart at sight, or if spectral clustering
    of the shape interaction agrees. If not, as in images and many motions, a consensus of different representations
    decides. ``init="farthest", metric="canonical", polish=False`` is the paper's K-GASG21. docs/unions.md leads from
    data to labels, docs/clustering.md explains the run.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters.
    n_components_ : list of int
        Dimension of each subspace.
    subspaces_ : list of n_clusters ndarrays of shape (d_i, n_features)
        Orthonormal bases.
    means_ : ndarray of shape (n_clusters, n_features)
        A point of each affine subspace; zeros unless ``center=True``.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; -1 where too few entries are observed, and for outliers with
        ``reject_outliers=True``.
    residuals_ : ndarray of shape (n_samples,)
        After `partial_fit`: distance of each of its samples to its subspace; NaN if not determined.
    cluster_status_ : list of n_clusters str
        After `partial_fit`: how the stream of each subspace fares, as `status_` of `GASG21`. `status_` is then the
        worst of them.
    cluster_changes_ : list of n_clusters lists of int
        After `partial_fit`: after how many vectors of the whole stream each subspace was seen to change. `changes_`
        has the changes of all of them.
    n_iter_ : int
        Vectors used by the stream.
    n_passes_ : int
        Passes of the stream and rounds of the polish in the last `fit`.
    status_ : str
        How the last `fit` ended: "converged" (to `tol`), "noise_floor" (as close as the noise lets it),
        "max_passes", "undetermined" (some subspace has too few members to be determined), "too_few_clusters",
        "too_many_clusters", "indistinct" (different representations disagree, so that the clusters cannot be told
        apart), "interrupted", or with one cluster "rank_deficient".
    converged_ : bool
        True for the first two of these.
    whitened_ : bool
        Whether the clusters were found in whitened coordinates; `transform` and `score_samples` refer to these.
    agreement_ : float or None
        How far different representations agree (adjusted Rand index, at most 1); None if none was asked.
    selection_ : dict or None
        How "auto" numbers were chosen: ``rule``, ``drop_ratios`` (for each dimension tried, by how much the k-th
        subspace lowers the cost, relative to the next one), and for each number of clusters asked ``agreement`` and
        ``gain``, by how much the last cluster lowers the residuals of its members.
    estimated_angles_ : ndarray of shape (n_clusters,)
        Standard error of the largest angle between each subspace and the true one, from the data alone; pi / 2
        where it is unknown (without polish).
    timings_ : dict
        Seconds that the last `fit` spent in "seed" (candidates), "select" and "refine".
    history_ : list of dict
        One record per pass: its stage, the angle by which each subspace ``moved`` (in the polish: by the first step
        of the round), the ``members`` of each. Empty after an ensemble, whose runs go on at the same time.
    diagnostics_ : dict of int
        How many samples the stream has seen and used, and why others were not used.
    n_skipped_ : int
        Samples that could not be used.
    changes_ : list of int
        After `partial_fit`: after how many vectors of the stream any of the subspaces was seen to change.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from gasg21 import KGASG21
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> p = make_union_of_subspaces(400, 30, 2, 3, outlier_fraction=0.25, observed_fraction=0.8, random_state=0)
    >>> model = KGASG21(3, 2, reject_outliers=True, random_state=0).fit(p.data)
    >>> clustering_error(p.labels, model.labels_, outlier_label=-1)
    0.0
    """

    # ---- fitting

    def fit(self, X: Any, y: None = None, mask: Any = None, *, callback: PassCallback | None = None) -> KGASG21:
        """Find the subspaces and label the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            One sample per row. NaN is missing. The stored entries of a sparse matrix are the observed ones. C-ordered
            float64 and float32 arrays, memory-mapped or not, are not copied, except for a few thousand samples that
            the search looks at, and for what `whiten`, `screen` and `center` say; other layouts are, once.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.
        callback : callable, optional
            Called with the record of each pass, a dict as in `history_`. If it returns something true, the fit ends
            there: the model has the subspaces reached so far, and ``status_ = "interrupted"``. What it raises ends
            the fit and leaves the model as it was. It does not see the runs of an ensemble or a consensus, which go on
            at the same time.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt. Once the stream has begun it leaves the subspaces reached so far, with
            ``status_ = "interrupted"``; in a consensus the run before it stays. Earlier, and in an ensemble, it leaves
            everything as it was.
        """
        began = time.perf_counter()
        with drafted(self) as draft:
            interrupt = draft._fit(X, mask, began, callback)
        if interrupt is not None:
            raise interrupt
        warn_unless_converged(self)
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Assign each sample to the nearest subspace and update that one, in the order given.

        The first call selects where to start from its samples, as `fit` does (it needs enough of them: some ten per
        cluster and dimension); later calls continue. It makes one run, whatever `n_ensemble` is. ``labels_`` and
        ``residuals_`` belong to the samples of this call, before each of them moved its subspace.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`. One vector may be given without the first axis.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            ``status_``, ``cluster_status_`` and ``changes_`` say how the stream fares.
        """
        with drafted(self) as draft:
            stopped = draft._partial_fit(X, mask)
        if stopped is not None:
            raise stopped
        return self

    def _fit(self, X: Any, mask: Any, began: float, callback: PassCallback | None) -> KeyboardInterrupt | None:
        """Fit a draft. Returns what interrupted it."""
        if isinstance(X, BlockSource):
            return fit_blocks(self, X, mask, began, callback)
        samples = checked(self, X, mask)
        passes = None if self.polish else self.max_passes
        with progress_bar(self, samples.n_samples, passes, callback) as progress:
            found = recover(self, samples, progress, goal="fit")
        if found.interrupt is not None and not isinstance(found.interrupt, KeyboardInterrupt):
            raise found.interrupt
        publish(self, found, began)
        return found.interrupt

    def _partial_fit(self, X: Any, mask: Any) -> BaseException | None:
        """Update a draft. Returns what stopped it between two vectors."""
        stopped: BaseException | None = None
        samples, before = self._start_or_continue(*one_as_row(X, mask))
        stream = self._stream
        assert stream is not None
        batch = samples.whole()
        bases = stream.subspaces()
        found: tuple[Array, Array] | None = None
        with progress_bar(self, samples.n_samples, 1) as progress:
            try:
                found = stream.consume(batch.payload, batch.mask, None, progress, before.union)
            except BaseException as caught:  # the stream stands between two vectors
                stopped = caught
        union = before.union.moved(_moved(before.union.bases, bases, stream.subspaces()))
        labels, residuals = found or (None, None)
        if found is not None and self.reject_outliers:
            near = found[0], found[1].astype(before.dtype)
            labels = union.reject(batch.payload, batch.mask, *near, n_threads(self.n_jobs))
        following = UnionStreamReport(*stream.following())
        self._published = PublishedUnion(union, stream.counters(), labels, residuals, before.report, following)
        return stopped

    def _start_or_continue(self, X: Any, mask: Any) -> tuple[Samples, PublishedUnion]:
        """Return the samples, and what was published before them."""
        if self._stream is not None:
            check_parameters(self)
            self._check_same_clusters(self._stream)
            return self._check_new(X, mask), self._current()
        samples = checked(self, X, mask)
        found = recover(self, samples, None, goal="start")
        if found.interrupt is not None:
            raise found.interrupt
        self._stream = found.stream
        return samples, PublishedUnion(found.union, found.counters)

    def _check_same_clusters(self, stream: _core.KSubspaces) -> None:
        now = self.n_components_
        given = dimensions_of(self, self.n_features_in_)
        count = len(now) if is_auto(self.n_clusters) else self.n_clusters
        if count != len(now) or given not in ([0], now, [now[0]] if len(set(now)) == 1 else now):
            msg = (
                f"n_clusters={self.n_clusters!r} and n_components={self.n_components!r} must stay as they were while a "
                f"stream goes on ({len(now)} clusters of dimensions {now}); fit starts anew"
            )
            raise InvalidInputError(msg)
        if self.replay not in (None, stream.replay):
            msg = f"replay={self.replay!r} must stay {stream.replay} while a stream goes on; fit starts anew"
            raise InvalidInputError(msg)

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the labels of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            ``labels_``.
        """
        return self.fit(X, y, mask=mask).labels_

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the residuals of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    # ---- files

    @classmethod
    def _from_core(cls, tree: dict[str, Any]) -> KGASG21:
        union, stream = tree.get("union"), tree.get("stream")
        if union is None:
            bases = tree["stream"].subspaces()
            union = (_core.Union32 if bases[0].dtype == np.float32 else _core.Union64)(bases)
        model = cls(union.n_clusters, union.dimensions, center=union.lift is not None)
        if stream is None:
            start = _core.KSubspaces32 if isinstance(union, _core.Union32) else _core.KSubspaces64
            stream = start(union.bases, core_rule("adaptive", scaling=True, stream=True), 0, core_metric(True))
        model._stream, model.n_features_in_ = stream, union.n_features
        model._published = PublishedUnion(union, stream.counters())
        model._check_attributes(dict(vars(model)))
        return model

    def _to_file(self, *, strict: bool) -> dict[str, Any]:
        return to_root(super()._to_file(strict=strict))

    @classmethod
    def _attributes_of(cls, tree: dict[str, Any]) -> dict[str, Any]:
        return super()._attributes_of(from_root(tree))

    def _frozen(self) -> KGASG21:
        frozen = snapshot(self)
        if frozen._stream is None or frozen._published is None:
            return frozen
        before = frozen._published
        frozen._stream = type(frozen._stream)._from_state(frozen._stream.__getstate__())  # others may move it
        if before.counters != frozen._stream.counters():
            union = before.union.moved(frozen._stream.subspaces())
            frozen._published = before._replace(union=union, counters=frozen._stream.counters())
        return frozen

    @classmethod
    def _check_attributes(cls, attributes: dict[str, Any]) -> None:
        stream, published = attributes.get("_stream"), attributes.get("_published")
        good = isinstance(published, PublishedUnion | None) and isinstance(
            stream, _core.KSubspaces64 | _core.KSubspaces32 | None
        )
        if not good or (stream is None) != (published is None):
            msg = "there is no stream, or no subspaces"
            raise ModelFormatError(msg)
        if published is None or stream is None:
            return
        union = published.union
        shapes = [U.shape for U in stream.subspaces()] == [U.shape for U in union.bases]
        if not shapes or union.n_features != attributes["n_features_in_"]:
            msg = "the stream and the subspaces do not belong together"
            raise ModelFormatError(msg)


def _moved(published: list[Array], before: list[Array], now: list[Array]) -> list[Array]:
    """Return the bases of a stream; the published one where it has not moved, from which it may differ by rounding."""
    return [U if np.array_equal(V, W) else W for U, V, W in zip(published, before, now, strict=True)]
