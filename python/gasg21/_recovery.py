"""One subspace from a stream of vectors: GASG21, and GROUSE from the same core."""

from __future__ import annotations

from typing import Any

from gasg21._streaming import StreamingSubspace
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
    step_size : {"adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        How long the steps are; "adaptive" is the paper's rule.
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
        )
        self.scaling = scaling
        self.polish = polish
        self.working_components = working_components


class GROUSE(StreamingSubspace):
    """Subspace tracking from incomplete data (Balzano, Nowak and Recht, 2010); not robust to outliers.

    The gradient of the squared distance: the same direction as that of `GASG21`, weighted by the
    residual, so that outliers pull hardest. Samples are scaled to unit length first, so that the step
    has a meaning that does not depend on the data's units. Prefer it where there are no outliers and
    the subspace keeps changing.

    Parameters and attributes are those of `GASG21`, with ``step_size="constant"`` as the default.
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
        )
