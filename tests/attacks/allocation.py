"""The k-th allocation fails, for every k: an exception, all threads joined, no leak, and the object can still be used.

Only allocations of the core can fail: those of Python itself come from its own memory, which is filled beforehand.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

CODE = """
import ctypes, gc, os, pickle, sys, tempfile, warnings
import numpy as np
import gasg21
from gasg21 import GASG21, KGASG21
from attacks.models import X, UNION, fingerprint
warnings.simplefilter("ignore")
lib = ctypes.CDLL(None)
lib.fail_never.restype = ctypes.c_long
threads, most = int(sys.argv[1]), int(sys.argv[2])
path = os.path.join(tempfile.mkdtemp(), "model.gasg21")
big = np.tile(X, (30, 1))
stream = GASG21(2, random_state=0, n_jobs=threads).partial_fit(big)  # all that it keeps of a stream is there
fitted = GASG21(2, random_state=0, n_jobs=threads).fit(X)
union = KGASG21(2, 2, random_state=0, n_jobs=threads).fit(UNION)
stream.save(path)
calls = {
    "fit": (fitted, lambda: fitted.fit(X)),
    "partial_fit": (stream, lambda: stream.partial_fit(X[:50])),
    "transform": (stream, lambda: stream.transform(big)),
    "complete": (stream, lambda: stream.complete(big)),
    "predict": (stream, lambda: stream.predict(big)),
    "save": (stream, lambda: stream.save(path)),
    "load": (stream, lambda: gasg21.load(path)),
    "KGASG21.fit": (union, lambda: union.fit(UNION)),
}

class Heap(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

def heap():
    gc.collect()
    lib.mallinfo2.restype = Heap
    info = lib.mallinfo2()
    return info.uordblks + info.hblkhd

def leak(call, k):
    # The bytes that each of some calls leaves behind, all of whose k-th allocations fail. A leak is there each time.
    levels = []
    for _ in range(5):
        lib.fail_after(ctypes.c_long(k))
        try:
            call()
        except Exception:
            pass
        lib.fail_never()
        levels.append(heap())
    return min(after - before for before, after in zip(levels, levels[1:]))

def attack(name):
    model, call = calls[name]
    data = UNION if model is union else X
    call()
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
            if not isinstance(error, (MemoryError, OSError)) and "alloc" not in said and "memory" not in said:
                print("odd", name, k, repr(error)[:200])
        finally:
            hit = lib.fail_never()
        hits += hit
        model.predict(data[:5])
        model.transform(data[:5])
        if not hit:
            break
    left = leak(call, hits // 2)
    if left > 0:
        print("odd", name, hits // 2, "leaves", left, "bytes")
    again = pickle.loads(pickle.dumps(model))
    model.partial_fit(data[:60]); again.partial_fit(data[:60])
    assert fingerprint(model) == fingerprint(again)
    gasg21.load(path)
    return hits, errors

for name in sys.argv[3:]:
    print("begin", name, flush=True)
    hits, errors = attack(name)
    print("done", name, hits, errors, flush=True)
"""

NAMES = ["fit", "partial_fit", "transform", "complete", "predict", "save", "load", "KGASG21.fit"]


def attack(count, seed):
    failures, hits, errors = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "failing_malloc.so"
        source = Path(__file__).with_name("failing_malloc.c")
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        environment = {**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1", "TMPDIR": folder}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        environment["GLIBC_TUNABLES"] = "glibc.malloc.tcache_count=0"  # its chunks would count as used
        for threads in (1, 2):
            command = [sys.executable, "-c", CODE, str(threads), str(count), *NAMES]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            lines = [line.split() for line in done.stdout.splitlines()]
            failures += [f"{threads} threads: {' '.join(line)}" for line in lines if line[0] == "odd"]
            ended = {line[1]: line for line in lines if line[0] == "done"}
            for line in ended.values():
                hits, errors = hits + int(line[2]), errors + int(line[3])
            if done.returncode or len(ended) < len(NAMES):
                begun = [line[1] for line in lines if line[0] == "begin"]
                said = done.stderr.strip().splitlines()[-3:]
                failures.append(f"{threads} threads, in {begun[-1:]}: code {done.returncode}: {said}")
    note = f"{errors} errors raised; every k below {count} for {', '.join(NAMES)}, 1 and 2 threads"
    return hits, failures, note
