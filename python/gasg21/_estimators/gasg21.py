"""GASG21: one subspace from data with outliers and missing entries."""

from __future__ import annotations

from typing import Any, TypeVar

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_flag
from gasg21._data.samples import check_basis
from gasg21._estimators.parameter_tables import MetricParameters
from gasg21._estimators.streaming import StreamingSubspace
from gasg21.step_size import StepSize

Self = TypeVar("Self", bound="GASG21")


@with_parameters
class GASG21(MetricParameters, StreamingSubspace):
    """Robust subspace recovery from data with outliers and missing entries, one vector at a time.

    Finds the d-dimensional subspace that the good samples lie on, when whole samples are garbage and entries are
    missing. It takes stochastic gradient steps along the geodesics of the Grassmannian, with a step size that adapts
    itself: O(n_features * n_components^2) time per sample, O(n_features * n_components) memory. `fit` ends with a
    polish, a few passes of reweighted least squares. The polish solves what the stream cannot, reaches the accuracy
    of least squares on the true inliers, and estimates its own error. ``metric="canonical", polish=False`` is the
    paper's algorithm. Each sample is scaled to unit length first. ``center=True`` fits an affine subspace instead of
    one through the origin. docs/two_stages.md explains both stages, docs/centering.md the affine subspace.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes of the inliers: an orthonormal basis of the subspace (of its directions with ``center=True``),
        ordered by variance. With ``metric="canonical", polish=False`` and ``center=False`` the basis that the paper's
        algorithm ends with, in no particular order.
    mean_ : ndarray of shape (n_features,)
        Mean of the inliers; zeros with ``center=False``.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the inliers along each component.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Its share of the inliers' variance in all directions.
    noise_variance_ : float
        Variance of one entry of an inlier about the subspace.
    n_components_, n_features_in_ : int
        The dimensions.
    n_iter_ : int
        Vectors used: by the stream, each pass counted; after a fit to 50 000 samples or more, or to a `BlockSource`,
        the samples used.
    n_passes_ : int
        Passes that the last `fit` made, of the stream and of the polish.
    status_ : str
        How the last `fit` ended: "converged" (to `tol`), "noise_floor" (as close as the noise lets it),
        "max_passes", "undetermined" (the data does not determine the subspace: the result does not predict entries
        that were held out, its error estimate is too large, or too few inliers observe some features or several blocks
        of features; the warning names them), "ambiguous" (another subspace explains the data as well),
        "rank_deficient" (the inliers do not span n_components dimensions) or "interrupted". docs/honesty.md explains
        them. After `partial_fit`, how the stream fares: "starting" (no subspace is found yet), "tracking" (all vectors
        but the outliers lie near it), "changed" (a change was seen, and the new subspace is not found yet) or "lost"
        (too few vectors lie near it to call that chance). docs/streams.md explains these.
    changes_ : list of int
        After how many vectors of the stream a change of the subspace was seen; the last 1000 changes. Empty after
        `fit`.
    residuals_ : ndarray of shape (n_samples,)
        After `partial_fit`: distance of each of its samples, scaled to unit length, to the subspace before its update;
        NaN if the sample was skipped.
    converged_ : bool
        True for the first two of these, of the last `fit`.
    estimated_angle_ : float
        Standard error of the largest angle to the true subspace at the end of the last `fit`, from the data alone.
        It covers noise and outliers in random directions, not outliers that lie on a subspace of their own. Believe
        it only if `converged_` is True.
    step_size_ : float
        The last step.
    level_ : int
        How often the adaptive rule has halved its step.
    history_ : list of dict
        One record per pass: "pass", "stage" ("stream" or "polish"), "n_samples" (that it went over), "moved"
        (radians), "median_residual"; for the stream also "near_residual", "n_iter", "level" and "step_size", for the
        polish "estimated_angle".
    n_skipped_ : int
        Vectors that could not be used.
    diagnostics_ : dict
        Why they could not be used: "n_zero", "n_all_missing", "n_too_few" (no more entries observed than
        n_components), "n_nonfinite", "n_rank_deficient", "n_orthogonal"; and "n_seen", "n_used".
    offset_ : float
        The threshold of `score_samples` if one makes the decision: with a numeric contamination, or where "auto" has
        too little to learn from. Then ``decision_function(X) = score_samples(X) - offset_``. NaN otherwise.

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
    >>> model = GASG21(n_components=5, center=True, random_state=0).fit(data.data + 10)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    """

    _loss = "l21"

    step_size: str | StepSize = parameter(
        default="adaptive",
        kind='{"adaptive", "multilevel", "diminishing", "constant", "greedy"} or an instance from `gasg21.step_size`',
        text="""Length of the steps. "adaptive" is the paper's rule, "diminishing" makes it GASG21-DM. "multilevel" and
        "greedy" need ``metric="canonical"``.""",
        at_start=True,
    )
    polish: bool = parameter(
        default=True,
        kind="bool",
        text="Whether `fit` ends with the batch polish. `partial_fit` never polishes.",
        check=check_flag,
    )
    working_components: int | None = parameter(
        default=None,
        kind="int, optional",
        text="""Fit this many dimensions, then keep the n_components in which the inliers vary most. For data that is
        only roughly low-rank; twice n_components is a good value.""",
        at_start=True,
    )

    @classmethod
    def from_components(cls: type[Self], components: Any, mean: Any = None, **parameters: Any) -> Self:
        """Return a fitted model of a subspace that is known.

        It can do what a fitted model can, and `partial_fit` goes on from there. As it has seen no samples, it knows no
        variances, and `predict` calls a sample an outlier if it is as far from the subspace as a random direction.

        Parameters
        ----------
        components : ndarray of shape (n_components, n_features)
            Basis with orthonormal rows, float64 or float32.
        mean : array-like of shape (n_features,), optional
            A point of an affine subspace, which ``center=True`` stands for. None: a subspace through the origin.
        **parameters
            Parameters of the model besides ``n_components`` and ``center``.

        Returns
        -------
        model : GASG21
            With the status "starting" of a stream that has not begun.

        Examples
        --------
        >>> from gasg21 import GASG21
        >>> from gasg21.datasets import make_low_rank
        >>> data = make_low_rank(100, 20, 2, observed_fraction=0.8, random_state=0)
        >>> model = GASG21.from_components(data.basis)
        >>> bool(model.score_samples(data.data).min() > -1e-6)
        True
        """
        basis = check_basis(components)
        model = cls(len(basis), center=mean is not None, **parameters)
        model._start_at(basis, mean)
        return model
