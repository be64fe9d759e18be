"""Warnings about a fit: it did not converge, the data has an offset, or features that were never observed."""

from __future__ import annotations

import warnings
from typing import Any

from gasg21 import _core
from gasg21._algorithms import held_out
from gasg21._data.samples import Batch, Samples
from gasg21._estimators.published import FitReport, listed
from gasg21._support.arrays import Array
from gasg21.exceptions import ConvergenceWarning, DataQualityWarning

DOMINATES = 2.0  # an offset of more than this many spreads
_ADVICE = {
    "max_passes": "Raise max_passes; if that does not help, n_components may be too small.",
    "rank_deficient": "Some of its directions are arbitrary: use a smaller n_components.",
    "undetermined": "Give more data or more entries of it, or use a smaller n_components.",
    "bent": "Outliers pull it: use a smaller n_components, or remove outliers first.",
    "ambiguous": "If the outliers form a cluster or a subspace of their own, remove them first, or use KGASG21.",
}


def warn_of_offset(samples: Samples, batch: Batch) -> None:
    """Warn if an offset dominates samples that were fitted without a centre."""
    ratio = _core.offset_ratio(batch.payload, batch.mask, samples.n_features)
    if ratio > DOMINATES:
        msg = (
            f"the samples share an offset of {ratio:.2g} times their spread, and center=False fits a subspace "
            "through the origin. center=True fits an affine one."
        )
        warnings.warn(msg, DataQualityWarning, stacklevel=3)


def warn_unless_converged(estimator: Any, report: FitReport, d: int, doubts: _core.Doubts) -> None:
    """Warn of a fit that did not converge or that the data does not determine."""
    status = "bent" if doubts.bent else report.status
    if status in ("converged", "noise_floor", "interrupted") or (status == "max_passes" and estimator.tol == 0):
        return
    found = {
        "max_passes": f"the subspace still moved by {report.history[-1]['moved']:.1e} rad in the last pass "
        f"(max_passes={estimator.max_passes}, tol={estimator.tol}).",
        "rank_deficient": f"the samples do not span a subspace of dimension n_components={d}.",
        "undetermined": f"the data does not determine a subspace of dimension {d}: "
        f"{_what_is_undetermined(doubts, getattr(estimator, 'feature_names_in_', None))}.",
        "bent": f"the half of the samples nearest to the subspace of dimension {d} lies on another one, "
        f"{report.estimated_angle:.2f} rad away.",
        "ambiguous": f"another subspace of dimension {d} explains the data as well: {doubts.other:.0%} of the "
        "samples are at least three times nearer to it.",
    }[status]
    advice = _ADVICE[status] if d > 1 else _ADVICE[status].replace(", or use a smaller n_components", "")
    warnings.warn(f"{found} {advice}", ConvergenceWarning, stacklevel=3)


def warn_of_unseen(estimator: Any, subspace: _core.Subspace, stacklevel: int) -> None:
    """Warn of features that no sample of the fit observes. The line that calls this has the stack level 2."""
    unseen = held_out.unseen(subspace)
    if len(unseen):
        names = listed(unseen, getattr(estimator, "feature_names_in_", None))
        msg = f"no sample of the fit observes these features, so their missing entries stay NaN: {names}"
        warnings.warn(msg, DataQualityWarning, stacklevel=stacklevel)


def _what_is_undetermined(doubts: _core.Doubts, names: Array | None) -> str:
    """Say what the core found undetermined, with the names of the features."""
    if doubts.few_inliers:
        return "too few samples lie near it"
    said = []
    if doubts.unobserved:
        said.append(f"{_named(doubts.unobserved, names)} observed in no sample")
    if doubts.hardly_observed:
        said.append(f"{_named(doubts.hardly_observed, names)} observed in too few samples that lie near it")
    if doubts.blocks:
        blocks = " and ".join(f"{{{listed(block, names)}}}" for block in doubts.blocks[:3])
        said.append(f"too few samples observe features of several of the blocks {blocks}")
    if not said and doubts.angle > 0:
        return "the observed entries leave one of its directions open"
    return "; ".join(said) or "the result does not predict entries that were held out"


def _named(features: list[int], names: Array | None) -> str:
    one = len(features) == 1
    return f"{'feature' if one else 'features'} {listed(features, names)} {'was' if one else 'were'}"
