"""Eight threads on one object, readers and writers, the first call included: no error, and exact counts."""

import pickle
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

from attacks.clock import is_over
from attacks.models import UNION, X
from gasg21 import GASG21, GRASTA, GROUSE, KGASG21

MAKERS = [
    lambda: (GASG21(2, random_state=0, n_jobs=1), X),
    lambda: (GASG21(2, center=True, random_state=0, n_jobs=1), X),
    lambda: (GASG21(2, contamination=0.2, random_state=0, n_jobs=1), X),
    lambda: (GROUSE(2, random_state=0, n_jobs=2), X),
    lambda: (GRASTA(2, random_state=0, n_jobs=1), X),
    lambda: (KGASG21(2, 2, random_state=0, n_jobs=1), UNION),
]
PER_OBJECT = 4000  # calls


def attack(count, seed):
    failures, calls, rounds = [], 0, 0
    interval = sys.getswitchinterval()
    with tempfile.TemporaryDirectory() as folder:
        try:
            while calls < count and not is_over():
                sys.setswitchinterval([interval, 1e-5][rounds % 2])
                calls += _one_object(
                    MAKERS[rounds % len(MAKERS)], min(PER_OBJECT, count), failures, Path(folder), rounds
                )
                rounds += 1
        finally:
            sys.setswitchinterval(interval)
    return calls, failures, f"{rounds} objects"


def _one_object(make, count, failures, folder, seed):
    """Use one new object from eight threads; return the number of calls."""
    model, data = make()
    union = isinstance(model, KGASG21)
    begin, writers, each = threading.Barrier(8), 5, max(4, count // 8)
    given, calls = [0] * 8, [0] * 8
    rng = np.random.default_rng(seed)
    bad = data[:1].copy()
    bad[0, 3] = np.inf

    def write(k):
        for i in range(each):
            size = 60 if union or i % 50 == 0 else 1
            at = int(starts[k, i % 64]) % (len(data) - 60)
            model.partial_fit(data[at : at + size])
            given[k] += size
            calls[k] += 1
            if i % 97 == 5:
                try:
                    model.partial_fit(bad)
                    failures.append("an infinity was accepted")
                except ValueError:
                    calls[k] += 1

    def read(k):
        while not hasattr(model, "n_iter_"):
            pass
        for i in range(each):
            what = i % 8
            if what <= 2:
                assert model.predict(data[:3]).shape == (3,)
            elif what == 3:
                assert np.isfinite(model.transform(data[:2])).any()
            elif what == 4:
                counters = model.diagnostics_
                assert counters["n_seen"] >= counters["n_used"]
            elif what == 5:
                model.get_params()
            elif what == 6 and i % 16 == 6:
                again = pickle.loads(pickle.dumps(model))
                assert again.diagnostics_["n_seen"] >= again.n_iter_
            elif what == 7 and i % 32 == 7:
                model.save(folder / f"{k}.gasg21")
            else:
                for U in [model.components_] if not union else model.subspaces_:
                    assert abs(U @ U.T - np.eye(len(U))).max() < 1e-6
            calls[k] += 1

    def run(k):
        try:
            begin.wait()
            (write if k < writers else read)(k)
        except Exception as error:
            failures.append(f"{type(model).__name__}: {error!r}")

    starts = rng.integers(0, 1000, (8, 64))
    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seen = model.diagnostics_["n_seen"]
    if seen != sum(given):
        failures.append(f"{type(model).__name__} saw {seen} of {sum(given)} vectors")
    return sum(calls)
