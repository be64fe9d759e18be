"""Two kinds of residuals: those of members, and those of samples that lie on no subspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gasg21._data.samples import Array
from gasg21._support.trees import stored

# The larger residuals are those of outliers if their mean is this many standard deviations above that of the others,
# and if they are a minority.
_APART, _MOST_OUTLIERS = 5.5, 0.5
_STEPS, _SETTLED, _FEWEST = 200, 1e-6, 20


@stored(cut=float)
@dataclass(frozen=True)
class ResidualSplit:
    """The residual above which samples are outliers; infinite if nothing sets some apart."""

    cut: float = np.inf

    def is_above(self, residuals: Array) -> Array:
        """Whether residuals are those of outliers."""
        return np.asarray(residuals > self.cut)


def split_residuals(residuals: Array, n_deviations: float = 0.0) -> ResidualSplit:
    """Split residuals, in the units of the data, by a mixture of two normal laws, if there are two kinds.

    The cut is at least ``n_deviations`` standard deviations above the mean of the smaller kind.

    The noise of most data has the same size for all samples, long or short. So the residuals in the data's own units
    tell more than those of unit samples, which are large where a sample is short.
    """
    a = residuals[np.isfinite(residuals)]
    if len(a) < _FEWEST or not a.max() > 0:
        return ResidualSplit()
    a = a / a.max()
    share = (a > np.quantile(a, 0.8)).astype(np.float64)  # how much each belongs to the larger kind
    tiny = 1e-9
    for _ in range(_STEPS):
        weight = share.mean()
        if not tiny < weight < 1 - tiny:
            return ResidualSplit()
        low, high = np.average(a, weights=1 - share), np.average(a, weights=share)
        s_low = np.sqrt(np.average((a - low) ** 2, weights=1 - share)) + tiny
        s_high = np.sqrt(np.average((a - high) ** 2, weights=share)) + tiny
        logit = np.log(weight / (1 - weight) * s_low / s_high)
        logit = logit + 0.5 * ((a - low) / s_low) ** 2 - 0.5 * ((a - high) / s_high) ** 2
        updated = 1 / (1 + np.exp(-np.clip(logit, -500, 500)))
        updated[a <= low], updated[a >= high] = 0, 1
        change, share = np.abs(updated - share).max(), updated
        if change < _SETTLED:
            break
    apart = share > 0.5
    if not apart.any() or apart.mean() > _MOST_OUTLIERS or high - low < _APART * s_low:
        return ResidualSplit()
    scale = residuals[np.isfinite(residuals)].max()
    cut = max(0.5 * (a[apart].min() + a[~apart].max()), low + n_deviations * s_low)
    return ResidualSplit(float(cut * scale))
