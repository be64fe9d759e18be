"""The k-th allocation fails, for every k: an exception, all threads joined, and the object can still be used.

Only allocations of the core can fail: those of Python itself come from its own memory, which is filled beforehand.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import ctypes, gc, os, pickle, resource, sys, tempfile, warnings
import numpy as np
import gasg21
from gasg21 import GASG21, KGASG21
from attacks.models import X, UNION, fingerprint
warnings.simplefilter("ignore")
lib = ctypes.CDLL(None)
lib.fail_never.restype = ctypes.c_long
name, threads, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
folder = tempfile.mkdtemp()
path = os.path.join(folder, "model.gasg21")
big = np.tile(X, (30, 1))
def make():
    if name == "KGASG21.fit":
        return KGASG21(2, 2, random_state=0, n_jobs=threads).fit(UNION)
    return GASG21(2, random_state=0, n_jobs=threads).partial_fit(X)
model = make()
model.save(path)
calls = {
    "fit": lambda: model.fit(X),
    "partial_fit": lambda: model.partial_fit(X[:50]),
    "transform": lambda: model.transform(big),
    "complete": lambda: model.complete(big),
    "predict": lambda: model.predict(big),
    "save": lambda: model.save(path),
    "load": lambda: gasg21.load(path),
    "KGASG21.fit": lambda: model.fit(UNION),
}
call = calls[name]
call()
data = UNION if name == "KGASG21.fit" else X
hits = errors = 0
for k in range(most):
    gc.collect()
    lib.fail_after(ctypes.c_long(k))
    try:
        call()
    except (MemoryError, RuntimeError, OSError, SystemError, ImportError, ValueError, ArithmeticError) as error:
        lib.fail_never()
        errors += 1
        said = str(error).lower()
        of_memory = isinstance(error, (MemoryError, OSError)) or "alloc" in said or "memory" in said
        if not of_memory:
            print("odd", k, repr(error)[:200])
    finally:
        hit = lib.fail_never()
    hits += hit
    model.predict(data[:5])
    model.transform(data[:5])
    assert os.path.exists(path)
    if not hit:
        break
again = pickle.loads(pickle.dumps(model))
model.partial_fit(data[:60]); again.partial_fit(data[:60])
assert fingerprint(model) == fingerprint(again)
gasg21.load(path)
count = len(os.listdir("/proc/self/task"))
print("done", hits, errors, count)
"""

NAMES = ["fit", "partial_fit", "transform", "complete", "predict", "save", "load", "KGASG21.fit"]


def attack(count, seed):
    failures, hits = [], 0
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "failing_malloc.so"
        source = Path(__file__).with_name("failing_malloc.c")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        for name in NAMES:
            for threads in (1, 2):
                environment = {**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1"}
                command = [sys.executable, "-c", CODE, name, str(threads), str(count)]
                done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
                last = done.stdout.splitlines()[-1:] or [""]
                if done.returncode or not last[0].startswith("done"):
                    said = (done.stdout + done.stderr).strip().splitlines()[-3:]
                    failures.append(f"{name}, {threads} threads: code {done.returncode}: {said}")
                    continue
                failures += [f"{name}, {threads} threads: {line}" for line in done.stdout.splitlines()[:-1]]
                hits += int(last[0].split()[1])
    return hits, failures, f"every k below {count} for {', '.join(NAMES)}, 1 and 2 threads"
