"""A union of subspaces: KGASG21."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from gasg21 import _core
from gasg21._algorithms.ensemble import fit_members, join_runs
from gasg21._algorithms.two_stage import without_entries
from gasg21._support.progress import progress_bar
from gasg21._estimators.gasg21 import GASG21
from gasg21._algorithms.self_check import LOST
from gasg21._estimators.union import UnionMixin, assign, dense, is_near
from gasg21._data.parameters import check_n_jobs, n_threads
from gasg21._algorithms.union import UnionPlan, UnionRecovery
from gasg21._data.samples import (
    Array,
    Samples,
    check_choice,
    check_components,
    check_integer,
    check_number,
    check_samples,
    seed_of,
    unchanged_on_error,
)
from gasg21._algorithms.whitening import Whitening
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.step_size import StepSize

_CANDIDATES = {"density": 3, "farthest": 10}  # per cluster


class KGASG21(UnionMixin):
    """Robust clustering into a union of subspaces, from data with outliers and missing entries.

    Makes candidate subspaces of the neighbours of sampled points, selects the K with the least sum of
    distances, and refines them: each sample goes to the nearest subspace, which takes one step of `GASG21`.
    Then each subspace is polished on its own members, samples are assigned anew, and so on; subspaces that
    were missed are looked for where samples lie densely and far from all. Each sample is scaled to unit
    length first; data is not centred. An affine subspace of dimension d is a linear one of dimension d + 1:
    for motion segmentation use n_components=4 as the data is (or append a constant feature).
    ``init="farthest", scaling=False, polish=False`` is the paper's K-GASG21. docs/clustering.md explains.

    Parameters
    ----------
    n_clusters : int
        Number K of subspaces.
    n_components : int or list of n_clusters ints
        Dimension of the subspaces, or of each.
    init : {"density", "farthest"} or list of n_clusters arrays of shape (d_i, n_features)
        "density" takes seeds where samples lie densely and no candidate is near, imputes missing entries
        and swaps after the greedy selection; "farthest" is the paper's probabilistic farthest insertion,
        zero-filled, which needs more candidates, and is used with ``whiten=True``, where outliers are left
        out first. Or where to start.
    n_candidates : int, optional
        Candidate subspaces to select from; None means 3 per cluster for "density", 10 for "farthest".
    n_neighbors : int, optional
        Samples that a candidate is fitted to at first, the seed among them; None means d + 3, or 2 d + 2
        with ``whiten=True``, whose coordinates are noisier.
    n_ensemble : int
        Runs from different seeds (of the stream as in the paper, 10 passes) whose better half is joined by
        co-association and spectral clustering, each cluster then fitted anew with scaling and polish: for
        real data of up to a few thousand samples, where single runs differ. The matrix that joins them has
        n_samples^2 entries.
    whiten : bool
        Work in the leading principal coordinates divided by the square root of their singular values,
        outliers left out and missing entries filled in first: for real, ill-conditioned data whose clusters
        together have a low rank. `subspaces_` are then fitted to the clusters in the original coordinates
        (after `partial_fit`: those that it moved are mapped back, which is rougher). The lengths of the samples
        count here. New samples need more than sum(d_i) observed entries. Data is copied, and float64.
    scaling : bool
        True measures steps in units of the weights' own spread, as in `GASG21`.
    polish : bool
        Whether `fit` polishes and repairs. `partial_fit` never does.
    reject_outliers : bool
        Whether samples that are as far from all subspaces as a random direction get the label -1.
    step_size : {"adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        One such rule for each subspace. The first step of "adaptive" is at most 0.1 and at most half the
        median residual after the selection.
    max_passes : int
        Passes over the data that the stream makes at most in `fit`; with polish it makes a few, and the
        polish at most twice as many rounds after those that surround the repair.
    tol : float
        The angle to aim at, in radians. 0 without polish runs all passes.
    on_bad, absent
        As for `GASG21`.
    random_state : int, RandomState, Generator or None
        An int gives the same bits every time.
    verbose : int
        1 shows a progress bar.
    n_jobs : int or None
        Threads, as for `GASG21`; of an ensemble, the runs that go on at the same time. It changes no bit of the
        results.

    Attributes
    ----------
    subspaces_ : list of n_clusters ndarrays of shape (d_i, n_features)
        Orthonormal bases.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; -1 where too little is observed to tell, and for outliers with
        ``reject_outliers=True``.
    residuals_ : ndarray of shape (n_samples,)
        After `partial_fit`: how far each of its samples was from its subspace, NaN if it could not be told.
    n_iter_ : int
        Vectors used by the stream.
    n_passes_ : int
        Passes of the stream and rounds of the polish in the last `fit`.
    status_ : str
        How the last `fit` ended: "converged" (to `tol`), "noise_floor" (as close as the noise lets it),
        "max_passes", "undetermined" (some subspace has too few members to be determined), "interrupted", or
        with one cluster "rank_deficient".
    converged_ : bool
        True for the first two of these.
    estimated_angles_ : ndarray of shape (n_clusters,)
        Standard error of the largest angle between each subspace and the true one, from the data alone; pi / 2
        where it is not known (without polish).
    timings_ : dict
        Seconds that the last `fit` spent in "seed" (candidates), "select" and "refine".
    history_ : list of dict
        One record per pass: its stage, by how much each subspace ``moved`` (with polish: before its members
        were polished further), ``members`` of each.
    diagnostics_ : dict of int
        How many samples the stream has seen and used, and why others were not.
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

    labels_: Array
    residuals_: Array
    n_features_in_: int
    n_iter_: int
    n_passes_: int
    n_skipped_: int
    status_: str
    converged_: bool
    estimated_angles_: Array
    timings_: dict[str, float]
    history_: list[dict[str, Any]]
    diagnostics_: dict[str, int]
    _stream: _core.KSubspaces

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int | list[int] = 1,
        *,
        init: Any = "density",
        n_candidates: int | None = None,
        n_neighbors: int | None = None,
        n_ensemble: int = 1,
        whiten: bool = False,
        scaling: bool = True,
        polish: bool = True,
        reject_outliers: bool = False,
        step_size: str | StepSize = "adaptive",
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
        self.scaling = scaling
        self.polish = polish
        self.reject_outliers = reject_outliers
        self.step_size = step_size
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
            One sample per row. NaN is missing; of a sparse matrix the stored entries are the observed
            ones. C-ordered float64 and float32 arrays, memory-mapped or not, are not copied, except for a
            few thousand samples that candidates are made of; other layouts are, once.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt; once the stream has begun it leaves the subspaces reached so
            far, with ``status_ = "interrupted"`` (an ensemble leaves everything as it was before).
        """
        interrupt: KeyboardInterrupt | None = None
        began = time.perf_counter()
        with unchanged_on_error(self):
            samples = self._check_fit(X, mask)
            working = self._fit_working(samples)
            recovery = UnionRecovery(self._plan(working), self._without_outliers(samples, working))
            try:
                passes = None if self.polish else self.max_passes
                with progress_bar(type(self).__name__, samples.n_samples, passes, self.verbose) as progress:
                    recovery = self._recover(recovery, progress)
            except KeyboardInterrupt as caught:
                if not recovery.subspaces:
                    raise
                interrupt = caught
                recovery.status = "interrupted"
            self._publish_fit(recovery)
            self.__dict__.pop("residuals_", None)  # of an earlier stream
            self.labels_ = self._label(samples, working)
            if self._whitening is not None and interrupt is None:
                self._refit_original(samples, working, recovery.plan)
            spent = time.perf_counter() - began
            self.timings_["refine"] = spent - self.timings_["seed"] - self.timings_["select"]
        if interrupt is not None:
            raise interrupt
        self._warn_unless_converged()
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Assign each sample to the nearest subspace and update that, in the order given.

        The first call selects where to start from its samples, as `fit` does (there must be enough of
        them: some ten per cluster and dimension), and later ones go on. One run, whatever `n_ensemble` is.
        ``labels_`` and ``residuals_`` are those of the samples of this call, as they came by: before each
        moved its subspace.
        """
        interrupt: KeyboardInterrupt | None = None
        with unchanged_on_error(self):
            first = not hasattr(self, "_stream")
            if first:
                samples = self._check_fit(X, mask)
                working = self._fit_working(samples)
                recovery = UnionRecovery(self._plan(working), self._without_outliers(samples, working))
                recovery.start(streaming=True)
                self._publish(recovery.stream)
            else:
                self._check_parameters()
                self._check_same_clusters()
                samples = self._check_new(X, mask)
                working = self._working(samples)
            block = working.whole()
            before = self._stream.subspaces(), self.subspaces_
            with progress_bar(type(self).__name__, samples.n_samples, 1, self.verbose) as progress:
                try:
                    labels, residuals = self._stream.consume(block.payload, block.mask, None, progress)
                    self.residuals_ = residuals
                    self.labels_ = self._rejected(labels, residuals, samples, working)
                except KeyboardInterrupt as caught:  # the stream stands between two vectors
                    interrupt = caught
            self._publish(self._stream)
            self._keep_unmoved(*before)
        if interrupt is not None:
            raise interrupt
        return self

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the labels of the samples."""
        return self.fit(X, y, mask=mask).labels_

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the residuals of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    # ---- checks

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_ensemble", self.n_ensemble, 1)
        check_integer("max_passes", self.max_passes, 1)
        check_number("tol", self.tol, 0)
        check_n_jobs(self.n_jobs)
        for name in ("whiten", "scaling", "polish", "reject_outliers"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                msg = f"{name}={getattr(self, name)!r} must be True or False"
                raise InvalidInputError(msg)

    def _check_fit(self, X: Any, mask: Any) -> Samples:
        self._check_parameters()
        samples = check_samples(self, X, mask, reset=True)
        check_integer("n_clusters", self.n_clusters, 1, samples.n_samples, "n_samples = ")
        self._dimensions(samples.n_features)
        return samples

    def _check_same_clusters(self) -> None:
        now = [len(subspace) for subspace in self.subspaces_]
        if list(self._dimensions(self.n_features_in_)) != now:
            msg = (
                f"n_clusters={self.n_clusters!r} and n_components={self.n_components!r} must stay as they were while a "
                f"stream goes on ({len(now)} clusters of dimensions {now}); fit starts anew"
            )
            raise InvalidInputError(msg)

    def _dimensions(self, n_features: int) -> tuple[int, ...]:
        given = self.n_components
        if isinstance(given, list | tuple | np.ndarray):
            if len(given) != self.n_clusters:
                msg = f"n_components={given!r} must be one integer or a list of n_clusters={self.n_clusters} integers"
                raise InvalidInputError(msg)
            return tuple(check_components(d, n_features) for d in given)
        return (check_components(given, n_features),) * self.n_clusters

    def _plan(self, working: Samples) -> UnionPlan:
        dimensions = self._dimensions(self.n_features_in_)
        init: str | list[Array]
        if isinstance(self.init, str):
            check_choice("init", self.init, tuple(_CANDIDATES))
            init = "farthest" if self.whiten else self.init  # without outliers there is none to prefer
            default = _CANDIDATES[init] * self.n_clusters
        else:
            init, default = self._given_subspaces(dimensions, working.dtype), self.n_clusters
        n_candidates = default if self.n_candidates is None else self.n_candidates
        check_integer("n_candidates", n_candidates, self.n_clusters)
        if self.n_neighbors is not None:
            check_integer("n_neighbors", self.n_neighbors, 1)
        return UnionPlan(
            dimensions=dimensions,
            init=init,
            n_candidates=n_candidates,
            n_neighbors=self.n_neighbors or (2 * max(dimensions) + 2 if self.whiten else 0),
            scaling=bool(self.scaling),
            polish=bool(self.polish),
            step_size=self.step_size,
            max_passes=self.max_passes,
            tol=self.tol,
            seed=seed_of(self.random_state),
            n_threads=n_threads(self.n_jobs),
        )

    def _given_subspaces(self, dimensions: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
        if self.whiten:
            msg = "init must be 'density' or 'farthest' with whiten=True, which changes the coordinates"
            raise InvalidInputError(msg)
        wanted = [(d, self.n_features_in_) for d in dimensions]
        try:
            arrays = [np.array(each, dtype, order="C") for each in self.init]
        except (ValueError, TypeError) as error:
            msg = f"init={self.init!r} must be 'density', 'farthest' or a list of arrays of numbers"
            raise InvalidInputError(msg) from error
        if [a.shape for a in arrays] != wanted:
            msg = f"init has the shapes {[a.shape for a in arrays]}; they must be (d_i, n_features) = {wanted}"
            raise InvalidInputError(msg)
        for k, a in enumerate(arrays):
            if not np.isfinite(a).all() or np.linalg.matrix_rank(a) < len(a):
                msg = f"init[{k}] must have finite, linearly independent rows"
                raise InvalidInputError(msg)
        return [np.ascontiguousarray(np.linalg.qr(a.T)[0].T) for a in arrays]

    # ---- the work

    def _fit_working(self, samples: Samples) -> Samples:
        """Fit the coordinates that the clusters are looked for in, and return the samples in them."""
        self._whitening = None
        if self.whiten:
            dimensions = self._dimensions(samples.n_features)
            self._whitening = Whitening.of(dense(samples), dimensions, seed_of(self.random_state), self.n_jobs)
        return self._working(samples)

    def _without_outliers(self, samples: Samples, working: Samples) -> Samples:
        """Return the whitened samples without those that lie outside the span of all clusters."""
        if self._whitening is None:
            return working
        good = ~self._whitening.is_outlier(dense(samples))
        return Samples(working.data[good], None, working.dtype) if good.sum() >= self.n_clusters else working

    def _recover(self, recovery: UnionRecovery, progress: Any) -> UnionRecovery:
        plan = recovery.plan
        if len(plan.dimensions) == 1 and isinstance(plan.init, str):
            self._recover_one(recovery)
        elif self.n_ensemble > 1:
            good = recovery.samples

            def inliers(subspaces: list[Array]) -> Array:
                return is_near(subspaces, *assign(subspaces, good, plan.n_threads), good)

            return join_runs(plan, good, self.n_ensemble, inliers)
        else:
            recovery.run(progress)
        return recovery

    def _recover_one(self, recovery: UnionRecovery) -> None:
        """One cluster is GASG21."""
        plan, block = recovery.plan, recovery.samples.whole()
        X = block.payload
        if isinstance(X, tuple):
            X = sp.csr_matrix(X, shape=(recovery.samples.n_samples, recovery.samples.n_features))
        one = GASG21(
            plan.dimensions[0],
            scaling=plan.scaling,
            polish=plan.polish,
            step_size=plan.step_size,
            max_passes=plan.max_passes,
            tol=plan.tol,
            on_bad=self.on_bad,
            random_state=plan.seed,
            verbose=self.verbose,
            n_jobs=self.n_jobs,
        )
        recovery.timings.update(seed=0.0, select=0.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                one.fit(X, mask=block.mask)
        finally:
            if hasattr(one, "components_"):  # also what an interrupted fit has reached
                recovery.adopt(one)

    # ---- publishing

    def _publish_fit(self, recovery: UnionRecovery) -> None:
        self._publish(recovery.stream_from_here())
        self._set_subspaces(recovery.subspaces)
        if recovery.counters is not None:
            self._count(recovery.counters)
        self.history_ = recovery.history
        self.n_passes_ = len(recovery.history)
        self.status_ = recovery.status
        self.converged_ = recovery.status in ("converged", "noise_floor")
        self.estimated_angles_ = recovery.estimated_angles
        self.timings_ = recovery.timings

    def _refit_original(self, samples: Samples, working: Samples, plan: UnionPlan) -> None:
        """Fit each cluster in the data's own coordinates, of which whitening leaves some out."""
        labels, residuals = self._assign(working)
        good = is_near(self._bases, labels, residuals, working)
        X = dense(samples)
        good &= ~self._whitening.is_outlier(X)  # type: ignore[union-attr]
        for k, d in enumerate(plan.dimensions):
            one = fit_members(X[good & (labels == k)], d, plan)
            if one is not None:
                self.subspaces_[k] = one.components_
                self.estimated_angles_[k] = one.estimated_angle_
        if self.status_ in ("undetermined", "noise_floor"):
            self.status_ = "undetermined" if self.estimated_angles_.max() > LOST else "noise_floor"
            self.converged_ = self.status_ == "noise_floor"

    def _publish(self, stream: _core.KSubspaces) -> None:
        self._stream = stream
        self._set_subspaces(stream.subspaces())
        self._count(stream.counters())

    def _keep_unmoved(self, bases: list[Array], subspaces: list[Array]) -> None:
        """Keep the subspaces, which may be better than those of the stream mapped back, that have not moved."""
        for k, before in enumerate(bases):
            if np.array_equal(before, self._bases[k]):
                self.subspaces_[k] = subspaces[k]

    def _count(self, counters: dict[str, int]) -> None:
        self.n_iter_ = counters["n_used"]
        self.n_skipped_ = counters["n_seen"] - counters["n_used"]
        self.diagnostics_ = without_entries(counters)

    def _set_subspaces(self, bases: list[Array]) -> None:
        whitening = self._whitening
        self._bases = bases
        self.subspaces_ = list(bases) if whitening is None else [whitening.original(U) for U in bases]

    def _warn_unless_converged(self) -> None:
        if self.converged_ or (self.status_ == "max_passes" and self.tol == 0):
            return
        worst = int(np.argmax(self.estimated_angles_))
        said = {
            "max_passes": f"some subspace still moved by {np.max(self.history_[-1]['moved']):.1e} rad in the last pass "
            f"(max_passes={self.max_passes}, tol={self.tol}). Raise max_passes; if that does not help, n_clusters or "
            "n_components may be too small.",
            "undetermined": f"the data does not determine all subspaces (not that of cluster {worst}, for one). Give "
            "more data or more entries of it, or use a smaller n_clusters or n_components.",
            "rank_deficient": "the samples do not span a subspace of dimension "
            f"n_components={len(self.subspaces_[worst])}: use a smaller n_components.",
        }[self.status_]
        warnings.warn(said, ConvergenceWarning, stacklevel=3)
