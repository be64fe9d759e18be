"""Long streams: changes of the subspace, storms of outliers and of missing entries, zero vectors.

Prints orthonormality, memory and rate now and then. The note extrapolates to 1e9 updates what was run.
"""

import resource
import time

import numpy as np

from attacks.clock import is_over
from gasg21 import _core

BATCH = 20_000
N, D = 20, 3


def batches(rng):
    """Yield batches of vectors for ever: the subspace changes, and the weather too."""
    while True:
        U = np.linalg.qr(rng.standard_normal((N, D)))[0]
        for weather in ("fine", "outliers", "missing", "zeros", "fine"):
            X = rng.standard_normal((BATCH, D)) @ U.T + 1e-3 * rng.standard_normal((BATCH, N))
            if weather == "outliers":
                X[rng.random(BATCH) < 0.8] = rng.standard_normal(N)
            elif weather == "missing":
                X[rng.random(X.shape) < 0.9] = np.nan
            elif weather == "zeros":
                X[rng.random(BATCH) < 0.5] = 0
            yield X


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def attack(count, seed):
    """Let one tracker of each kind take turns."""
    rng = np.random.default_rng(seed)
    trackers = [
        _core.Tracker64(N, D, _core.AdaptiveStep(scaling=True, stream=True), 1, "l21", _core.CovarianceScaling()),
        _core.Tracker64(N, D, _core.AdaptiveStep(), 1),
    ]
    failures, done, worst = [], 0, 0.0
    pool = [next(weather) for weather in [batches(rng)] for _ in range(50)]
    began, level, base = time.perf_counter(), 0, None
    while done < count and not is_over():
        X = pool[int(rng.integers(len(pool)))]
        tracker = trackers[level % len(trackers)]
        tracker.consume(X)
        done += len(X)
        level += 1
        if level % 50 == 0:
            worst = max(worst, *(_core.orthonormality_error(each.components()) for each in trackers))
            if level == 100:
                base = resident()
            if level % 2500 == 0:
                rate = done / (time.perf_counter() - began)
                grown = (resident() - (base or resident())) / 2**20
                print(
                    f"  {done:.3g} updates, orthonormal to {worst:.1e}, grown by {grown:.2f} MB, {rate:.3g} per s",
                    flush=True,
                )
    worst = max(worst, *(_core.orthonormality_error(each.components()) for each in trackers))
    grown = (resident() - base) / 2**20 if base else 0.0
    seen = sum(each.counters()["n_seen"] for each in trackers)
    if worst > 1e-12:
        failures.append(f"orthonormality {worst:.1e}")
    if grown > 1:
        failures.append(f"the memory grew by {grown:.2f} MB")
    if seen != done:
        failures.append(f"{seen} counted of {done}")
    rate = done / (time.perf_counter() - began)
    return (
        done,
        failures,
        (
            f"orthonormal to {worst:.1e}, memory grown by {grown:.2f} MB, {rate:.3g} updates per s. Extrapolated, not "
            f"run: 1e9 updates in {1e9 / rate / 3600:.1f} h; the 64-bit counters last 5e5 years at this rate"
        ),
    )
