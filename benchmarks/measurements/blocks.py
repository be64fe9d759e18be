"""Data in blocks: the answer of memory whatever the order, how often data is read, and how fast."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.framework.core import Blocks, Task, ThreadEngine
from benchmarks.framework.measurement import Run, parts
from gasg21 import GASG21, KGASG21
from gasg21.blocks import BlockSource
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.metrics import subspace_angle

TIME = "10 minutes"
OPTIONS = {
    "--old": {"help": "Python of another installation of gasg21, to compare the times of `in_memory` with"},
    "--gigabytes": {"type": float, "default": 1.6, "help": "size of the file of `throughput`"},
}
N, D = 200, 5
Array = Any


class Counted(BlockSource):
    """Counts how often its parts are read."""

    def __init__(self, blocks: list[Array]) -> None:
        self.blocks, self.lengths = blocks, [len(block) for block in blocks]
        self.n_features, self.dtype = blocks[0].shape[1], blocks[0].dtype
        self.reads = np.zeros(len(blocks), int)

    def read(self, i: int) -> Array:
        """Return part i."""
        self.reads[i] += 1
        return self.blocks[i]


def problem(m: int, seed: int, n: int = N) -> Any:
    """Return samples in an order in which neighbours share 2 of 5 directions, the outliers last."""
    data = make_low_rank(m, n, D, outlier_fraction=0.5, observed_fraction=0.7, noise=1e-2, random_state=seed)
    weights = np.nan_to_num(data.data) @ data.basis.T
    order = np.argsort(np.where(data.inlier, np.abs(weights).argmax(axis=1) // 2, 9), kind="stable")
    data.data, data.inlier = data.data[order], data.inlier[order]
    return data


def accuracy(run: Run) -> None:
    """Compare fits of sorted parts with the fit in memory and with the truth."""
    sizes = (10_000,) if run.quick else (10_000, 40_000, 160_000)
    print(f"n = {N}, d = {D}, 50 % outliers, 30 % missing, noise 1e-2, sorted, 16 parts of different lengths")
    for m in sizes:
        for seed in run.seeds(3, quick=1):
            data = problem(m, seed)
            cuts = np.unique((m * np.linspace(0, 1, 17)[1:-1] ** 2).astype(int))  # the last part is 30 times the first
            source = Counted([*np.split(data.data, cuts), data.data[:0], np.full((500, N), np.nan)])
            source = source.with_limits(n_sampled=min(20_000, m // 4))
            model = GASG21(D, random_state=seed).fit(source)
            memory = GASG21(D, random_state=seed).fit(data.data)
            truth = subspace_angle(model.components_, data.basis)
            away = subspace_angle(model.components_, memory.components_)
            run.goals.at_most(f"m = {m}, angle to memory / estimated", away / memory.estimated_angle_, 0.05)
            run.goals.value(f"m = {m}, estimated / true {model.estimated_angle_ / truth:.2f}, {model.status_}")
            run.goals.at_most(f"m = {m}, reads of a part", source.reads.max(), 4)


def unions(run: Run) -> None:
    """Compare K = 4 subspaces, sorted by cluster, with the fit in memory."""
    m = 12_000 if run.quick else 40_000
    print(f"\nK = 4, d = 3, n = 60, 30 % outliers, 20 % missing, noise 1e-2, {m} samples sorted by cluster")
    for seed in run.seeds(3, quick=1):
        data = make_union_of_subspaces(
            m, 60, 3, 4, outlier_fraction=0.3, observed_fraction=0.8, noise=1e-2, random_state=seed
        )
        X = data.data[np.argsort(data.labels, kind="stable")]
        source = Counted(np.array_split(X, 9)).with_limits(n_sampled=8000)
        model, memory = KGASG21(4, 3, random_state=seed).fit(source), KGASG21(4, 3, random_state=seed).fit(X)
        away = max(min(subspace_angle(U, V) for V in memory.subspaces_) for U in model.subspaces_)
        note = f"{source.reads.max()} reads, {model.status_}"
        run.goals.at_most(f"seed {seed}, angle to memory", away, 1e-6, note=note)


# ---- speed


ROWS = 20_000  # of a part of a file: 32 MB


@contextmanager
def files_of(gigabytes: float) -> Iterator[dict[str, Evicted]]:
    """Give sources of the same sorted samples: an .npy file, and Zarr if it is installed."""
    count = max(2, round(gigabytes * 1e9 / (ROWS * N * 8)))
    data, rng = problem(ROWS, 0), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        npy, store = Path(folder) / "data.npy", Path(folder) / "data.zarr"
        out: list[Any] = [np.lib.format.open_memmap(npy, "w+", np.float64, (count * ROWS, N))]
        try:
            import zarr
        except ImportError:
            print("zarr is not installed")
        else:
            shape, chunks = (count * ROWS, N), (ROWS, N)
            out.append(zarr.create_array(store, shape=shape, chunks=chunks, dtype="f8", compressors=None))
        for i in range(count):
            part = data.data * rng.choice([-1.0, 1.0], (ROWS, 1))
            for each in out:
                each[i * ROWS : (i + 1) * ROWS] = part
        out[0].flush()
        sources: dict[str, BlockSource] = {".npy": BlockSource.from_npy(npy)}
        if len(out) > 1:
            sources["Zarr"] = BlockSource.from_zarr(store)
        yield {name: Evicted(source, Path(folder)) for name, source in sources.items()}


class Evicted(BlockSource):
    """A source whose files are put out of the system's cache before each pass, as if they were larger than memory."""

    def __init__(self, source: BlockSource, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.n_features, self.dtype, self.lengths = source.n_features, source.dtype, source.lengths

    def read(self, i: int) -> Array:
        """Return part i."""
        return self.source.read(i)

    def evict(self) -> None:
        """Let the next pass read from the disk, where the system can be told so."""
        if not hasattr(os, "posix_fadvise"):
            return
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def pure_read(source: Evicted) -> float:
    """Return the seconds in which two threads read all parts."""
    source.evict()
    began = time.perf_counter()
    ThreadEngine(2).reduce(Task(_length, source, None), range(len(source)), lambda a, b: a + b)
    return time.perf_counter() - began


def _length(source: BlockSource, index: int, state: None) -> int:
    return len(source.read(index))


def throughput(run: Run) -> None:
    """Read files with two threads, and fit them with two threads: bytes per second of a pass."""
    with files_of(0.2 if run.quick else run.options.gigabytes) as sources:
        for name, source in sources.items():
            size = sum(filter(None, source.lengths)) * N * 8 / 1e9
            model, rounds, reads = GASG21(D, random_state=0, n_jobs=2), [], []  # type: ignore[var-annotated]
            began = time.perf_counter()
            for _ in range(3):
                reads.append(pure_read(source))
                with _timed_rounds(rounds):
                    model.fit(source)
            spent = (time.perf_counter() - began - sum(reads)) / 3
            print(f"\n{name}, {size:.2f} GB, {len(source)} parts, read from the disk: {spent:.1f} s per fit")
            read, one = min(reads), min(rounds)
            run.goals.value(f"pure read: {size / read:.2f} GB/s; a round: {size / one:.2f} GB/s")
            run.goals.at_least("speed of a round over that of a pure read", read / one, 0.8)


@contextmanager
def _timed_rounds(seconds: list[float]) -> Iterator[None]:
    """Note how long each round takes."""
    plain: Callable[..., Any] = Blocks.reduce

    def timed(self: Any, *args: Any) -> Any:
        self.source.evict()
        began = time.perf_counter()
        total = plain(self, *args)
        seconds.append(time.perf_counter() - began)
        return total

    Blocks.reduce = timed  # type: ignore[method-assign]
    try:
        yield
    finally:
        Blocks.reduce = plain  # type: ignore[method-assign]


_PROGRAM = """
import sys, time
import numpy as np
from gasg21 import GASG21
X, basis = np.load(sys.argv[1], mmap_mode=None), np.load(sys.argv[2])
began = time.perf_counter()
model = GASG21({d}, random_state=0, n_jobs=2).fit(X)
spent = time.perf_counter() - began
sine = np.linalg.svd(basis - basis @ model.components_.T @ model.components_, compute_uv=False)[0]
print(spent, sine, model.estimated_angle_, model.status_)
"""


def in_memory(run: Run) -> None:
    """Fit 1e6 samples in memory, beside another installation (--old)."""
    m = 100_000 if run.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        data = make_low_rank(m, N, D, outlier_fraction=0.5, observed_fraction=0.7, noise=1e-2, random_state=0)
        paths = [str(Path(folder) / name) for name in ("X.npy", "basis.npy")]
        np.save(paths[0], data.data)
        np.save(paths[1], data.basis)
        del data
        times: dict[str, list[float]] = {}
        print(f"\nfit of {m} x {N} float64 in memory, 50 % outliers, 30 % missing, noise 1e-2")
        for _ in run.seeds(3, quick=1):
            for name, python in (("old", run.options.old), ("new", sys.executable)):
                if python:
                    command = [python, "-c", _PROGRAM.format(d=D), *paths]
                    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                    times.setdefault(name, []).append(float(said[0]))
                    run.goals.value(f"{name}: {float(said[0]):.1f} s, angle {said[1]}, estimated {said[2]}, {said[3]}")
        if "old" in times:
            run.goals.at_most("time over that of the old one", min(times["new"]) / min(times["old"]), 0.6)


PARTS = parts(accuracy, unions, throughput, in_memory)
