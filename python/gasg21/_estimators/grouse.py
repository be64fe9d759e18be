"""GROUSE: subspace tracking by least squares, not robust to outliers."""

from __future__ import annotations

from typing import Any

from gasg21._estimators.streaming import StreamingSubspace
from gasg21.step_size import StepSize


class GROUSE(StreamingSubspace):
    """Subspace tracking from incomplete data (Balzano, Nowak and Recht, 2010); not robust to outliers.

    Minimises the sum of the squared distances of the samples to the subspace. The gradient has the same direction as
    that of `GASG21`, weighted by the residual, so outliers have the longest gradients. Samples are scaled to unit
    length first, so that the step does not depend on the data's units. An update costs
    O(n_features * n_components^2), as in `GASG21`. Prefer it where there are no outliers and the subspace keeps
    changing. ``step_size="greedy"`` (Balzano and Wright, 2015) has nothing to tune and is the fastest on clean data.

    Parameters and attributes are those of `GASG21`, with ``step_size="constant"`` as the default, and without
    `scaling`, `polish` and `working_components`. ``center=True`` fits an affine subspace. Outliers are left out of
    `mean_`, `explained_variance_` and the order of `components_`, but they pull the subspace itself. `status_` is never
    "ambiguous": `fit` does not look for what the mask leaves open, nor for another answer. `replay` applies by default
    with step rules that compare gradients, "adaptive" and "multilevel": None means 0 with the others.

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
        center: bool = False,
        step_size: str | StepSize = "constant",
        replay: int | None = None,
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
            center=center,
            step_size=step_size,
            replay=replay,
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
