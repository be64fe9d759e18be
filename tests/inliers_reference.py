"""The oracle of decisions and robust distances in plain NumPy and SciPy, from fits to one basis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betainc, expit
from scipy.stats import chi2

TINY = 1e-34  # squared residuals at the level of rounding


class Fits(NamedTuple):
    """The arguments of the core: weights and squared residuals of unit-norm samples, observed entries, norms."""

    W: np.ndarray
    r2: np.ndarray
    count: np.ndarray
    norm: np.ndarray


def fit_samples(components, X):
    """Fit each row of X to the orthonormal rows of ``components`` by least squares; NaN is missing."""
    W, r2 = np.zeros((len(X), len(components))), np.zeros(len(X))
    count, norm = np.zeros(len(X)), np.zeros(len(X))
    for j, x in enumerate(X):
        seen = ~np.isnan(x)
        norm[j] = np.linalg.norm(x[seen])
        if seen.sum() <= len(components) or norm[j] == 0:
            continue
        z, A = x[seen] / norm[j], components[:, seen].T
        W[j] = np.linalg.lstsq(A, z, rcond=None)[0]
        r2[j], count[j] = np.sum((z - A @ W[j]) ** 2), seen.sum()
    return Fits(W, r2, count, norm)


def lengths(A, scatter):
    """Squared lengths of the rows of A in units of the scatter."""
    return np.einsum("ij,ij->i", A, np.linalg.solve(scatter, A.T).T)


# ---- the mixture


def scatter_step(fits, C, s, probability):
    """One step of Tyler's estimator, with samples that count by their probability."""
    d = fits.W.shape[1]
    weight = probability if C is None else probability / (lengths(fits.W, C) + fits.r2 / s)
    C = (fits.W * weight[:, None]).T @ fits.W / weight.sum()
    return C, max((weight * fits.r2 / (fits.count - d)).sum() / weight.sum(), TINY)


def log_odds(fits, n, C, s, share):
    """ln of the odds of an inlier against a random direction."""
    d, N = fits.W.shape[1], fits.count
    q = lengths(fits.W, C) + fits.r2 / s
    fixed = (N - d) * np.log(s) + d * np.log(N / n) + np.linalg.slogdet(C)[1]
    return np.log(share / (1 - share)) - fixed / 2 - N / 2 * np.log(q)


def fit_mixture(fits, n):
    """Return C, s and the share of the inliers, by expectation and maximisation."""
    C, s, share = None, None, 0.5
    for _ in range(10):
        C, s = scatter_step(fits, C, s, np.ones(len(fits.W)))
    for _ in range(30):
        probability = expit(log_odds(fits, n, C, s, share))
        if probability.sum() <= fits.W.shape[1] + 1:
            break
        before = share, s
        C, s = scatter_step(fits, C, s, probability)
        share = np.clip(probability.mean(), 1e-6, 1 - 1e-6)
        if abs(share - before[0]) < 1e-4 and abs(np.log(s / before[1])) < 1e-4:
            break
    return C, s, share


def distance_from_random(fits):
    """Kolmogorov's distance of the squared residuals from the law of random directions."""
    d, k = fits.W.shape[1], len(fits.W)
    levels = np.sort(betainc((fits.count - d) / 2, d / 2, fits.r2))
    return max((levels - np.arange(k) / k).max(), (np.arange(1, k + 1) / k - levels).max())


def lost_inliers(fits, n, C, s, share, seed=0):
    """Share of inliers that the mixture calls random, by simulation."""
    rng, d, N = np.random.default_rng(seed), len(C), fits.count
    z, noise = rng.standard_normal((len(N), d)), rng.chisquare(N - d)
    W = z @ np.linalg.cholesky(C).T
    length = (W**2).sum(1) * N / n + s * noise
    made = Fits(W / np.sqrt(length)[:, None], s * noise / length, N, np.sqrt(length))
    return np.mean(log_odds(made, n, C, s, share) < 0)


# ---- the cut


def count_below_gap(u, least):
    """Return how many of the sorted values are below the lowest gap that separates outliers."""
    m = len(u)
    for middle in (int(0.5 * m), int(0.4 * m)) if m >= 8 else ():
        start = middle // 2
        for i in range((m + 1) // 2 - 1, m - 1):
            e, gap = np.mean(np.abs(u[start : i + 1] - u[middle])), u[i + 1] - u[i]
            if gap * (m - 1 - i) > 20 * e and gap > max(least, min(1, 120 / m)) * e:
                return i + 1
    return m


def find_cut(values, deviations, least, *, may_split):
    """Return the centre of the inliers' values and where they end."""
    u = np.sort(values)
    below = count_below_gap(u, least) if may_split else len(u)
    gap = (u[below - 1] + u[below]) / 2 if below < len(u) else np.inf
    u = u[:below]
    half = (len(u) + 1) // 2
    start = np.argmin(u[half - 1 :] - u[: len(u) - half + 1])
    shortest = u[start : start + half]
    cut, raised = -np.inf, shortest.mean() + deviations * np.ptp(shortest) / (2 * 0.6745)
    while raised > cut:
        cut = raised
        passed = u[u <= cut]
        if len(passed) < 2:
            break
        middle = np.median(passed)
        raised = middle + deviations * np.sqrt(np.mean((passed[passed >= middle] - middle) ** 2))
    return np.median(u), min(cut, gap)


# ---- the decision


class Decided(NamedTuple):
    """What was decided, and the margin of each sample: below 0 is an outlier."""

    margins: np.ndarray
    believed: bool
    excuses: bool
    C: np.ndarray
    s: float
    share: float
    centre: float
    cut: float


def decide(fits, n, exact=0.0):
    """Decide which samples are outliers. All samples must tell something."""
    d, m = fits.W.shape[1], len(fits.W)
    C, s, share = fit_mixture(fits, n)
    odds = log_odds(fits, n, C, s, share)
    random = odds < 0
    k, believed, plausible, lost = random.sum(), False, 0.0, 0.0
    if k >= 3 and distance_from_random(Fits(*(a[random] for a in fits))) <= max(0.2, 1.63 / np.sqrt(k)):
        lost = lost_inliers(fits, n, C, s, share)
        plausible = 3 + 3 * lost * (m - k)
        believed = bool(k > plausible)

    r2, degrees = np.maximum(fits.r2, TINY), fits.count - d
    u = np.log(r2 / degrees) + 2 * np.log(fits.norm)
    fits_exactly = fits.r2 <= exact**2
    if fits_exactly.sum() <= max(2 * d, 0.05 * m):
        exact, fits_exactly = 0.0, np.zeros(m, bool)
    presumed = ~random if believed else np.ones(m, bool)
    if exact:
        presumed &= fits_exactly
    centre, cut = find_cut(u[presumed], *((3.09, 1) if believed else (2.33, 0.5)), may_split=not exact)

    middle = chi2.ppf(0.5, degrees)
    limit = np.maximum(cut, centre + np.log(chi2.ppf(0.9999, degrees) / middle))
    excused = np.maximum(centre + 0.53 * (cut - centre), centre + np.log(chi2.ppf(0.95, degrees) / middle))
    margins = limit - u
    excuses = believed and bool(lost > 0.02 or (random & (u <= excused)).sum() <= plausible)
    if believed:
        lower = excused - u if excuses else 2 * odds / fits.count
        margins = np.where(random, np.minimum(margins, lower), margins)
    if exact:
        margins = np.where(fits_exactly, np.maximum(margins, np.log(exact**2 / r2)), margins)
    return Decided(margins, believed, excuses, C, s, share, centre, cut)


# ---- distances


class Measured(NamedTuple):
    """The two distances of each sample, and the moments of the inliers."""

    pairs: np.ndarray
    centre: np.ndarray
    covariance: np.ndarray
    noise_variance: float


def concentrated(A):
    """Centre and scatter of the nearest three quarters of the rows of A."""
    m, d = A.shape
    centre, scatter = A.mean(0), np.cov(A.T, bias=True).reshape(d, d)
    for _ in range(10):
        weight = (3 + d) / (3 + lengths(A - centre, scatter))
        centre = weight @ A / weight.sum()
        scatter = ((A - centre) * weight[:, None]).T @ (A - centre) / m
    for _ in range(20):
        near = A[np.argsort(lengths(A - centre, scatter))[: int(0.75 * m)]]
        centre, scatter = near.mean(0), np.cov(near.T, bias=True).reshape(d, d)
    return centre, scatter


def distances(fits, inlier, R=None):
    """Return the distances, learnt from the inliers."""
    A = fits.W * fits.norm[:, None]
    A = A if R is None else A @ R
    d = A.shape[1]
    centre, scatter = concentrated(A[inlier])
    squared = lengths(A - centre, scatter)
    squared *= chi2.ppf(0.5, d) / np.median(squared[inlier])
    kept = A[inlier & (squared <= 4 * chi2.ppf(0.9999, d))]
    degrees = fits.count - fits.W.shape[1]
    residual = fits.r2 * fits.norm**2
    noise = np.median((residual / chi2.ppf(0.5, degrees))[inlier])
    pairs = np.sqrt(np.c_[squared / d, residual / degrees / noise])
    return Measured(
        pairs,
        kept.mean(0),
        np.cov(kept.T).reshape(d, d),
        residual[inlier].sum() / degrees[inlier].sum(),
    )
