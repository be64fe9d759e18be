"""Streams that are cut and resumed, by a pickle, a file, or a C++ program: no byte differs."""

import pickle
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import clone

import gasg21
from attacks.clock import turns
from attacks.models import fingerprint, streaming

ROOT = Path(__file__).parents[2]
WITH_CPP = 100  # cuts from which on it is worth while to compile the C++ program, for half a minute


def program(folder):
    """Build the program that loads a tracker, updates it with vectors, and saves it."""
    target = Path(folder) / "go_on"
    command = ["g++", "-std=c++17", "-O2", "-DGASG21_ALL_INSTRUCTION_SETS", f"-I{ROOT}/cpp/include"]
    command += [str(ROOT / "tests/attacks/go_on.cpp"), "-o", str(target), "-larmadillo", "-pthread"]
    subprocess.run(command, check=True, capture_output=True)
    return target


def by_pickle(model, rows, folder, go_on):
    return pickle.loads(pickle.dumps(model)).partial_fit(rows)


def by_file(model, rows, folder, go_on):
    model.save(folder / "model.gasg21")
    return gasg21.load(folder / "model.gasg21").partial_fit(rows)


def in_cpp(model, rows, folder, go_on):
    """Let a C++ program go on, and return its stream as Python loads it."""
    model.save(folder / "model.gasg21")
    np.ascontiguousarray(rows).tofile(folder / "rows.bin")
    names = [str(folder / name) for name in ("model.gasg21", "rows.bin", "after.gasg21")]
    subprocess.run([str(go_on), *names], check=True)
    return gasg21.load(folder / "after.gasg21")


def stream_of(model):
    """Return the state of the compiled stream."""
    return (model._tracker if hasattr(model, "_tracker") else model._stream).__getstate__()


def attack(count, seed):
    rng = np.random.default_rng(seed)
    failures, ran = [], {"pickle": 0, "file": 0, "C++": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_cpp = count >= WITH_CPP
        go_on = program(folder) if with_cpp else None
        for i in turns(count):
            estimator, X = streaming()[i % len(streaming())]
            first = 60 if isinstance(estimator, gasg21.KGASG21) or estimator.get_params().get("center") else 1
            cut = int(rng.integers(first, len(X) - 1))
            whole, part = clone(estimator), clone(estimator)
            whole.partial_fit(X[:first]).partial_fit(X[first:cut]) if cut > first else whole.partial_fit(X[:first])
            part.partial_fit(X[:first])
            if cut > first:
                part.partial_fit(X[first:cut])
            default = i % len(streaming()) in (0, 4)  # the tracker that load_tracker's defaults name
            in_c = with_cpp and i % 3 == 2 and default
            way = "C++" if in_c else ("pickle", "file")[i % 2]
            after = {"pickle": by_pickle, "file": by_file, "C++": in_cpp}[way](part, X[cut:], folder, go_on)
            whole.partial_fit(X[cut:])
            ran[way] += 1
            same = _same_stream(after, whole) if way == "C++" else fingerprint(after) == fingerprint(whole)
            if not same:
                failures.append(f"{type(estimator).__name__} cut at {cut} by {way}")
    return sum(ran.values()), failures, f"{ran}"


def _same_stream(after, whole):
    """Whether two trackers are the same; the range of the entries, which C++ does not keep, aside."""
    a, b = (gasg21._core.decode(stream_of(model), objects=False)["object"] for model in (after, whole))
    return all(gasg21._core.encode({"": a[name]}) == gasg21._core.encode({"": b[name]}) for name in ("loss", "state"))
