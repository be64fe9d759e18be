"""KGASG21: a union of subspaces."""

from __future__ import annotations

import dataclasses
import time
import warnings
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.default_union import DefaultUnion, recover_default, spectral_start
from gasg21._algorithms.doubts import doubt_of
from gasg21._algorithms.ensemble import fit_members, join_runs
from gasg21._algorithms.model_order import Selection, as_record, dimensions_of
from gasg21._algorithms.residual_split import ResidualSplit, split_residuals
from gasg21._algorithms.screening import Screening
from gasg21._algorithms.union_lift import UnionLift
from gasg21._algorithms.whitening import Whitening
from gasg21._data.parameters import check_integer, n_threads, progress_bar, seed_of
from gasg21._data.samples import Array, Samples, check_samples, one_as_row
from gasg21._estimators.union import (
    Coordinates,
    PublishedUnion,
    UnionMixin,
    UnionReport,
    UnionStreamReport,
    finite_rows,
)
from gasg21._estimators.union_parameters import UnionParameters, is_auto
from gasg21._support.guarded import drafted, snapshot
from gasg21._support.progress import Progress
from gasg21.exceptions import ConvergenceWarning, InvalidInputError, ModelFormatError
from gasg21.step_size import StepSize

_DEVIATIONS = 5.0  # above the typical residual, that a member may lie among outliers
_TOLD_APART = 0.8  # least agreement of the representations for clusters that can be told apart


class KGASG21(UnionMixin, UnionParameters):
    """Robust clustering into a union of subspaces, from data with outliers and missing entries.

    One run makes candidate subspaces from the neighbours of sampled points, selects the K with the least sum of
    distances, and refines them: each sample goes to the nearest subspace, which takes one step of `GASG21`. Then each
    subspace is polished on its own members, samples are assigned again, and so on. Missed subspaces are sought where
    samples lie densely and far from all subspaces. Each sample is scaled to unit length first.

    By default `fit` then asks another representation of the data, spectral clustering of the shape interaction. If
    both agree, the run stands. If not, as in images and many motions, a consensus over different representations
    decides. ``init="farthest", scaling=False, polish=False`` is the paper's K-GASG21. docs/unions.md leads from data
    to labels, docs/clustering.md explains the run.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number K of subspaces. "auto" chooses it, up to 20, or up to 5 where the clusters share most of their span, as
        motions and images do; `selection_` shows why.
    n_components : int, list of n_clusters ints, or "auto"
        Dimension of the subspaces, or of each. "auto" chooses that of each cluster, up to 10. Too large is safer than
        too small.
    init : {"auto", "density", "farthest", "spectral"} or list of n_clusters arrays of shape (d_i, n_features)
        "density" takes seeds where samples lie densely and no candidate is near, imputes missing entries, and
        exchanges candidates after the greedy selection. "farthest" is the paper's probabilistic farthest insertion
        on zero-filled data; it needs more candidates. "spectral" starts from the clusters of the shape interaction, in
        the coordinates of a robust fit of all clusters together, on at most 3000 samples. Or the subspaces to start
        from. "auto" is "density" with a consensus if necessary; with ``whiten=True`` it is "farthest", and so is
        "density", because outliers are left out before.
    n_candidates : int, optional
        Number of candidate subspaces; None means 3 per cluster for "density", 10 for "farthest".
    n_neighbors : int, optional
        Samples that a candidate is first fitted to, the seed among them. None means d + 3, or 2 d + 2 with
        ``whiten=True``, whose coordinates are noisier.
    n_ensemble : int or "auto"
        Number of runs from different seeds (the paper's stream, 10 passes). The better half is joined by
        co-association and spectral clustering, then each cluster is fitted again with scaling and polish. At most
        5000 samples are joined, by a matrix of that size. "auto" is one run, or what a consensus needs.
    whiten : bool or "auto"
        Work in the leading principal coordinates, divided by the square root of their singular values; outliers are
        left out and missing entries filled in first. For real, ill-conditioned data whose clusters together have a
        low rank. `subspaces_` are then fitted to the clusters in the original coordinates (those that `partial_fit`
        moves are mapped back, which is less exact). The lengths of the samples count here. New samples need more
        than sum(d_i) observed entries. Data is copied, as float64. "auto" whitens where a consensus was necessary. A
        consensus is sought only if `init`, `n_ensemble` and `whiten` are all "auto" and `polish` is True.
    screen : bool or "auto"
        Leave out of the search what a `GASG21` of dimension sum(d_i) calls an outlier, and what lies far from its
        neighbours. Such samples are judged again at the end. "auto" screens in a consensus and for "spectral", if
        sum(d_i) is at most half the number of features. `whiten=True` always screens.
    center : bool
        True fits affine subspaces, of dimension n_components each: samples are lifted as in `GASG21`, and each cluster
        gets its own mean in the end. Data is copied. For trajectories of rigid motions use n_components=4 without,
        or 3 with it.
    scaling : bool
        True measures steps in units of the weights' own spread, as in `GASG21`.
    polish : bool
        Whether `fit` polishes and repairs. `partial_fit` never does.
    reject_outliers : bool
        Whether samples that lie on no subspace get the label -1: those as far from all subspaces as a random
        direction, and those whose residuals, in the data's own units, stand apart from all others.
    step_size : {"adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        Each subspace has its own rule. The first step of "adaptive" is at most 0.1 and at most half the median
        residual after the selection.
    replay : int, optional
        Vectors that the stream of each subspace keeps to draw updates from, as in `GASG21`.
    max_passes : int
        Largest number of passes of the stream in `fit`. With polish the stream makes a few, and the polish at most
        twice as many rounds after those around the repair.
    tol : float
        The angle to aim at, in radians. 0 without polish runs all passes.
    on_bad, absent
        As for `GASG21`.
    random_state : int, RandomState, Generator or None
        An int gives the same bits every time.
    verbose : int
        1 shows a progress bar.
    n_jobs : int or None
        Threads, as for `GASG21`; for an ensemble the number of runs at the same time. It changes no bit of the
        results.

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
        After `partial_fit`: how the stream of each subspace fares, as `status_` of `GASG21`. `status_` is then that of
        the subspace that fares worst.
    cluster_changes_ : list of n_clusters lists of int
        After `partial_fit`: after how many vectors of the whole stream each subspace was seen to change. `changes_` are
        those of all of them.
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
        subspace lowers the cost, relative to the next one) and ``agreement`` for each number of clusters asked.
    estimated_angles_ : ndarray of shape (n_clusters,)
        Standard error of the largest angle between each subspace and the true one, from the data alone; pi / 2
        where it is unknown (without polish).
    timings_ : dict
        Seconds that the last `fit` spent in "seed" (candidates), "select" and "refine".
    history_ : list of dict
        One record per pass: its stage, the angle by which each subspace ``moved`` (in the polish: by the first step
        of the round), the ``members`` of each.
    diagnostics_ : dict of int
        How many samples the stream has seen and used, and why others were not used.
    n_skipped_ : int
        Samples that could not be used.

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

    _stream: _core.KSubspaces | None = None

    def __init__(
        self,
        n_clusters: int | str = 2,
        n_components: int | str | list[int] = 1,
        *,
        init: Any = "auto",
        n_candidates: int | None = None,
        n_neighbors: int | None = None,
        n_ensemble: int | str = "auto",
        whiten: bool | str = "auto",
        screen: bool | str = "auto",
        center: bool = False,
        scaling: bool = True,
        polish: bool = True,
        reject_outliers: bool = False,
        step_size: str | StepSize = "adaptive",
        replay: int | None = None,
        max_passes: int = 20,
        tol: float = 1e-6,
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.init = init
        self.n_candidates = n_candidates
        self.n_neighbors = n_neighbors
        self.n_ensemble = n_ensemble
        self.whiten = whiten
        self.screen = screen
        self.center = center
        self.scaling = scaling
        self.polish = polish
        self.reject_outliers = reject_outliers
        self.step_size = step_size
        self.replay = replay
        self.max_passes = max_passes
        self.tol = tol
        self.on_bad = on_bad
        self.absent = absent
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    # ---- fitting

    def fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Find the subspaces and label the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            One sample per row. NaN is missing. The stored entries of a sparse matrix are the observed ones. C-ordered
            float64 and float32 arrays, memory-mapped or not, are not copied, except for a few thousand samples that
            candidates are made from; other layouts are, once.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt. Once the stream has begun it leaves the subspaces reached so far, with
            ``status_ = "interrupted"``; before, and in an ensemble, it leaves everything as it was.
        """
        began = time.perf_counter()
        with drafted(self) as draft:
            interrupt = draft._fit(X, mask, began)
        if interrupt is not None:
            raise interrupt
        assert draft._published is not None
        assert draft._published.report is not None
        self._warn_unless_converged(draft._published.report)
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Assign each sample to the nearest subspace and update that one, in the order given.

        The first call selects where to start from its samples, as `fit` does (it needs enough of them: some ten per
        cluster and dimension); later calls continue. It makes one run, whatever `n_ensemble` is. ``labels_`` and
        ``residuals_`` are those of the samples of this call, before each of them moved its subspace.
        """
        with drafted(self) as draft:
            stopped = draft._partial_fit(X, mask)
        if stopped is not None:
            raise stopped
        return self

    def _fit(self, X: Any, mask: Any, began: float) -> KeyboardInterrupt | None:
        """Fit a draft. Returns what interrupted it."""
        samples = self._check_fit(X, mask)
        lift = UnionLift.of(samples) if self.center else None
        lifted = Coordinates(lift).lifted(samples)
        self._selection = self._choose_order(lifted, samples.n_features)
        with progress_bar(self, samples.n_samples, None if self.polish else self.max_passes) as progress:
            union, plan = self._find_in_order(lifted, samples.n_features, progress)
        found = union.found
        interrupt: KeyboardInterrupt | None = found["interrupt"]
        if interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
            raise interrupt
        self._stream = found["stream"]
        published = self._snapshot(union, Coordinates(lift, union.whitening), samples.dtype)
        working = published.coordinates.working(lifted)
        batch, settled = working.whole(), found["status"] in ("converged", "noise_floor")
        self._stream.follow_after_fit(batch.payload, batch.mask, plan.following(), settled)
        labels, residuals = assign(published.bases, working, plan.n_threads)
        if interrupt is None:
            good = is_near(published.bases, labels, residuals, working)
            if union.left_out is not None:
                good &= ~union.left_out
            self._refit_original(published, samples, lifted, np.where(good, labels, -1), plan, found)
            self._doubt(union, published, lifted, plan)
        published = published._replace(split=self._split(published, labels, residuals, lifted, working))
        rejected = self._rejected(labels, residuals, lifted, working, published)
        self._published = published._replace(labels=rejected, report=self._report(union, began))
        return interrupt

    def _report(self, union: DefaultUnion, began: float) -> UnionReport:
        found, spent = union.found, time.perf_counter() - began
        timings = found["timings"]
        timings["refine"] = spent - timings["seed"] - timings["select"]
        record = None if self._selection is None else as_record(self._selection)
        return UnionReport(
            found["history"], found["status"], found["estimated_angles"], timings, union.agreement, record
        )

    def _partial_fit(self, X: Any, mask: Any) -> BaseException | None:
        """Update a draft. Returns what stopped it between two vectors."""
        stopped: BaseException | None = None
        lifted, working, before = self._start_or_continue(*one_as_row(X, mask))
        assert self._stream is not None
        batch, bases = working.whole(), self._stream.subspaces()
        found: tuple[Array, Array] | None = None
        with progress_bar(self, lifted.n_samples, 1) as progress:
            try:
                found = self._stream.consume(batch.payload, batch.mask, None, progress)
            except BaseException as caught:  # the stream stands between two vectors
                stopped = caught
        published = _moved(before, bases, self._stream)._replace(labels=None, residuals=None)
        if found is not None:
            labels = self._rejected(*found, lifted, working, published)
            published = published._replace(labels=labels, residuals=found[1])
        self._published = published._replace(stream=UnionStreamReport(*self._stream.following()))
        return stopped

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the labels of the samples."""
        return self.fit(X, y, mask=mask).labels_

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the residuals of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    def _start_or_continue(self, X: Any, mask: Any) -> tuple[Samples, Samples, PublishedUnion]:
        """Return the samples, lifted, those in the working coordinates, and what was published before them."""
        if self._stream is not None:
            self._check_parameters()
            self._check_same_clusters()
            return self._located(X, mask)
        samples = self._check_fit(X, mask)
        lift = UnionLift.of(samples) if self.center else None
        lifted = Coordinates(lift).lifted(samples)
        self._selection = self._choose_order(lifted, samples.n_features)
        coordinates = Coordinates(lift, self._whitening_of(lifted, samples.n_features))
        working = coordinates.working(lifted)
        plan = self._started(self._plan(working, samples.n_features), working)
        good = _without_outliers(lifted, working, coordinates.whitening, plan)
        start = plan.run(good, goal="start_of_stream")
        if start["interrupt"] is not None:
            raise start["interrupt"]
        self._stream = start["stream"]
        union = DefaultUnion(start, coordinates.whitening, None, None)
        return lifted, working, self._snapshot(union, coordinates, samples.dtype)

    def _whitening_of(self, lifted: Samples, n_features: int) -> Whitening | None:
        """Return the coordinates in which the clusters are to be found; None: those of the data."""
        if self.whiten is not True:
            return None
        dimensions = tuple(d + int(self.center) for d in self._dimensions(n_features))
        return Whitening.of(finite_rows(lifted), dimensions, seed_of(self.random_state), n_threads(self.n_jobs))

    def _find_in_order(
        self, lifted: Samples, n_features: int, progress: Progress | None
    ) -> tuple[DefaultUnion, UnionPlan]:
        """Find the subspaces; with ``n_components="auto"`` then the dimension of each, and once more with these."""
        union, plan = self._find(lifted, n_features, progress)
        if not is_auto(self.n_components) or union.found["interrupt"] is not None:
            return union, plan
        assert self._selection is not None
        working = Coordinates(None, union.whitening).working(lifted)
        extra = int(self.center)
        found = tuple(max(1, d - extra) for d in dimensions_of(union.found["subspaces"], working, plan))
        if found == self._selection.n_components:
            return union, plan
        self._selection = self._selection._replace(n_components=found)
        return self._find(lifted, n_features, progress)

    def _find(self, lifted: Samples, n_features: int, progress: Progress | None) -> tuple[DefaultUnion, UnionPlan]:
        if self._decides_by_data():
            plan = self._plan(lifted, n_features)
            return recover_default(plan, lifted, finite_rows, self.screen, progress), plan
        whitening = self._whitening_of(lifted, n_features)
        working = Coordinates(None, whitening).working(lifted)
        plan = self._started(self._plan(working, n_features), working)
        good = _without_outliers(lifted, working, whitening, plan)
        if self.screen is True and whitening is None:
            good = _screened(lifted, plan)
        return DefaultUnion(self._recover(plan, good, progress), whitening, None, None), plan

    def _started(self, plan: UnionPlan, working: Samples) -> UnionPlan:
        """Return the plan with the subspaces of a spectral start."""
        if not (isinstance(plan.init, str) and plan.init == "spectral"):
            return plan
        if len(plan.dimensions) == 1:
            return dataclasses.replace(plan, init="density")
        return dataclasses.replace(plan, init=spectral_start(plan, working, finite_rows, self.screen))

    def _recover(self, plan: UnionPlan, samples: Samples, progress: Progress | None) -> dict[str, Any]:
        n_runs = 1 if is_auto(self.n_ensemble) else int(self.n_ensemble)
        if n_runs == 1 or (len(plan.dimensions) == 1 and isinstance(plan.init, str)):
            return plan.run(samples, progress)

        def inliers(subspaces: list[Array]) -> Array:
            return is_near(subspaces, *assign(subspaces, samples, plan.n_threads), samples)

        return join_runs(plan, samples, n_runs, inliers)

    # ---- checks

    def _check_fit(self, X: Any, mask: Any) -> Samples:
        self._check_parameters()
        samples = check_samples(self, X, mask, reset=True)
        if not is_auto(self.n_clusters):
            check_integer("n_clusters", self.n_clusters, 1, samples.n_samples, "n_samples = ")
        self._given_dimensions(samples.n_features)
        self._selection = None
        return samples

    def _check_same_clusters(self) -> None:
        now = self.n_components_
        if list(self._dimensions(self.n_features_in_)) != now:
            msg = (
                f"n_clusters={self.n_clusters!r} and n_components={self.n_components!r} must stay as they were while a "
                f"stream goes on ({len(now)} clusters of dimensions {now}); fit starts anew"
            )
            raise InvalidInputError(msg)
        assert self._stream is not None
        if self.replay not in (None, self._stream.replay):
            msg = f"replay={self.replay!r} must stay {self._stream.replay} while a stream goes on; fit starts anew"
            raise InvalidInputError(msg)

    # ---- publishing

    def _snapshot(self, union: DefaultUnion, coordinates: Coordinates, dtype: np.dtype[Any]) -> PublishedUnion:
        assert self._stream is not None
        bases, whitening = union.found["subspaces"], coordinates.whitening
        counters = union.found.get("counters") or self._stream.counters()
        dtype = dtype if whitening is None else np.dtype(np.float64)
        return PublishedUnion(_original(bases, whitening), bases, coordinates, counters, dtype)

    def _refit_original(
        self,
        published: PublishedUnion,
        samples: Samples,
        lifted: Samples,
        labels: Array,
        plan: UnionPlan,
        found: dict[str, Any],
    ) -> None:
        """Fit each cluster by itself in the data's own coordinates, some of which whitening leaves out; or its flat."""
        lift, whitening = published.coordinates
        if whitening is None and (lift is None or not self.polish):
            return
        if whitening is not None:
            labels = np.where(whitening.is_outlier(finite_rows(lifted)), -1, labels)
        known = np.ones(len(plan.dimensions), bool)
        for k, d in enumerate(plan.dimensions):
            members = finite_rows(samples if lift is not None else lifted, np.flatnonzero(labels == k))
            one = fit_members(members, d - int(lift is not None), plan, center=lift is not None)
            if one is not None:
                flat = one.components if lift is None else lift.basis(one.components, one.mean)
                published.subspaces[k] = flat.astype(published.dtype)
                found["estimated_angles"][k] = np.pi / 2 if np.isnan(one.estimated_angle) else one.estimated_angle
                known[k] = not np.isnan(one.estimated_angle)
        if found["status"] in ("undetermined", "noise_floor", "max_passes"):
            lost = known.any() and _core.verdict(found["estimated_angles"][known], plan.tol) == "undetermined"
            found["status"] = "undetermined" if lost else "noise_floor"

    def _doubt(self, union: DefaultUnion, published: PublishedUnion, lifted: Samples, plan: UnionPlan) -> None:
        """Change the status if the number of clusters does not suit the data."""
        found = union.found
        if not self._decides_by_data() or len(plan.dimensions) == 1 or self._selection is not None:
            return
        if found["status"] not in ("converged", "noise_floor"):
            return
        doubt = doubt_of([U.astype(lifted.dtype) for U in published.subspaces], lifted, plan)
        if doubt is None and union.consensus is not None and union.consensus.agreement < _TOLD_APART:
            doubt = "indistinct"
        found["status"] = doubt or found["status"]

    def _split(
        self, published: PublishedUnion, labels: Array, residuals: Array, lifted: Samples, working: Samples
    ) -> ResidualSplit:
        """Return from which residual on samples are outliers by comparison with the others."""
        if not self.reject_outliers:
            return ResidualSplit()
        near = is_near(published.bases, labels, residuals, working)
        return split_residuals(self._own_residuals(published.subspaces, labels, lifted)[1][near], _DEVIATIONS)

    def _warn_unless_converged(self, report: UnionReport) -> None:
        status = report.status
        if status in ("converged", "noise_floor") or (status == "max_passes" and self.tol == 0):
            return
        worst = int(np.argmax(report.estimated_angles))
        said = {
            "max_passes": f"some subspace moved by {np.max(report.history[-1]['moved']):.1e} rad in the last pass "
            f"(max_passes={self.max_passes}, tol={self.tol}). Raise max_passes; if that does not help, n_clusters or "
            "n_components may be too small.",
            "undetermined": f"the data does not determine all subspaces (not that of cluster {worst}, for one). Give "
            "more data or more entries of it, or use a smaller n_clusters or n_components.",
            "too_few_clusters": f"one more subspace would explain about as many samples as each of the "
            f"n_clusters={self.n_clusters} does. Use a larger n_clusters, or n_clusters='auto'.",
            "too_many_clusters": f"two of the n_clusters={self.n_clusters} subspaces share their samples, or one holds "
            "hardly any. Use a smaller n_clusters, or n_clusters='auto'.",
            "indistinct": f"the clusters cannot be told apart: different representations of the data agree only by "
            f"{report.agreement or 0:.2f} (1 is perfect). n_clusters={self.n_clusters} or n_components may be wrong.",
            "rank_deficient": "the samples do not span a subspace of dimension "
            f"n_components={len(self.subspaces_[worst])}: use a smaller n_components.",
        }[status]
        warnings.warn(said, ConvergenceWarning, stacklevel=3)

    # ---- saving

    def _frozen(self) -> KGASG21:
        frozen = snapshot(self)
        if frozen._stream is None or frozen._published is None:
            return frozen
        before = frozen._published
        frozen._stream = type(frozen._stream)._from_state(frozen._stream.__getstate__())  # others may move it
        if before.counters != frozen._stream.counters() and not _same(before.bases, frozen._stream.subspaces()):
            frozen._published = _moved(before, before.bases, frozen._stream)
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
        if not isinstance(attributes.get("_selection"), Selection | None):
            msg = "the choice of the number of clusters is not one"
            raise ModelFormatError(msg)
        if published is not None and stream is not None:
            n, coordinates = attributes["n_features_in_"], published.coordinates
            shapes = [U.shape for U in stream.subspaces()]
            fits = [U.shape for U in published.subspaces] == [(d, coordinates.n_columns(n)) for d, _ in shapes]
            fits &= [U.shape for U in published.bases] == shapes
            if not fits or not all(coordinates.lead(n, r) for _, r in shapes):
                msg = "the stream and the subspaces do not belong together"
                raise ModelFormatError(msg)

    @classmethod
    def _from_stream(cls, stream: Any) -> KGASG21:
        bases = stream.subspaces()
        model = cls(len(bases), [len(U) for U in bases])
        model._stream, model.n_features_in_ = stream, bases[0].shape[1]
        model._published = PublishedUnion(list(bases), bases, Coordinates(), stream.counters(), bases[0].dtype)
        return model


def _same(some: list[Array], others: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def _original(bases: list[Array], whitening: Whitening | None) -> list[Array]:
    """Return subspaces of the working coordinates in those of the (lifted) data."""
    return list(bases) if whitening is None else [whitening.original(U) for U in bases]


def _without_outliers(lifted: Samples, working: Samples, whitening: Whitening | None, plan: UnionPlan) -> Samples:
    """Return the whitened samples without those that lie outside the span of all clusters."""
    if whitening is None:
        return working
    good = ~whitening.is_outlier(finite_rows(lifted))
    enough = good.sum() >= len(plan.dimensions)
    return Samples(working.data[good], None, working.dtype) if enough else working


def _screened(lifted: Samples, plan: UnionPlan) -> Samples:
    """Return the samples without those that lie outside the span of all clusters."""
    X = finite_rows(lifted)
    kept = Screening.of(X, plan.dimensions, plan.seed, plan.n_threads).keeps(X)
    return lifted.subset(np.flatnonzero(kept)) if kept.sum() >= len(plan.dimensions) else lifted


def _moved(before: PublishedUnion, bases: list[Array], stream: _core.KSubspaces) -> PublishedUnion:
    """Return what is published once the stream has moved on from `bases`.

    Subspaces whose bases have not moved are kept: they may be better than those mapped back.
    """
    now = stream.subspaces()
    subspaces = _original(now, before.coordinates.whitening)
    for k, (old, new) in enumerate(zip(bases, now, strict=True)):
        if np.array_equal(old, new):
            subspaces[k] = before.subspaces[k]
    return before._replace(subspaces=subspaces, bases=now, counters=stream.counters())
