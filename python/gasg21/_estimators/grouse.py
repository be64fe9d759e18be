"""GROUSE: subspace tracking by least squares, not robust to outliers."""

from __future__ import annotations

from gasg21._data.constructor import parameter, with_parameters
from gasg21._estimators.streaming import StreamingSubspace
from gasg21.step_size import StepSize


@with_parameters
class GROUSE(StreamingSubspace):
    """Subspace tracking from incomplete data (Balzano, Nowak and Recht, 2010); not robust to outliers.

    Minimises the sum of the squared distances of the samples to the subspace. The gradient has the same direction as
    in `GASG21`, weighted by the residual, so outliers have the longest gradients. Samples are scaled to unit
    length first, so that the step does not depend on the data's units. An update costs
    O(n_features * n_components^2), as in `GASG21`. Prefer it where there are no outliers and the subspace keeps
    changing. ``step_size="greedy"`` (Balzano and Wright, 2015) has nothing to tune and is the fastest on clean data.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    status_ : str
        As in `GASG21`, but never "ambiguous": `fit` does not look for what the mask leaves open, nor for another
        answer.
    components_, mean_, explained_variance_, explained_variance_ratio_, noise_variance_
        As in `GASG21`. Outliers are left out of the variances and of the order of the components, but they pull the
        subspace itself.
    n_components_, n_features_in_, n_iter_, n_passes_, n_skipped_, diagnostics_
        As in `GASG21`.
    converged_, changes_, residuals_, history_, step_size_, level_, offset_, estimated_angle_
        As in `GASG21`.

    References
    ----------
    L. Balzano, R. Nowak and B. Recht, "Online identification and tracking of subspaces from highly
    incomplete information", Allerton 2010, arXiv:1006.4046.

    L. Balzano and S. J. Wright, "Local convergence of an algorithm for subspace identification from partial
    data", Foundations of Computational Mathematics, 2015, arXiv:1306.3391.

    Examples
    --------
    >>> from gasg21 import GROUSE
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(2000, 50, 3, observed_fraction=0.5, random_state=0)
    >>> model = GROUSE(n_components=3, step_size="greedy", random_state=0).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-5)
    True
    """

    _loss = "squared"

    step_size: str | StepSize = parameter(
        default="constant",
        kind='{"constant", "greedy", "adaptive", "multilevel", "diminishing"} or an instance from `gasg21.step_size`',
        text="Length of the steps.",
        at_start=True,
    )
