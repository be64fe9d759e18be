"""GRASTA: subspace tracking that is robust to corrupted entries."""

from __future__ import annotations

from typing import Any

from gasg21 import _core
from gasg21._data.parameters import check_integer, check_number
from gasg21._estimators.streaming import StreamingSubspace
from gasg21.step_size import StepSize


class GRASTA(StreamingSubspace):
    """Subspace tracking robust to corrupted entries, by the L1 norm (He, Balzano, Lui 2011; with Szlam 2012).

    Minimises the sum of the absolute values of all entries of the residuals. So *entries* may be garbage, anywhere, in
    every sample; `GASG21` is for whole samples that are garbage. For each sample ADMM finds ``min |s|_1`` subject to
    ``components.T @ w + s = x`` on the observed entries, and the dual vector of that problem gives the step along the
    geodesic. An update costs O(n_features * n_components * (admm_max_iter + n_components)), several times one of
    `GASG21`. Prefer it for corrupted entries: sensors that fail now and then, a moving foreground in front of a still
    background. On well-conditioned data it also survives whole samples of garbage; `GASG21` handles them better and
    faster.

    `transform` and `complete` use the L1 weights too, so corrupted entries do not spoil them. Where these are not
    determined, because few entries are observed, `complete` fills in expectations, as in `GASG21`.
    ``inverse_transform(transform(X))`` is the clean part of X (the background), the rest of X its sparse part (the
    foreground). `complete` keeps observed entries even where they are corrupted. `score_samples` and `predict` are
    those of `GASG21`: they judge whether a *whole* sample lies near the subspace, and call one with a few grossly
    corrupted entries an outlier.

    Samples are scaled to unit length first, as in the authors' code that the paper measures. The papers of 2011 and
    2012 do not scale, so long samples rotate the subspace further.

    Parameters
    ----------
    n_components : int, float or "auto"
        As in `GASG21`. "auto" looks for whole samples on a subspace and is not meant for corrupted entries.
    step_size : {"multilevel", "adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        "multilevel" is the authors' rule (GRASTA-ML), with their constants.
    admm_rho : float in [1, 10]
        The penalty of ADMM grows by this factor in each iteration. 1 converges to the L1 minimum, slowly; larger
        values get near it fast.
    admm_max_iter : int
        Largest number of iterations per sample.
    admm_tol : float
        ADMM ends when its constraint holds to this, for a sample of unit length.
    center : bool
        True fits an affine subspace. `fit` then runs five times, to move the centre onto the subspace; a stream
        cannot do that, and is less accurate.
    replay : int, optional
        As in `GASG21`. None means 64 with step rules that compare gradients, "multilevel" and "adaptive", else 0.
    init, max_passes, tol, contamination, on_bad, absent, random_state, verbose, n_jobs
        As in `GASG21`.

    Attributes
    ----------
    estimated_angle_ : float
        NaN: there is no such estimate for the L1 norm here.
    status_ : str
        As in `GASG21`, without "noise_floor" and "ambiguous". "converged" means that a pass moved the subspace by no
        more than `tol`; this also happens when the multi-level step has shrunk too early. "undetermined" means that
        the result predicts hardly any sample.
    components_, mean_, explained_variance_, explained_variance_ratio_, noise_variance_
        As in `GASG21`.
    n_components_, n_features_in_, n_iter_, n_passes_, n_skipped_, diagnostics_
        As in `GASG21`.
    converged_, changes_, residuals_, history_, step_size_, level_, offset_
        As in `GASG21`.

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
        n_components: int | float | str = 1,
        *,
        center: bool = False,
        step_size: str | StepSize = "multilevel",
        replay: int | None = None,
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
