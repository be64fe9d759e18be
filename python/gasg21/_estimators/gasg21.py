"""One subspace from a stream of vectors: GASG21, and GROUSE and GRASTA from the same core."""

from __future__ import annotations

from typing import Any

from gasg21 import _core
from gasg21._estimators.streaming import StreamingSubspace
from gasg21._data.samples import check_integer, check_number
from gasg21.step_size import StepSize


class GASG21(StreamingSubspace):
    """Robust subspace recovery from data with outliers and missing entries, one vector at a time.

    Finds the d-dimensional subspace that the good samples lie on when whole samples are garbage and
    entries are missing, by stochastic gradient steps along the geodesics of the Grassmannian, with a step
    size that adapts itself: O(n_features * n_components^2) time a sample, O(n_features * n_components)
    memory. `fit` ends with a polish, a few passes of reweighted least squares, which solves what the
    stream cannot, reaches the accuracy of least squares on the true inliers, and knows its own error.
    ``scaling=False, polish=False`` is the paper's algorithm. Each sample is scaled to unit length first;
    data is not centred. docs/two_stages.md explains both stages.

    Parameters
    ----------
    n_components : int or "auto"
        Dimension d of the subspace, in [1, n_features - 1]. "auto" tries 1, 2, ... and takes the last one
        that still lowers the residuals (50 at most; `partial_fit` decides by its first batch).
    scaling : bool
        True measures steps in units of the weights' own spread, which converges on ill-conditioned data.
        False is the paper's metric.
    step_size : {"adaptive", "multilevel", "diminishing", "constant", "greedy"} or an instance from `gasg21.step_size`
        How long the steps are; "adaptive" is the paper's rule, "diminishing" makes it GASG21-DM. "multilevel"
        and "greedy" need ``scaling=False``.
    init : {"random", "spherical_pca"} or array of shape (n_components, n_features)
        Where to start.
    max_passes : int
        Passes over the data that the stream makes at most in `fit`; the polish makes at most twice as many.
    tol : float
        The angle to aim at, in radians: `fit` ends when a pass moves the subspace by no more than this, or
        (with polish) by a small share of the estimated error. 0 without polish runs all passes. What the
        dtype cannot resolve is not asked for.
    polish : bool
        Whether `fit` ends with the batch polish. `partial_fit` never polishes.
    working_components : int, optional
        Fit this many dimensions, then keep the n_components in which the inliers vary most: for data that
        is only roughly low-rank. Twice n_components is a good value.
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides. "auto" calls a sample an outlier when its residual is one that a random
        direction would have; a number is the share of the training samples to call outliers.
    on_bad : {"raise", "skip"}
        What to do with rows that hold an infinity: refuse the data before anything is changed, or leave
        those rows out and count them.
    absent : {"missing", "zero"}
        What the entries are that a sparse matrix does not store.
    random_state : int, RandomState, Generator or None
        An int gives the same bits every time, and the same as the seed of the C++ library.
    verbose : int
        1 shows a progress bar.
    n_jobs : int or None
        Threads for the polish, and for what is done with each sample by itself (`transform`, `score_samples`,
        `predict`, `complete`); the stream is one thread by nature. -1 means all cores, -2 all but one. None means
        all cores too, as for NumPy's BLAS, but no more than OMP_NUM_THREADS or `joblib.parallel_config` say. In a
        worker of joblib (say of ``GridSearchCV(n_jobs=...)``) it is never more than the worker's share of the
        cores. It changes no bit of the results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    n_components_, n_features_in_ : int
        The dimensions.
    n_iter_ : int
        Vectors used.
    n_passes_ : int
        Passes that the last `fit` made, of the stream and of the polish.
    status_ : str
        How the last `fit` ended: "converged" (to `tol`), "noise_floor" (as close as the noise lets it),
        "max_passes", "undetermined" (the data does not determine the subspace: what was found does not
        predict entries that were held out, or its error estimate says so), "rank_deficient" (the inliers do
        not span n_components dimensions) or "interrupted".
    converged_ : bool
        True for the first two of these.
    estimated_angle_ : float
        Standard error of the largest angle to the true subspace at the end of the last `fit`, from the data
        alone. (It knows of noise and of outliers in random directions, not of outliers that themselves lie
        on a subspace.)
    step_size_ : float
        The last step.
    level_ : int
        How often the adaptive rule has halved its step.
    history_ : list of dict
        One record per pass: "pass", "stage" ("stream" or "polish"), "moved" (radians), "median_residual" and
        what else the stage knows ("level", "step_size"; "estimated_angle").
    n_skipped_ : int
        Vectors that could not be used.
    diagnostics_ : dict
        Why they could not: "n_zero", "n_all_missing", "n_too_few" (no more entries observed than
        n_components), "n_nonfinite", "n_rank_deficient", "n_orthogonal"; and "n_seen", "n_used".
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.

    References
    ----------
    J. He and Y. Zhang, "Adaptive stochastic gradient descent on the Grassmannian for robust low-rank
    subspace recovery and clustering", arXiv:1412.4044.

    Examples
    --------
    >>> from gasg21 import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(2000, 200, 5, outlier_fraction=0.5, observed_fraction=0.7, random_state=0)
    >>> model = GASG21(n_components=5, random_state=0).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    >>> bool(((model.predict(data.data) == 1) == data.inlier).mean() > 0.99)
    True
    """

    _loss = "l21"

    def __init__(
        self,
        n_components: int | str = 1,
        *,
        scaling: bool = True,
        step_size: str | StepSize = "adaptive",
        init: Any = "random",
        max_passes: int = 20,
        tol: float = 1e-6,
        polish: bool = True,
        working_components: int | None = None,
        contamination: str | float = "auto",
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            step_size=step_size,
            init=init,
            max_passes=max_passes,
            tol=tol,
            contamination=contamination,
            on_bad=on_bad,
            absent=absent,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.scaling = scaling
        self.polish = polish
        self.working_components = working_components


class GROUSE(StreamingSubspace):
    """Subspace tracking from incomplete data (Balzano, Nowak and Recht, 2010); not robust to outliers.

    Minimises the sum of the squared distances of the samples to the subspace. The gradient has the same
    direction as that of `GASG21`, weighted by the residual, so that outliers pull hardest. Samples are
    scaled to unit length first, so that the step has a meaning that does not depend on the data's units.
    An update costs O(n_features * n_components^2), as in `GASG21`. Prefer it where there are no outliers
    and the subspace keeps changing; ``step_size="greedy"`` (Balzano and Wright, 2015) has nothing to tune
    and is the fastest on clean data.

    Parameters and attributes are those of `GASG21`, with ``step_size="constant"`` as the default.

    References
    ----------
    L. Balzano, R. Nowak and B. Recht, "Online identification and tracking of subspaces from highly
    incomplete information", Allerton 2010, arXiv:1006.4046.

    L. Balzano and S. J. Wright, "Local convergence of an algorithm for subspace identification from partial
    data", Foundations of Computational Mathematics, 2015, arXiv:1306.3391.
    """

    _loss = "squared"

    def __init__(
        self,
        n_components: int = 1,
        *,
        step_size: str | StepSize = "constant",
        init: Any = "random",
        max_passes: int = 20,
        tol: float = 1e-6,
        contamination: str | float = "auto",
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            step_size=step_size,
            init=init,
            max_passes=max_passes,
            tol=tol,
            contamination=contamination,
            on_bad=on_bad,
            absent=absent,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
        )


class GRASTA(StreamingSubspace):
    """Subspace tracking robust to corrupted entries, by the L1 norm (He, Balzano, Lui 2011; with Szlam 2012).

    Minimises the sum of the absolute values of all entries of the residuals, so that *entries* may be
    garbage, anywhere, in every sample; `GASG21` is for whole samples that are. For each sample ADMM
    finds ``min |s|_1`` subject to ``components.T @ w + s = x`` on the observed entries, and the dual vector
    of that problem gives the step along the geodesic. An update costs
    O(n_features * n_components * (admm_max_iter + n_components)), several times one of `GASG21`. Prefer it
    for corrupted entries: sensors that fail now and then, a moving foreground before a still background.
    It also survives samples that are garbage as a whole on well-conditioned data; `GASG21` does that
    better and faster.

    `transform` and `complete` use the L1 weights too, so that corrupted entries do not spoil them.
    ``inverse_transform(transform(X))`` is the clean part of X (the background), the rest of X its sparse
    part (the foreground); `complete` keeps observed entries even where they are corrupted.
    `score_samples` and `predict` are those of `GASG21`: they ask whether a *whole* sample lies near the
    subspace, and call one with a few grossly corrupted entries an outlier.

    Samples are scaled to unit length first, as in the code of the authors that the paper measures; the
    papers of 2011 and 2012 do not, and let long samples turn the subspace further.

    Parameters
    ----------
    n_components : int or "auto"
        As in `GASG21`. "auto" looks for whole samples on a subspace and is not meant for corrupted entries.
    step_size : {"multilevel", "adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        "multilevel" is the authors' rule (GRASTA-ML), with their constants.
    admm_rho : float in [1, 10]
        The penalty of ADMM grows by this factor in each of its iterations. 1 converges to the L1 minimum,
        slowly; more gets near it fast.
    admm_max_iter : int
        Iterations for a sample at most.
    admm_tol : float
        ADMM ends when its constraint holds to this, for a sample of unit length.
    init, max_passes, tol, contamination, on_bad, absent, random_state, verbose, n_jobs
        As in `GASG21`.

    Attributes
    ----------
    estimated_angle_ : float
        NaN: there is no such estimate for the L1 norm here.
    status_ : str
        As in `GASG21`, without "noise_floor". "converged" says that a pass moved the subspace by no more
        than `tol`, which the multi-level step also does once it has shrunk too early. "undetermined" means
        that what was found predicts hardly any sample.

    The other attributes are those of `GASG21`.

    References
    ----------
    J. He, L. Balzano and J. C. S. Lui, "Online robust subspace tracking from partial information",
    arXiv:1109.3827.

    J. He, L. Balzano and A. Szlam, "Incremental gradient on the Grassmannian for online foreground and
    background separation in subsampled video", CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from gasg21 import GRASTA
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(1000, 100, 3, observed_fraction=0.7, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> X = np.where(rng.random(data.data.shape) < 0.1, 20 * rng.standard_normal(data.data.shape), data.data)
    >>> model = GRASTA(n_components=3, random_state=0).fit(X)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-5)
    True
    """

    def __init__(
        self,
        n_components: int | str = 1,
        *,
        step_size: str | StepSize = "multilevel",
        admm_rho: float = 1.8,
        admm_max_iter: int = 30,
        admm_tol: float = 1e-10,
        init: Any = "random",
        max_passes: int = 20,
        tol: float = 1e-6,
        contamination: str | float = "auto",
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            n_components,
            step_size=step_size,
            init=init,
            max_passes=max_passes,
            tol=tol,
            contamination=contamination,
            on_bad=on_bad,
            absent=absent,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
        )
        self.admm_rho = admm_rho
        self.admm_max_iter = admm_max_iter
        self.admm_tol = admm_tol

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("admm_rho", self.admm_rho, 1, 10)
        check_integer("admm_max_iter", self.admm_max_iter, 1, 100_000)
        check_number("admm_tol", self.admm_tol, 0, 1)

    def _tracker_loss(self) -> _core.L1Loss:
        return _core.L1Loss(self.admm_rho, self.admm_max_iter, self.admm_tol)

    def _weights_loss(self) -> _core.L1Loss:
        return self._tracker_loss()
