"""GASG21 and KGASG21 on a cluster of processes: the bits of a fit in one process, whatever happens to the workers."""

import contextlib
import functools
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

pytest.importorskip("distributed")

import dask
import dask.array as da
import psutil
from distributed import Client, LocalCluster

import gasg21
from gasg21.blocks import BlockSource
from gasg21.dask import GASG21, KGASG21
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import DataQualityWarning, InvalidInputError

ROWS, SAMPLED = 250, 1000
LIMIT = 90  # seconds for anything that could hang, on a busy machine


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process with one thread."""
    options = {"dashboard_address": ":0", "silence_logs": 60, "memory_limit": "900MB"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
            yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def X():
    made = make_low_rank(2900, 24, 3, outlier_fraction=0.4, observed_fraction=0.7, noise=1e-2, random_state=0)
    return made.data


def parts_of(X, rows=ROWS):
    return [X[i : i + rows] for i in range(0, len(X), rows)]


def source_of(X):
    return BlockSource.from_blocks(parts_of(X)).with_limits(n_sampled=SAMPLED)


def bits(model):
    return (
        model.components_.tobytes(),
        model.explained_variance_.tobytes(),
        model.estimated_angle_,
        model.status_,
        model.diagnostics_,
        [record["moved"] for record in model.history_],
    )


@pytest.fixture(scope="module")
def expected(X):
    return bits(gasg21.GASG21(3, random_state=0, n_jobs=1).fit(source_of(X)))


def fitted(X, client, **parameters):
    return GASG21(3, n_sampled=SAMPLED, client=client, random_state=0, **parameters).fit(X)


def within(function, seconds=LIMIT):
    """Return what a function returns or raises; fail if it takes too long."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(function).result(timeout=seconds)
    finally:
        pool.shutdown(wait=False)


# ---- the same bits


def as_dataframe(X, folder):
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    return dd.from_delayed([dask.delayed(part) for part in parts_of(frame)], meta=frame[:0])


def as_zarr(X, folder):
    zarr = pytest.importorskip("zarr", minversion="3")
    path = str(folder / "x.zarr")
    zarr.create_array(path, shape=X.shape, chunks=(ROWS, X.shape[1]), dtype=X.dtype)[:] = X
    return path


def as_npy(X, folder):
    np.save(folder / "x.npy", X)
    return str(folder / "x.npy")


FORMS = {
    "array": lambda X, _: da.from_array(X, chunks=(ROWS, -1)),
    "array in columns": lambda X, _: da.from_array(X, chunks=(ROWS, 7)),
    "array of unknown length": lambda X, _: da.concatenate(
        [da.from_delayed(dask.delayed(part), (np.nan, X.shape[1]), X.dtype) for part in parts_of(X)],
        allow_unknown_chunksizes=True,
    ),
    "dataframe": as_dataframe,
    "delayed": lambda X, _: [dask.delayed(part) for part in parts_of(X)],
    "arrays": lambda X, _: BlockSource.from_blocks(parts_of(X)),
    "zarr": lambda X, folder: BlockSource.from_zarr(as_zarr(X, folder), rows_per_part=ROWS),
    "npy": lambda X, folder: BlockSource.from_npy(as_npy(X, folder), rows_per_part=ROWS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_input_gives_the_same_bits(form, X, client, expected, tmp_path):
    assert bits(fitted(FORMS[form](X, tmp_path), client)) == expected


def test_one_worker_and_threads_give_the_same_bits(X, client, expected):
    one = next(iter(client.scheduler_info()["workers"]))
    with dask.annotate(workers=[one], allow_other_workers=False):
        assert bits(fitted(FORMS["array"](X, None), client)) == expected
    assert bits(gasg21.GASG21(3, random_state=0, n_jobs=2).fit(source_of(X))) == expected


def test_parameters_reach_the_workers(X, client):
    parameters = {"center": True, "working_components": 5, "contamination": 0.3, "on_bad": "skip"}
    X = X + 3
    X[700, 5] = np.inf
    found = fitted(da.from_array(X, chunks=(ROWS, -1)), client, **parameters)
    expected = gasg21.GASG21(3, random_state=0, n_jobs=1, **parameters).fit(source_of(X))
    assert bits(found) == bits(expected)
    assert found.diagnostics_["n_nonfinite"] == 1
    assert found.offset_ == expected.offset_
    np.testing.assert_array_equal(found.mean_, expected.mean_)


def test_a_mask(X, client, expected):
    mask = da.from_array(~np.isnan(X), chunks=(400, 10))
    filled = da.from_array(np.nan_to_num(X, nan=7.0), chunks=(ROWS, -1))
    model = GASG21(3, n_sampled=SAMPLED, client=client, random_state=0).fit(filled, mask=mask)
    assert bits(model) == expected
    with pytest.raises(InvalidInputError, match=r"mask has shape \(2900, 23\) and dtype bool; it must be a Dask array"):
        model.fit(filled, mask=mask[:, 1:])
    with pytest.raises(InvalidInputError, match="mask must be None for a list"):
        model.fit([dask.delayed(X)], mask=mask)


def test_progress_counts_parts(X, client, expected):
    from gasg21._dask.engine import DaskEngine
    from gasg21._support.engines import SerialEngine, Task

    task, seen = Task(part_sum, source_of(X), 2.0), []
    total = DaskEngine(client).reduce(task, range(12), np.add, seen.append)
    np.testing.assert_array_equal(total, SerialEngine().reduce(task, range(12), np.add))
    assert sum(seen) == 12
    assert len(DaskEngine(client).map(task, [3, 5], seen.append)) == 2
    assert sum(seen) == 14


def part_sum(source, i, factor):
    return factor * np.nansum(source.read(i), axis=0)


# ---- K subspaces


def test_kgasg21_gives_the_bits_of_a_fit_in_one_process(client):
    made = make_union_of_subspaces(2400, 20, 2, 3, outlier_fraction=0.1, noise=1e-2, random_state=0)
    data = made.data[np.argsort(made.labels, kind="stable")]
    source = BlockSource.from_blocks(parts_of(data, 300)).with_limits(n_sampled=SAMPLED)
    expected = gasg21.KGASG21(3, 2, random_state=0, n_jobs=1).fit(source)
    model = KGASG21(3, 2, n_sampled=SAMPLED, client=client, random_state=0).fit(da.from_array(data, chunks=(300, 8)))
    assert [each.tobytes() for each in model.subspaces_] == [each.tobytes() for each in expected.subspaces_]
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.estimated_angles_, expected.estimated_angles_)
    lazy = model.predict(da.from_array(data, chunks=(700, 20)))
    assert lazy.chunks == ((700, 700, 700, 300),)
    np.testing.assert_array_equal(lazy.compute(), expected.predict(data))
    assert model.transform(da.from_array(data, chunks=(700, 20))).compute().shape == (2400, 3)


# ---- lazy methods


@pytest.fixture(scope="module")
def model(X, client):
    return fitted(da.from_array(X, chunks=(ROWS, -1)), client)


@pytest.mark.parametrize(
    "method", ["transform", "predict", "score_samples", "decision_function", "complete", "distances"]
)
def test_methods_are_lazy(method, X, model, client):
    expected = getattr(model.to_memory(), method)(X)
    lazy = getattr(model, method)(da.from_array(X, chunks=(700, 10)))
    assert isinstance(lazy, da.Array)
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(getattr(model, method)(X), expected)


def test_lazy_methods_of_other_forms(X, model, client, tmp_path):
    expected = model.predict(X)
    for form in ("dataframe", "zarr"):
        np.testing.assert_array_equal(model.predict(FORMS[form](X, tmp_path)).compute(), expected)
    lazy = model.predict([dask.delayed(part) for part in [X[:0], *parts_of(X)]])
    np.testing.assert_array_equal(np.concatenate(dask.compute(*lazy)), expected)
    mask = ~np.isnan(X)
    lazy = model.predict(da.from_array(np.nan_to_num(X), chunks=(300, -1)), mask=da.from_array(mask, chunks=(200, -1)))
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(model.fit_predict(da.from_array(X, chunks=(ROWS, -1))).compute(), expected)


def test_what_would_load_all_data_is_refused(X, model):
    lazy = da.from_array(X, chunks=(ROWS, -1))
    for method in (model.score, model.partial_fit):
        with pytest.raises(InvalidInputError, match="takes arrays in memory; X is a Array"):
            method(lazy)


# ---- an estimator like any other


def test_parameters_clone_pickle_and_save(X, model, client, tmp_path):
    assert set(model.get_params()) == {*gasg21.GASG21().get_params(), "n_sampled", "client"}
    twin = clone(model)
    assert (twin.client, twin.n_sampled, twin.n_components) == (client, SAMPLED, 3)
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    assert bits(again) == bits(model)
    model.save(tmp_path / "m.gasg21")
    loaded = gasg21.load(tmp_path / "m.gasg21")
    assert type(loaded) is gasg21.GASG21
    assert bits(loaded) == bits(model)
    assert isinstance(gasg21.GASG21(3).fit(X[:500]).save(tmp_path / "n.gasg21"), type(None))
    assert type(gasg21.load(tmp_path / "n.gasg21")) is gasg21.GASG21


def test_a_client_is_needed(X, monkeypatch):
    import distributed

    def none():
        msg = "No global client found and no address provided"
        raise ValueError(msg)

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(InvalidInputError, match="client=None needs a Dask client in this process"):
        GASG21(3).fit(da.from_array(X))


# ---- faults: an error that names the part, and never a hang


def raised_by(function):
    with pytest.raises(InvalidInputError) as caught:
        within(function)
    return str(caught.value)


def test_bad_input_is_refused(X, client):
    fit = functools.partial(fitted, client=client)
    assert "X is a ndarray; it must be a Dask array or dataframe" in raised_by(lambda: fit(X))
    assert "shape (2900,)" in raised_by(lambda: fit(da.from_array(X[:, 0])))
    assert "must hold numbers" in raised_by(lambda: fit(da.from_array(X.astype(str))))
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0], "city": ["x", "y"]})
    assert "column 'city' of the dataframe has dtype" in raised_by(lambda: fit(dd.from_pandas(frame, npartitions=1)))


def test_faults_of_a_part_name_it(X, client, tmp_path):
    fit = functools.partial(fitted, client=client)
    parts = parts_of(X)
    wide = [*parts[:3], parts[3][:, 1:], *parts[4:]]
    said = raised_by(lambda: fit([dask.delayed(part) for part in wide]))
    assert "delayed object 3 has 23 columns; it must have 24" in said
    said = raised_by(lambda: fit(BlockSource.from_blocks(wide, n_features=24, dtype=float)))
    assert "part 3: it has 23 features; it must have 24" in said
    infinite = X.copy()
    infinite[4 * ROWS + 7, 2] = np.inf
    said = raised_by(lambda: fit(da.from_array(infinite, chunks=(ROWS, -1))))
    assert "chunk 4: Input X contains infinity at row 7, column 2" in said
    broken = da.from_array(X, chunks=(ROWS, -1)).map_blocks(fails_in_one, dtype=float)
    said = raised_by(lambda: fit(broken))
    assert "of the Dask graph failed: OSError: the disk is gone" in said
    assert "fails_in_one" in said
    source = BlockSource.from_npy(as_npy(X, tmp_path), rows_per_part=ROWS)
    os.truncate(tmp_path / "x.npy", 128 + 24 * 8 * 6 * ROWS)
    assert "x.npy: the file is truncated after 1500 of 2900 rows" in raised_by(lambda: fit(source))


def fails_in_one(block, block_info=None):
    if block_info and block_info[0]["chunk-location"] == (5, 0):
        msg = "the disk is gone"
        raise OSError(msg)
    return block


def test_a_chunk_that_goes_missing_is_named(X, client, tmp_path):
    path = as_zarr(X, tmp_path)
    source = BlockSource.from_zarr(path, rows_per_part=ROWS)
    os.remove(os.path.join(path, "c/6/0"))
    said = raised_by(lambda: fitted(source, client))
    assert "chunk 6.0 of" in said
    assert "(rows 1500 to 1749) is missing" in said


def test_zeros_that_may_be_missing_chunks_warn(X, client):
    X = X.copy()
    X[500:750] = 0
    with pytest.warns(DataQualityWarning, match=r"250 samples hold nothing but zeros.*BlockSource.from_zarr"):
        fitted(da.from_array(X, chunks=(ROWS, -1)), client)


class Slow:
    """A part that takes a while, so that something can happen to the worker."""

    def __init__(self, part, seconds):
        self.part, self.seconds = part, seconds

    def __call__(self):
        time.sleep(self.seconds)
        return self.part


def slow_source(X, seconds):
    parts = parts_of(X)
    source = BlockSource.from_blocks([Slow(part, seconds) for part in parts], n_features=X.shape[1], dtype=X.dtype)
    source.lengths = [len(part) for part in parts]
    return source


def in_background(action):
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def kill_one(cluster):
    """Kill a worker that works. One that starts would take its nanny with it."""
    known, nannies = cluster.scheduler.workers, cluster.workers.values()
    running = [each for each in nannies if each.status.name == "running" and each.worker_address in known]
    running = [each for each in running if each.process.status.name == "running"]
    psutil.Process(running[0].process.pid).kill()  # SIGKILL


def test_killed_workers_change_no_bit(X, cluster, client, expected):
    killed = []

    def kill():
        while len(killed) < 2:
            time.sleep(0.5)
            with contextlib.suppress(LookupError, AttributeError, psutil.Error):  # none works at the moment
                kill_one(cluster)
                killed.append(time.monotonic())

    killer = in_background(kill)
    assert bits(within(lambda: fitted(slow_source(X, 0.15), client))) == expected
    ended = time.monotonic()
    killer.join()
    assert [each < ended for each in killed] == [True, True]


class Hungry:
    """A part that needs more memory than a worker has."""

    def __call__(self):
        hoard = []
        for _ in range(60):
            hoard.append(np.ones(2**22))  # 32 MiB
            time.sleep(0.05)
        return np.ones((ROWS, 24))


def test_a_part_that_no_worker_can_hold_is_named(X, cluster, client):
    source = BlockSource.from_blocks([*parts_of(X), Hungry()], n_features=24, dtype=float)
    source.lengths[-1] = ROWS
    before, cluster.scheduler.allowed_failures = cluster.scheduler.allowed_failures, 0
    try:
        with pytest.raises(RuntimeError, match=r"part 12: the worker died each of 1 times .* smaller parts"):
            within(lambda: fitted(source, client))
    finally:
        cluster.scheduler.allowed_failures = before


# ---- the scheduler


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def started(module, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "distributed.cli." + module, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_scheduler(port):
    return started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")


def start_worker(port):
    address = f"tcp://127.0.0.1:{port}"
    return started("dask_worker", address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--death-timeout", "60")


@pytest.fixture
def processes():
    """Processes that the test replaces, and that must not outlive it."""
    held = []
    yield held
    end(held)


def end(processes):
    for process in processes:
        process.kill()
        process.wait()


def test_a_scheduler_that_is_restarted_or_lost(X, expected, processes):
    """A new scheduler at the same address goes on; without one the fit fails instead of waiting for ever."""
    port = free_port()

    def restart():
        end(processes)
        processes[:] = [start_scheduler(port), start_worker(port)]

    restart()
    with Client(f"tcp://127.0.0.1:{port}", timeout=60, set_as_default=False) as client:
        client.wait_for_workers(1, timeout=60)
        action = in_background(lambda: (time.sleep(1), restart()))
        assert bits(within(lambda: fitted(slow_source(X, 0.15), client))) == expected
        action.join()
    with Client(f"tcp://127.0.0.1:{port}", timeout=3, set_as_default=False) as client:
        action = in_background(lambda: (time.sleep(0.5), end(processes)))
        with pytest.raises(ConnectionError, match="the connection to the Dask scheduler was lost"):
            within(lambda: fitted(slow_source(X, 0.15), client))
        action.join()
