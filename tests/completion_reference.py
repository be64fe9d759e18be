"""The oracle of completion in plain NumPy: the law of the weights, the conditional mean, the held-out errors."""

import numpy as np


def grams(U, observed, noise):
    """U_O' N^-1 U_O of each sample."""
    return np.einsum("mi,ia,ib->mab", observed / noise, U, U, optimize=True)


def scaled(X):
    """Return the samples with zeros for missing entries and the mean square 1, and what is observed."""
    observed = ~np.isnan(X)
    Z = np.where(observed, X, 0)
    return Z / np.sqrt((Z**2).sum(1) / observed.sum(1))[:, None], observed.astype(float)


def learn_prior(U, X, *, steps=60, later_steps=3, noise_estimates=2, least_noise=0.1, pseudo=5):
    """EM for C and s, with the noise of each coordinate."""
    n, d = U.shape
    Z, observed = scaled(X)
    count = observed.sum(1)
    noise, C, s = np.ones(n), np.eye(d) * n / d, 1.0
    for estimate in range(noise_estimates + 1):
        G, b = grams(U, observed, noise), (Z / noise) @ U
        for _ in range(later_steps if estimate else steps):
            precision = np.linalg.inv(C)
            covariance = np.linalg.inv(G + s * precision)
            w = np.einsum("mab,mb->ma", covariance, b)
            residual = ((Z - w @ U.T) ** 2 * observed / noise).sum(1)
            size = count / (np.einsum("ma,ab,mb->m", w, precision, w) + residual / s)
            new_C = np.einsum("m,ma,mb->ab", size, w, w) / len(Z) + s * covariance.mean(0)
            new_s = (size @ residual + s * np.einsum("mab,mba->", covariance, G)) / count.sum()
            unit = np.trace(new_C) / n + new_s
            C, s = new_C / unit, new_s / unit
        if estimate < noise_estimates:
            precision = np.linalg.inv(C)
            covariance = np.linalg.inv(G + s * precision)
            w = np.einsum("mab,mb->ma", covariance, b)
            left = (Z - w @ U.T) ** 2 * observed
            size = count / (np.einsum("ma,ab,mb->m", w, precision, w) + (left / noise).sum(1) / s)
            degrees = (observed * (1 - np.einsum("mab,ia,ib->mi", covariance, U, U, optimize=True) / noise)).sum(0)
            squares = size @ left
            mean = squares.sum() / degrees.sum()
            noise = np.maximum((squares / mean + pseudo) / (degrees + pseudo), least_noise)
    return C, s, noise


def conditional_mean(U, x, prior):
    """Return x with its missing entries as E[x | observed], x ~ N(0, U C U' + s N)."""
    C, s, noise = prior
    seen = ~np.isnan(x)
    signal = U @ C @ U.T
    S = signal + s * np.diag(noise)
    return np.where(seen, x, signal[:, seen] @ np.linalg.solve(S[np.ix_(seen, seen)], x[seen]))


def held_out_error(U, x, prior, reference):
    """Predict each observed entry from the others; squared error over squared distance from the reference."""
    rows = np.flatnonzero(~np.isnan(x))
    wrong = 0.0
    for i in rows:
        without = x.copy()
        without[i] = np.nan
        wrong += (conditional_mean(U, without, prior)[i] - x[i]) ** 2
    return wrong / ((x - reference)[rows] ** 2).sum()
