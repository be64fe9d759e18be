"""kill -9 while a process saves models again and again: the file can always be read."""

import os
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import gasg21
from attacks.clock import is_over
from attacks.models import fingerprint

PATIENCE = 120  # seconds after which a child ends that nobody has killed


def attack(count, seed):
    rng = np.random.default_rng(seed)
    models = [gasg21.GASG21(5, random_state=k).partial_fit(rng.standard_normal((300, 400))) for k in range(2)]
    known = [fingerprint(model) for model in models]
    failures, seen, left = [], set(), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gasg21"
        models[0].save(path)
        done = 0
        while done < count and not is_over():
            child = _save_for_ever(models, path)
            time.sleep(float(rng.uniform(0, 0.05)))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            done += 1
            try:
                seen.add(known.index(fingerprint(gasg21.load(path))))
            except Exception as error:
                failures.append(f"{done}: {error!r}")
            for each in Path(folder).glob("*.tmp"):  # a killed process cannot remove it
                left += 1
                each.unlink()
    return done, failures, f"{len(seen)} of 2 models were there; {left} kills came in the midst of a file"


def _save_for_ever(models, path):
    """Start a process that saves one model after the other under the same name, and return its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks beside threads: the child needs none of them
        child = os.fork()
    if child:
        return child
    try:
        signal.alarm(PATIENCE)
        while True:
            for model in models:
                model.save(path)
    finally:
        os._exit(1)
