"""Fits on a Dask cluster of processes: memory, passes, the cost of a round beside a pure read, and killed workers."""

from __future__ import annotations

import functools
import hashlib
import logging
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.framework.core import timed_passes
from benchmarks.framework.measurement import Run, parts
from gasg21 import GASG21
from gasg21.blocks import BlockSource
from gasg21.metrics import subspace_angle

TIME = "3 minutes for 2 GB, 12 minutes for 10 GB"
OPTIONS = {
    "--size": {"type": float, "default": 2.0, "help": "gigabytes of data; 10 for the goals"},
    "--workers": {"type": int, "default": 2, "help": "processes of the cluster, with one thread each"},
    "--folder": {"type": Path, "help": "where to write the data, and to keep it; by default a temporary folder"},
}
n, d, ROWS = 200, 5, 25_000  # a part of 40 MB
MEMORY_LIMIT = "1.5GB"
_PATIENCE = 120.0  # seconds to wait until all workers are back; Dask may give one up that was killed while it started
_state: dict[str, Any] = {}


def basis() -> np.ndarray:
    """Return the true subspace."""
    return np.linalg.qr(np.random.default_rng(7).standard_normal((n, d)))[0].T


def part(number: int) -> np.ndarray:
    """Return one part: 50 % outliers, 30 % missing, noise 1e-2; two of five directions only, and part 1 all outliers."""
    rng = np.random.default_rng([11, number])
    W = np.zeros((ROWS, d))
    for c in (number % d, (number + 1) % d):
        W[:, c] = rng.standard_normal(ROWS)
    X = W @ basis()
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    X += rng.standard_normal(X.shape, np.float32) * (1e-2 / np.sqrt(n))
    outlier = np.ones(ROWS, bool) if number == 1 else rng.random(ROWS) < 0.5
    X[outlier] = rng.standard_normal((int(outlier.sum()), n), np.float32) / np.sqrt(n)
    X[rng.random(X.shape, np.float32) < 0.3] = np.nan
    return X


def write_part(job: tuple[str, int]) -> None:
    """Write one part."""
    import zarr

    path, number = job
    zarr.open_array(path, mode="r+")[number * ROWS : (number + 1) * ROWS] = part(number)


def prepare(run: Run) -> None:
    """Write the data, unless a former run has left it."""
    import zarr

    gigabytes = 0.2 if run.quick else run.options.size
    count = max(2, round(gigabytes * 1e9 / (ROWS * n * 8)))
    if run.options.folder is None:
        _state["temporary"] = tempfile.TemporaryDirectory(prefix="gasg21-cluster-")  # removed at the end
    folder = run.options.folder or Path(_state["temporary"].name)
    path = str(folder / f"{count}-parts.zarr")
    if not os.path.exists(path + ".whole"):
        free = shutil.disk_usage(folder).free
        if free < 1.5 * count * ROWS * n * 8:
            msg = f"{folder} has {free / 1e9:.0f} GB free; {count * ROWS * n * 8 / 1e9:.1f} GB of data need 1.5 times that"
            raise SystemExit(msg)
        zarr.create_array(path, shape=(count * ROWS, n), chunks=(ROWS, n), dtype="f8", compressors=None, overwrite=True)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            list(pool.imap_unordered(write_part, [(path, number) for number in range(count)]))
        Path(path + ".whole").touch()
    _state.update(path=path, gigabytes=count * ROWS * n * 8 / 1e9)
    _state["source"] = BlockSource.from_zarr(path)


# ---- the pure read


def read_only(job: tuple[BlockSource, int]) -> float:
    """Read one part, and look at some of it; return the CPU seconds."""
    source, i = job
    begun = time.process_time()
    np.isnan(source.read(i)[::97]).sum()
    return time.process_time() - begun


def read_seconds(workers: int) -> tuple[float, float]:
    """Return how long that many processes take to read all parts and nothing else: by the clock, and of CPU."""
    source = _state["source"]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        pool.map(read_only, [(source.only(0), 0)] * workers)  # imports
        begun = time.perf_counter()
        cpu = sum(pool.imap_unordered(read_only, [(source.only(i), i) for i in range(len(source))]))
        return time.perf_counter() - begun, cpu


# ---- the cluster


@contextmanager
def cluster_of(workers: int, allowed_failures: int = 3) -> Iterator[tuple[Any, Any]]:
    """Give a cluster of processes and its client."""
    import dask
    from distributed import Client, LocalCluster

    options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL, "memory_limit": MEMORY_LIMIT}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}),
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


@contextmanager
def in_background(action: Callable[[], None], every: Callable[[], float]) -> Iterator[None]:
    """Repeat an action until the end."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every()):
            with suppress(Exception):  # a worker may die while it is looked at
                action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def fitted(client: Any) -> tuple[Any, float]:
    """Return a fit of all data, and its seconds."""
    from gasg21.dask import GASG21 as OnDask

    begun = time.perf_counter()
    model = OnDask(d, random_state=0, client=client).fit(_state["source"])
    return model, time.perf_counter() - begun


def digest(model: Any) -> str:
    """Return a hash of what was fitted."""
    return hashlib.sha1(model.components_.tobytes() + repr(model.diagnostics_).encode()).hexdigest()[:12]


def large(run: Run) -> None:
    """Fit a Zarr array by workers of 1.5 GB: memory, passes, and a round beside the pure read."""
    import psutil

    workers, peak, traffic = run.options.workers, [0], psutil.net_io_counters(pernic=True)["lo"].bytes_recv
    before, cpu_read = read_seconds(workers)
    with cluster_of(workers) as (cluster, client):
        processes = [psutil.Process(worker.process.pid) for worker in cluster.workers.values()]

        def look() -> None:
            peak[0] = max(peak[0], *(process.memory_info().rss for process in processes))

        def cpu() -> float:
            return sum(sum(process.cpu_times()[:2]) for process in processes)

        with timed_passes(cpu) as passes, in_background(look, lambda: 0.1):
            model, seconds = fitted(client)
    traffic = psutil.net_io_counters(pernic=True)["lo"].bytes_recv - traffic
    after = read_seconds(workers)[0]
    read, rounds = (before + after) / 2, [each for each in passes if each.name == "reduce"]
    true = subspace_angle(model.components_, basis())
    _state["digest"] = digest(model)
    print(f"\n{_state['gigabytes']:.1f} GB, {len(_state['source'])} parts, {workers} workers of {MEMORY_LIMIT}")
    run.goals.value(
        f"fit {seconds:.1f} s, {model.status_}, bits {_state['digest']}, local traffic {traffic / 1e6:.0f} MB"
    )
    run.goals.value("passes: " + ", ".join(f"{p.name} {p.seconds:.1f} s (CPU {p.cpu:.1f})" for p in passes))
    run.goals.value(
        f"pure read before {before:.1f} s (CPU {cpu_read:.1f}) and after {after:.1f} s, {_state['gigabytes'] / read:.2f} GB/s"
    )
    run.goals.at_most("memory of a worker", peak[0] / 1e9, 0.5, " GB")
    run.goals.at_most("passes over the data", len(passes), 4)
    run.goals.at_most("slowest round / pure read", max(p.seconds for p in rounds) / read, 2.3)
    run.goals.value(f"the same in CPU time, for a busy machine: {max(p.cpu for p in rounds) / cpu_read:.2f}")
    ratio = model.estimated_angle_ / true
    run.goals.met(f"estimated / true angle {ratio:.2f} ({true:.2e})", 0.8 <= ratio <= 1.2, "0.8 to 1.2")


def forms(run: Run) -> None:
    """Compare the bits of one and two workers, threads and a single thread, on the first parts."""
    import dask.array as da

    source = BlockSource.from_zarr(_state["path"])
    first = [functools.partial(source.read, i) for i in range(min(4, len(source)))]
    few = BlockSource.from_blocks(first, n_features=n, dtype=float)
    found = {f"{jobs} threads": digest(GASG21(d, random_state=0, n_jobs=jobs).fit(few)) for jobs in (1, 2)}
    array = da.from_zarr(_state["path"])[: len(few) * ROWS]
    for workers in (1, 2):
        with cluster_of(workers) as (_, client):
            from gasg21.dask import GASG21 as OnDask

            for name, X in (("a source", few), ("a Dask array", array)):
                model = OnDask(d, random_state=0, client=client).fit(X)
                found[f"{workers} workers, {name}"] = digest(model)
    print(f"\nbits of {len(few)} parts: {found}")
    run.goals.at_most("different results", len(set(found.values())), 1)


def is_ready(nanny: Any, cluster: Any) -> bool:
    """Return whether a worker works. If one is killed while it starts, its nanny gives up, and no worker follows."""
    states = (nanny.status.name, getattr(nanny.process, "status", nanny.status).name)
    return states == ("running", "running") and nanny.worker_address in cluster.scheduler.workers


def kills(run: Run) -> None:
    """Kill workers by SIGKILL during a fit: 20 times in a full run."""
    wanted, killed, rng = 3 if run.quick else 20, [time.monotonic()], random.Random(1)  # the start, then each kill
    with cluster_of(run.options.workers, allowed_failures=50) as (cluster, client):
        model, alone = fitted(client)
        expected = digest(model)

        def kill() -> None:
            if len(killed) <= wanted:  # and all workers are back: a cluster whose nannies gave up has no workers
                ready = [each for each in cluster.workers.values() if is_ready(each, cluster)]
                if len(ready) == run.options.workers:
                    worker = rng.choice(ready)
                    os.kill(worker.process.pid, signal.SIGKILL)
                    killed.append(time.monotonic())

        results, seconds = [], 0.0
        with in_background(kill, lambda: rng.uniform(0.5, 2)):
            while len(killed) <= wanted and time.monotonic() - killed[-1] < _PATIENCE:
                model, took = fitted(client)
                results.append(digest(model))
                seconds += took
    print(f"\n{len(killed) - 1} SIGKILLs during {len(results)} fits of {_state['gigabytes']:.1f} GB")
    run.goals.value(f"{seconds / len(results):.1f} s a fit, {alone:.1f} s without kills")
    run.goals.at_least("SIGKILLs, each with all workers at work", len(killed) - 1, wanted)
    run.goals.at_most("fits with other bits", sum(result != expected for result in results), 0)


PARTS = parts(large, forms, kills)
