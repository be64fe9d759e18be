"""GRASTA: subspace tracking that is robust to corrupted entries."""

from __future__ import annotations

from gasg21 import _core
from gasg21._data.constructor import integer, number, parameter, with_parameters
from gasg21._data.parameters import check_flag
from gasg21._estimators.streaming import StreamingSubspace
from gasg21.step_size import StepSize


@with_parameters
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
    foreground). `complete` keeps observed entries even where they are corrupted. `score_samples` and `predict` do as
    in `GASG21`: they judge whether a *whole* sample lies near the subspace, and call one with a few grossly
    corrupted entries an outlier.

    Samples are scaled to unit length first, as in the authors' code that the paper measures. The papers of 2011 and
    2012 do not scale, so long samples rotate the subspace further.

    Parameters
    ----------
    {parameters}

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

    n_components: int | float | str = parameter(
        default=1,
        kw_only=False,
        kind='int, float or "auto"',
        text="""As in `GASG21`. "auto" looks for whole samples on a subspace and is not meant for corrupted entries.""",
    )
    step_size: str | StepSize = parameter(
        default="multilevel",
        kind='{"multilevel", "adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`',
        text='"multilevel" is the authors\' rule (GRASTA-ML), with their constants.',
        at_start=True,
    )
    admm_rho: float = parameter(
        default=1.8,
        kind="float in [1, 10]",
        text="""The penalty of ADMM grows by this factor in each iteration. 1 converges to the L1 minimum, slowly;
        larger values get near it fast.""",
        check=number(1, 10),
        at_start=True,
    )
    admm_max_iter: int = parameter(
        default=30,
        kind="int",
        text="Largest number of iterations per sample.",
        check=integer(1, 100_000),
        at_start=True,
    )
    admm_tol: float = parameter(
        default=1e-10,
        kind="float",
        text="ADMM ends when its constraint holds to this, for a sample of unit length.",
        check=number(0, 1),
        at_start=True,
    )
    center: bool = parameter(
        default=False,
        kind="bool",
        text="""True fits an affine subspace. `fit` then runs five times, to move the centre onto the subspace; a stream
        cannot do that, and is less accurate.""",
        check=check_flag,
    )

    def _tracker_loss(self) -> _core.L1Loss:
        return _core.L1Loss(self.admm_rho, self.admm_max_iter, self.admm_tol)

    def _weights_loss(self) -> _core.L1Loss:
        return self._tracker_loss()
