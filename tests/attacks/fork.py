"""Forks while another thread is inside `partial_fit`, `fit`, `save` or `pickle.dumps`: the child can go on."""

import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from attacks.clock import turns
from attacks.models import UNION, X
from gasg21 import GASG21, KGASG21

PATIENCE = 20.0  # seconds until a child counts as hung


def attack(count, seed):
    rng = np.random.default_rng(seed)
    failures, ran = [], {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in turns(count):
            name = ("partial_fit", "rows", "fit", "save", "pickle", "union")[i % 6]
            outcome = _fork_beside(name, Path(folder), float(rng.uniform(0, 0.02)))
            ran[name] = ran.get(name, 0) + 1
            if outcome != 0:
                failures.append(f"{i}, in {name}: {'hung' if outcome is None else outcome}")
    return sum(ran.values()), failures, f"{ran}"


def _fork_beside(name, folder, delay):
    union = name == "union"
    data = np.tile(UNION if union else X, (30, 1))
    model = KGASG21(2, 2, random_state=0, n_jobs=2) if union else GASG21(2, random_state=0, n_jobs=2)
    model.partial_fit(data[:200])
    work = {
        "partial_fit": lambda: model.partial_fit(data),
        "union": lambda: model.partial_fit(data),
        "rows": lambda: model.partial_fit(data[:1]),
        "fit": lambda: model.fit(data),
        "save": lambda: model.save(folder / "model.gasg21"),
        "pickle": lambda: pickle.dumps(model),
    }[name]
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            work()

    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(delay)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(int(PATIENCE))
            # A union publishes at the end of a call, but its stream is here with all vectors until the fork.
            seen = (model._stream.counters() if union else model.diagnostics_)["n_seen"]
            model.partial_fit(data[:7]).predict(data[:5])
            pickle.loads(pickle.dumps(model)).partial_fit(data[:1])
            model.save(folder / "child.gasg21")
            good = model.diagnostics_["n_seen"] == seen + 7
            bases = model.subspaces_ if union else [model.components_]
            good &= all(abs(U @ U.T - np.eye(len(U))).max() < 1e-6 for U in bases)
            if not union:
                model.fit(data[:300])
            code = 0 if good else 3
        finally:
            os._exit(code)
    stop.set()
    _, status = os.waitpid(child, 0)
    thread.join()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return None
    return os.waitstatus_to_exitcode(status)
