"""Damaged model files, pickles and states: none crashes, none that was changed is taken for good.

The memory of files and states is measured. That of pickles is limited: Python's own unpickler takes what a damaged
length or index in its instructions asks for, before a byte of the model is read. Such pickles are counted.
"""

import pickle
import resource
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import gasg21
from attacks.clock import turns
from attacks.models import fingerprint, fitted
from gasg21 import _core
from gasg21.exceptions import ModelFormatError

MOST_MEMORY = 512 * 2**20
NOT_LOADED = (Exception,)  # whatever pickle says of a stream of bytes that is none


def mutated(data, rng):
    """Return the bytes with a few flipped bits, a piece cut out, doubled, or overwritten."""
    data = bytearray(data)
    kind = rng.integers(6)
    at = int(rng.integers(len(data)))
    if kind <= 1:
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + int(rng.integers(1, 64))]
    elif kind == 4:
        data[at:at] = data[at : at + int(rng.integers(1, 64))] or b"\0"
    else:
        data[at : at + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, b"\0\0\0\0\1\0\0\0", rng.bytes(8)])
    return bytes(data)


@contextmanager
def limited_memory():
    """Let no allocation succeed beyond the memory that a damaged model may take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def is_of_unpickler(error):
    """Whether an error was raised by Python's unpickler itself, before it called anything of gasg21."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename).resolve() == Path(__file__).resolve()


def attack(count, seed):
    rng = np.random.default_rng(seed)
    models, failures, loaded_same, too_large, ran = fitted(), [], 0, 0, 0
    prints = [fingerprint(model) for model in models]
    pickles = [pickle.dumps(model) for model in models]
    states = [(type(m._tracker), m._tracker.__getstate__()) for m in models if hasattr(m, "_tracker")]
    states += [(type(m._stream), m._stream.__getstate__()) for m in models if hasattr(m, "_stream")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gasg21"
        for i in turns(count):
            ran = i + 1
            which = i % 3
            try:
                if which == 0:
                    k = int(rng.integers(len(models)))
                    bad = mutated(prints[k], rng)
                    if bad == prints[k]:
                        continue
                    path.write_bytes(bad)
                    gasg21.load(path)
                    failures.append(f"a changed {type(models[k]).__name__} was loaded ({i})")
                elif which == 1:
                    k = int(rng.integers(len(models)))
                    bad = mutated(pickles[k], rng)
                    with limited_memory():
                        again = pickle.loads(bad)
                    if type(again) is type(models[k]) and fingerprint(again) == prints[k]:
                        loaded_same += 1  # a bit without meaning, such as the protocol's number
                    elif isinstance(again, BaseEstimator):
                        failures.append(f"a changed pickle of {type(models[k]).__name__} was loaded ({i})")
                else:
                    kind, state = states[int(rng.integers(len(states)))]
                    bad = mutated(state, rng)
                    if bad == state:
                        continue
                    kind._from_state(bad)
                    failures.append(f"a changed state of {kind.__name__} was loaded ({i})")
            except ModelFormatError:
                pass
            except NOT_LOADED as error:
                by_python = which == 1 and is_of_unpickler(error)
                too_large += by_python and isinstance(error, MemoryError)
                if which != 1 or (isinstance(error, MemoryError) and not by_python):
                    failures.append(f"{i}: {error!r}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if peak > MOST_MEMORY and "asan" not in _core.__file__ and "sanitized" not in _core.__file__:
        failures.append(f"the memory grew to {peak >> 20} MB")
    return (
        ran,
        failures,
        (
            f"memory at most {peak >> 20} MB; {loaded_same} pickles changed without effect, {too_large} for which "
            "Python's unpickler itself had not enough memory"
        ),
    )
