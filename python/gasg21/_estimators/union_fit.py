"""How `KGASG21` calls the core: what its parameters mean there, and what it publishes of a fit."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.constructor import check_parameters
from gasg21._data.parameters import (
    check_choice,
    check_components,
    check_integer,
    core_following,
    core_metric,
    core_rule,
    first_step_is_free,
    n_threads,
    seed_of,
    step_adapts,
)
from gasg21._data.samples import Array, Samples, check_samples
from gasg21._estimators.fitted_union import FittedUnion, PublishedUnion, UnionReport
from gasg21._support.progress import Progress
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_STARTS = ("density", "farthest", "spectral", "auto")
_CONSENSUS = _core.ConsensusConstants()  # a benchmark replaces it


def checked(model: FittedUnion, X: Any, mask: Any) -> Samples:
    """Return the samples of a fit that starts anew; refuse parameters that do not suit them."""
    check_parameters(model)
    samples = check_samples(model, X, mask, reset=True)
    if not is_auto(model.n_clusters):
        check_integer("n_clusters", model.n_clusters, 1, samples.n_samples, "n_samples = ")
    dimensions_of(model, samples.n_features)
    return samples


def recover(model: FittedUnion, samples: Samples, progress: Progress | None, *, goal: str) -> _core.RecoveredUnion:
    """Fit the samples, or with the goal "start" only find the subspaces that a stream starts from."""
    batch, scaled = samples.whole(), model._is_scaled()
    dimensions = dimensions_of(model, samples.n_features)
    return _core.recover_union(
        batch.payload,
        batch.mask,
        samples.n_features,
        0 if is_auto(model.n_clusters) else int(model.n_clusters),
        dimensions,
        rule=core_rule(model.step_size, scaling=scaled),
        stream_rule=core_rule(model.step_size, scaling=scaled, stream=True),
        metric=core_metric(scaled),
        given=_given_subspaces(model, samples, dimensions),
        options=_options(model, dimensions),
        goal=goal,
        progress=progress,
    )


def dimensions_of(model: FittedUnion, n_features: int) -> list[int]:
    """Return the dimensions as the core takes them: one for all subspaces, or one for each; 0 = "auto"."""
    given = model.n_components
    if is_auto(given):
        return [0]
    if isinstance(given, list | tuple | np.ndarray):
        if is_auto(model.n_clusters) or len(given) != model.n_clusters:
            msg = f"n_components={given!r} must be one integer or a list of n_clusters={model.n_clusters} integers"
            raise InvalidInputError(msg)
        return [check_components(d, n_features) for d in given]
    return [check_components(given, n_features)]


def publish(model: FittedUnion, found: _core.RecoveredUnion, began: float) -> None:
    """Let a draft publish a fit, and let its stream go on from there."""
    model._stream = found.stream
    seed, select = found.timings
    spent = {"seed": seed, "select": select, "refine": time.perf_counter() - began - seed - select}
    report = UnionReport(
        found.history, found.status, found.estimated_angles, spent, found.agreement, _record_of(found.selection)
    )
    model._published = PublishedUnion(found.union, found.counters, found.labels, report=report)


def warn_unless_converged(model: FittedUnion) -> None:
    """Warn of a fit that did not end well, and say what helps."""
    report = model._fit_report()
    status = report.status
    if status in ("converged", "noise_floor", "interrupted") or (status == "max_passes" and model.tol == 0):
        return
    worst = int(np.argmax(report.estimated_angles))
    moved = np.max(report.history[-1]["moved"]) if report.history else 0  # an ensemble records no passes
    said = {
        "max_passes": f"some subspace moved by {moved:.1e} rad in the last pass "
        f"(max_passes={model.max_passes}, tol={model.tol}). Raise max_passes; if that does not help, n_clusters or "
        "n_components may be too small.",
        "undetermined": f"the data does not determine all subspaces (not that of cluster {worst}, for one). Give "
        "more data or more entries of it, or use a smaller n_clusters or n_components.",
        "too_few_clusters": f"one more subspace would explain about as many samples as each of the "
        f"n_clusters={model.n_clusters} does. Use a larger n_clusters, or n_clusters='auto'.",
        "too_many_clusters": f"two of the n_clusters={model.n_clusters} subspaces share their samples, or one holds "
        "hardly any. Use a smaller n_clusters, or n_clusters='auto'.",
        "indistinct": f"the clusters cannot be told apart: different representations of the data agree only by "
        f"{report.agreement or 0:.2f} (1 is perfect). n_clusters={model.n_clusters} or n_components may be wrong.",
        "rank_deficient": "the samples do not span a subspace of dimension "
        f"n_components={model.n_components_[worst]}: use a smaller n_components.",
    }[status]
    warnings.warn(said, ConvergenceWarning, stacklevel=3)


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the data."""
    return isinstance(value, str) and value == "auto"


def _options(model: FittedUnion, dimensions: list[int]) -> _core.UnionOptions:
    start = model.init if isinstance(model.init, str) else "density"
    check_choice("init", start, _STARTS)
    if model.n_candidates is not None:
        fewest = len(dimensions) if is_auto(model.n_clusters) else int(model.n_clusters)
        check_integer("n_candidates", model.n_candidates, fewest)
    replay_helps = step_adapts(model.step_size)
    return _core.UnionOptions(
        start=start,
        n_candidates=model.n_candidates or 0,
        n_neighbors=model.n_neighbors or 0,
        n_ensemble=0 if is_auto(model.n_ensemble) else int(model.n_ensemble),
        whiten=_choice(model.whiten),
        screen=_choice(model.screen),
        center=bool(model.center),
        polish=bool(model.polish),
        reject_outliers=bool(model.reject_outliers),
        max_passes=model.max_passes,
        tol=model.tol,
        first_step_from_data=first_step_is_free(model.step_size),
        seed=seed_of(model.random_state),
        n_threads=n_threads(model.n_jobs),
        following=core_following(model.replay, paper=not model._is_scaled(), replay_helps=replay_helps),
        consensus=_CONSENSUS,
    )


def _choice(value: bool | str) -> str:
    """Return a flag that may be left to the data by its name in the core."""
    return "auto" if is_auto(value) else "yes" if value else "no"


def _given_subspaces(model: FittedUnion, samples: Samples, dimensions: list[int]) -> list[Array]:
    """Return orthonormal bases to start from; none if `init` is a string."""
    if isinstance(model.init, str):
        return []
    if model.whiten is True or model.center:
        msg = "init must be a string with whiten=True or center=True, which change the coordinates"
        raise InvalidInputError(msg)
    count = 1 if is_auto(model.n_clusters) else int(model.n_clusters)
    wanted = [(d, samples.n_features) for d in (dimensions if len(dimensions) == count else dimensions * count)]
    try:
        arrays = [np.array(each, samples.dtype, order="C") for each in model.init]
    except (ValueError, TypeError) as error:
        msg = f"init={model.init!r} must be one of {_STARTS} or a list of arrays of numbers"
        raise InvalidInputError(msg) from error
    if [a.shape for a in arrays] != wanted:
        msg = f"init has the shapes {[a.shape for a in arrays]}; they must be (d_i, n_features) = {wanted}"
        raise InvalidInputError(msg)
    for k, a in enumerate(arrays):
        if not np.isfinite(a).all() or np.linalg.matrix_rank(a) < len(a):
            msg = f"init[{k}] must have finite, linearly independent rows"
            raise InvalidInputError(msg)
    return [np.ascontiguousarray(np.linalg.qr(a.T)[0].T) for a in arrays]


def _record_of(selection: _core.Selection | None) -> dict[str, Any] | None:
    """Return how the data chose its numbers, for a user; None if both were given."""
    if selection is None:
        return None
    names = ("n_clusters", "n_components", "drop_ratios", "agreement", "rule", "gain")
    return {name: getattr(selection, name) for name in names}
