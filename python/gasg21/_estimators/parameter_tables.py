"""The constructor parameters of the estimators: defaults, checks and documentation.

An estimator declares only what it has alone, or what means something else in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._data.constructor import choice, integer, number, or_auto, or_none, parameter, with_parameters
from gasg21._data.parameters import ABSENT, MOST_KEPT, ON_BAD, check_flag, check_n_jobs
from gasg21.exceptions import InvalidInputError
from gasg21.step_size import StepSize


def _jobs(name: str, value: Any) -> int | None:
    return check_n_jobs(value)


@with_parameters
class FitParameters:
    """Parameters of every fit."""

    max_passes: int = parameter(
        default=20,
        kind="int",
        text="Largest number of passes of the stream in `fit`. A polish makes at most twice as many.",
        check=integer(1),
    )
    tol: float = parameter(
        default=1e-6,
        kind="float",
        text="""The angle to aim at, in radians. `fit` ends when a pass moves the subspace by no more than this, or
        (with polish) by no more than a tenth of the estimated error. 0 without polish runs all passes. A value below
        the precision of the dtype means that precision.""",
        check=number(0),
    )
    on_bad: str = parameter(
        default="raise",
        kind='{"raise", "skip"}',
        text="""What to do with rows that hold an infinity: refuse the data before anything changes, or skip and count
        these rows.""",
        check=choice(*ON_BAD),
    )
    absent: str = parameter(
        default="missing",
        kind='{"missing", "zero"}',
        text="What an entry is that a sparse matrix does not store.",
        check=choice(*ABSENT),
    )
    random_state: Any = parameter(
        default=None,
        kind="int, RandomState, Generator or None",
        text="An int gives the same bits every time, and the same bits as that seed in the C++ library.",
        at_start=True,
    )
    verbose: int = parameter(
        default=0,
        kind="int",
        text="1 shows a progress bar. 2 prints a line for each pass of `fit` instead.",
    )
    n_jobs: int | None = parameter(
        default=None,
        kind="int or None",
        text="""Threads for the polish and for `transform`, `score_samples`, `predict` and `complete`; the stream has
        one thread by nature. -1 means all cores, -2 all but one. None means all cores too, as for NumPy's BLAS, but no
        more than OMP_NUM_THREADS or `joblib.parallel_config` allow. In a worker of joblib (for instance of
        ``GridSearchCV(n_jobs=...)``) it is never more than the worker's share of the cores. It changes no bit of the
        results.""",
        check=_jobs,
    )


@with_parameters
class StreamParameters(FitParameters):
    """Parameters of a subspace that is fitted by a stream."""

    n_components: int | float | str = parameter(
        default=1,
        kw_only=False,
        kind='int, float or "auto"',
        text="""Dimension d of the subspace, in [1, n_features - 1]. "auto" tries 1, 2, ... up to 50 and takes the last
        one that still lowers the residuals, but no more than the observed entries carry. A float in (0, 1), such as
        0.95, keeps as many principal axes of that subspace as have this share of the inliers' variance in it; unlike
        ``PCA(0.95)`` it counts neither outliers nor noise. It costs a second fit. `partial_fit` decides by its first
        batch.""",
    )
    center: bool = parameter(
        default=False,
        kind="bool",
        text="""True fits an affine subspace: d directions and a mean. False fits one through the origin, and warns if
        the samples share an offset that dominates them. A stream with ``center=True`` starts when 20 samples have
        come, or 2 (d + 1) if that is more.""",
        check=check_flag,
    )
    step_size: str | StepSize = parameter(
        default="adaptive",
        kind='{"adaptive", "multilevel", "diminishing", "constant", "greedy"} or an instance from `gasg21.step_size`',
        text="Length of the steps.",
        at_start=True,
    )
    replay: int | None = parameter(
        default=None,
        kind="int, optional",
        text="""Vectors that a stream keeps. `partial_fit` updates with one of them, drawn at random, in place of the
        vector that came, while consecutive vectors are alike, as in a video. It costs replay * n_features numbers of
        memory, and a second fit of a vector for each that comes while it replays. 0 uses each vector once, in the
        order given. None means 64 with a `step_size` that compares gradients ("adaptive" and "multilevel" do), else
        0. It must not change while a stream goes on. docs/streams.md explains it.""",
        check=or_none(integer(0, MOST_KEPT)),
    )
    init: Any = parameter(
        default="random",
        kind='{"random", "spherical_pca"} or array of shape (n_components, n_features)',
        text="Where to start.",
        at_start=True,
    )
    contamination: str | float = parameter(
        default="auto",
        kind='"auto" or float in (0, 0.99]',
        text="""How `predict` decides. "auto" learns from the samples where the residuals of the inliers end and, if the
        outliers look like random directions, how such directions look. Where there is too little to learn from, a
        sample is an outlier if a random direction would have such a residual. A number is the share of the training
        samples to call outliers. docs/decisions.md explains it.""",
        check=or_auto(number(0, 0.99, open_low=True)),
    )


@with_parameters
class MetricParameters:
    """The metric of the steps, by its name and by the one it had before 0.3."""

    metric: str = parameter(
        default="scaled",
        kind='{"scaled", "canonical"}',
        text="""How the length of a step is measured. "scaled" measures the weights in units of their own spread, which
        converges on ill-conditioned data. "canonical" is the paper's metric; then a stream replays only if `replay`
        is a number.""",
        check=choice("scaled", "canonical"),
    )
    scaling: bool | None = parameter(
        default=None,
        kind="bool, optional",
        text='The name of `metric` before 0.3: True is "scaled", and False is "canonical". Use `metric`.',
        check=or_none(check_flag),
    )

    def _is_scaled(self) -> bool:
        """Return whether the metric is the scaled one; refuse two names that contradict each other."""
        if self.scaling and self.metric == "canonical":
            msg = f"metric={self.metric!r} and scaling={self.scaling!r} contradict each other; leave scaling out"
            raise InvalidInputError(msg)
        return self.metric == "scaled" and self.scaling is not False


def check_flag_or_auto(name: str, value: Any) -> None:
    """Refuse a value that is neither True, False nor "auto"."""
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, str) and value == "auto"):
        msg = f"{name}={value!r} must be True or False, or 'auto'"
        raise InvalidInputError(msg)


@with_parameters
class UnionTable(MetricParameters, FitParameters):
    """Parameters of a union of subspaces."""

    n_clusters: int | str = parameter(
        default=2,
        kw_only=False,
        kind='int or "auto"',
        text="""Number K of subspaces. "auto" chooses it, up to 20, or up to 10 where the clusters share most of their
        span, as motions and images do; `selection_` shows why.""",
        check=or_auto(integer(1)),
    )
    n_components: int | str | list[int] = parameter(
        default=1,
        kw_only=False,
        kind='int, list of n_clusters ints, or "auto"',
        text="""Dimension of the subspaces, or of each. "auto" chooses that of each cluster, up to 10. Too large is
        safer than too small.""",
    )
    init: Any = parameter(
        default="auto",
        kind='{"auto", "density", "farthest", "spectral"} or list of n_clusters arrays of shape (d_i, n_features)',
        text="""\"density" takes seeds where samples lie densely and no candidate is near, imputes missing entries, and
        exchanges candidates after the greedy selection. "farthest" is the paper's probabilistic farthest insertion
        on zero-filled data; it needs more candidates. "spectral" starts from the clusters of the shape interaction,
        in the coordinates of a robust fit of all clusters together, on at most 3000 samples. Or the subspaces to
        start from. "auto" is "density" with a consensus if necessary; with ``whiten=True`` it is "farthest", and so
        is "density", because outliers are left out before.""",
    )
    n_candidates: int | None = parameter(
        default=None,
        kind="int, optional",
        text='Number of candidate subspaces; None means 3 per cluster for "density", 10 for "farthest".',
    )
    n_neighbors: int | None = parameter(
        default=None,
        kind="int, optional",
        text="""Samples that a candidate is first fitted to, the seed among them. None means d + 3, or 2 d + 2 with
        ``whiten=True``, whose coordinates are noisier.""",
        check=or_none(integer(1)),
    )
    n_ensemble: int | str = parameter(
        default="auto",
        kind='int or "auto"',
        text="""Number of runs from different seeds: the paper's stream with its adaptive step, 10 passes. The worse
        half is dropped after 3 passes. The others are joined by co-association and spectral clustering, then each
        cluster is fitted again with the scaled metric and polish. At most 5000 samples are joined. "auto" is one run,
        or what a consensus needs.""",
        check=or_auto(integer(1)),
    )
    whiten: bool | str = parameter(
        default="auto",
        kind='bool or "auto"',
        text="""Work in the leading principal coordinates, divided by the square root of their singular values; outliers
        are left out and missing entries filled in first. For real, ill-conditioned data whose clusters together have
        a low rank. `subspaces_` are then fitted to the clusters in the original coordinates (those that `partial_fit`
        moves are mapped back, which is less exact). The lengths of the samples count here. New samples need more
        than sum(d_i) observed entries. The coordinates are fitted on at most 3000 samples; the whitened samples are a
        copy of the dtype of the data, 2 sum(d_i) numbers each. "auto" whitens where a consensus was necessary. A
        consensus is sought only if `init`, `n_ensemble` and `whiten` are all "auto" and `polish` is True.""",
        check=check_flag_or_auto,
    )
    screen: bool | str = parameter(
        default="auto",
        kind='bool or "auto"',
        text="""Leave out of the search what a `GASG21` of dimension sum(d_i) calls an outlier, and what lies far from
        its neighbours. Such samples are judged again at the end. "auto" screens in a consensus and for "spectral", if
        sum(d_i) is at most half the number of features. `whiten=True` always screens.""",
        check=check_flag_or_auto,
    )
    center: bool = parameter(
        default=False,
        kind="bool",
        text="""True fits affine subspaces, of dimension n_components each: samples are lifted while they are read, as
        in `GASG21`, and in the end each cluster gets its own mean, from a copy of its members. For trajectories of
        rigid motions use n_components=4 without, or 3 with it.""",
        check=check_flag,
    )
    polish: bool = parameter(
        default=True,
        kind="bool",
        text="Whether `fit` polishes and repairs. `partial_fit` never does.",
        check=check_flag,
    )
    reject_outliers: bool = parameter(
        default=False,
        kind="bool",
        text="""Whether samples that lie on no subspace get the label -1: those as far from all subspaces as a random
        direction, and those whose residuals, in the data's own units, stand apart from all others.""",
        check=check_flag,
    )
    step_size: str | StepSize = parameter(
        default="adaptive",
        kind='{"adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`',
        text="""Each subspace has its own rule. The first step of "adaptive" is at most 0.1 and at most half the median
        residual after the selection.""",
    )
    replay: int | None = parameter(
        default=None,
        kind="int, optional",
        text="Vectors that the stream of each subspace keeps to draw updates from, as in `GASG21`.",
        check=or_none(integer(0, MOST_KEPT)),
    )
    max_passes: int = parameter(
        default=20,
        kind="int",
        text="""Largest number of passes of the stream in `fit`. With polish the stream makes a few, and the polish at
        most twice as many rounds after those around the repair.""",
        check=integer(1),
    )
    n_jobs: int | None = parameter(
        default=None,
        kind="int or None",
        text="""Threads, as for `GASG21`; for an ensemble the number of runs at the same time. It changes no bit of the
        results.""",
        check=_jobs,
    )
