"""Ctrl-C at random times, for every estimator: back within 0.3 s, and the model can be used.

The time is the CPU time of the process, so that other programs on the machine do not count. One long SVD or
eigendecomposition of LAPACK cannot be interrupted: the baselines' problems are small enough.
"""

import os
import signal
import threading
import time
import warnings

import numpy as np

from attacks.clock import turns
from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer, baselines
from gasg21.datasets import make_low_rank, make_union_of_subspaces

ALLOWED = 0.3  # seconds of CPU time
WAITING = 10.0  # seconds by the clock: longer than a busy machine delays it


def problems():
    big = make_low_rank(4000, 100, 5, outlier_fraction=0.3, observed_fraction=0.7, random_state=0).data
    complete = make_low_rank(400, 60, 3, outlier_fraction=0.3, random_state=0).data
    union = make_union_of_subspaces(2000, 60, 3, 4, outlier_fraction=0.1, random_state=0).data
    small = make_union_of_subspaces(240, 20, 2, 3, random_state=0).data
    slow = {"tol": 0.0}
    return [
        (lambda: GASG21(5, random_state=0, max_passes=500, **slow), big, "fit"),
        (lambda: GASG21("auto", random_state=0), big, "fit"),
        (lambda: GASG21(5, center=True, random_state=0, max_passes=500, **slow), big, "fit"),
        (lambda: GROUSE(5, random_state=0, max_passes=500, **slow), big, "fit"),
        (lambda: GRASTA(5, random_state=0, max_passes=500, **slow), big, "fit"),
        (lambda: GASG21(5, random_state=0), np.tile(big, (20, 1)), "partial_fit"),
        (lambda: KGASG21(4, 3, random_state=0, max_passes=500, **slow), union, "fit"),
        (lambda: KGASG21(4, 3, random_state=0, n_ensemble=8), union, "fit"),
        (lambda: KGASG21(4, 3, random_state=0, whiten=True), union, "fit"),
        (lambda: SubspaceImputer(random_state=0), big, "fit"),
        (lambda: baselines.REAPER(3, max_iter=10**6, tol=0), complete, "fit"),
        (lambda: baselines.FMS(3, max_iter=10**6, tol=0), complete, "fit"),
        (lambda: baselines.TME(3, max_iter=10**6, tol=0), complete, "fit"),
        (lambda: baselines.OutlierPursuit(3, max_iter=10**6, tol=0), complete, "fit"),
        (lambda: baselines.RobustMD(3, max_iter=10**6), complete, "fit"),
        (lambda: baselines.LBF(3, 2), small, "fit"),
        (lambda: baselines.LRR(3), small, "fit"),
        (lambda: baselines.SSC(3), small, "fit"),
    ]


def attack(count, seed, allowed=ALLOWED, waiting=WAITING):
    rng = np.random.default_rng(seed)
    failures, slowest, longest, missed, ran, all_problems = [], (0.0, ""), 0.0, 0, 0, problems()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in turns(count):
                ran = i + 1
                make, X, method = all_problems[i % len(all_problems)]
                model = make()
                name = f"{type(model).__name__}.{method}"
                took, waited, interrupted = _interrupted(getattr(model, method), X, float(rng.uniform(0.005, 0.5)))
                missed += not interrupted
                slowest, longest = max(slowest, (took, name)), max(longest, waited)
                if took > allowed or waited > waiting:
                    failures.append(f"{name} took {took:.2f} s of CPU time, {waited:.2f} s in all, to stop ({i})")
                _check_usable(model, X, name, failures)
    finally:
        signal.signal(signal.SIGINT, handler)
    said = f"slowest {slowest[1]}, {slowest[0]:.3f} s of CPU time; at most {longest:.2f} s by the clock"
    return ran, failures, f"{said}; {missed} had ended before"


def _interrupted(method, X, delay):
    """Call the method, and press Ctrl-C after a while.

    Returns the CPU time and the time that it took to stop, and whether it was stopped.
    """
    sent = []

    def press():
        sent.extend([time.process_time(), time.perf_counter()])
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(delay, press)
    try:
        timer.start()
        method(X)
        timer.cancel()
        timer.join()
        time.sleep(0.01)  # a signal that comes now is caught here
    except KeyboardInterrupt:
        timer.join()
        return time.process_time() - sent[0], time.perf_counter() - sent[1], True
    return 0.0, 0.0, False


def _check_usable(model, X, name, failures):
    """Whether the model is fitted and works, or is as it was."""
    try:
        if any(attribute.endswith("_") and not attribute.startswith("__") for attribute in vars(model)) or getattr(
            model, "_published", None
        ):
            if hasattr(model, "predict"):
                model.predict(X[:5] if not hasattr(model, "labels_") or hasattr(model, "subspaces_") else X)
            elif hasattr(model, "transform"):
                model.transform(X[:5])
    except Exception as error:
        failures.append(f"{name} cannot be used afterwards: {error!r}")
