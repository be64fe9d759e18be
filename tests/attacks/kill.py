"""kill -9 while a process saves a model again and again: the file can always be read."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gasg21
from attacks.clock import is_over
from attacks.models import fingerprint

CODE = """
import sys, numpy as np, gasg21
rng = np.random.default_rng(0)
models = [gasg21.GASG21(5, random_state=k).partial_fit(rng.standard_normal((300, 400))) for k in range(2)]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1])
"""


def attack(count, seed):
    rng = np.random.default_rng(seed)
    failures, seen = [], set()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gasg21"
        gasg21.GASG21(2, random_state=0).partial_fit(rng.standard_normal((30, 6))).save(path)
        done = 0
        while done < count and not is_over():
            child = subprocess.Popen([sys.executable, "-c", CODE, str(path)], stdout=subprocess.PIPE, text=True)
            child.stdout.readline()
            time.sleep(float(rng.uniform(0, 0.05)))
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
            done += 1
            try:
                seen.add(fingerprint(gasg21.load(path)))
            except Exception as error:
                failures.append(f"{done}: {error!r}")
            for left in Path(folder).glob("*.tmp"):  # a killed process cannot remove it
                left.unlink()
    return done, failures, f"{len(seen)} different models were there"
