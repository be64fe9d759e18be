"""Work on the parts of a source by a Dask cluster.

Every task is a pure function of its arguments, which are all in the graph. So the scheduler may run any of them again,
anywhere: a worker that dies costs time and nothing else. Nothing is scattered, and no address of a worker is kept.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dask import delayed
from distributed import CancelledError, Client, KilledWorker, TimeoutError, as_completed, wait

from gasg21._dask.sources import DelayedSource
from gasg21._support.engines import FAN_IN, Add, Task, Tick
from gasg21.exceptions import InvalidInputError

_RESTARTS = 5  # of the scheduler or of all workers, during one pass over the data
_PATIENCE = 60.0  # seconds without a worker before a warning, or without a scheduler before an error


class DaskEngine:
    """Runs tasks on the workers of a cluster. The results have the bits of `SerialEngine`."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def map(self, task: Task, items: Sequence[int], tick: Tick | None = None) -> list[Any]:
        """Return the results of all items, in their order."""
        return self._results(task, lambda: _each(_nodes(task, items)), tick)

    def reduce(self, task: Task, items: Sequence[int], add: Add, tick: Tick | None = None) -> Any:
        """Return the sum of the results of all items."""
        return self._results(task, lambda: _tree(_nodes(task, items), add), tick)[0]

    def _results(self, task: Task, make: Callable[[], _Graph], tick: Tick | None) -> list[Any]:
        """Compute a graph. It is made again, with new keys, if the scheduler or all workers were restarted."""
        for _ in range(_RESTARTS):
            try:
                return self._computed(make(), tick)
            except CancelledError as error:
                self._await_scheduler(error)
            except KilledWorker as error:
                suspects = self.client.run_on_scheduler(_suspects, error.task)
                raise RuntimeError(_said_of_killed(task, suspects, error.allowed_failures + 1)) from error
        msg = f"the Dask cluster was restarted {_RESTARTS} times during one pass over the data"
        raise RuntimeError(msg)

    def _computed(self, graph: _Graph, tick: Tick | None) -> list[Any]:
        watched = [] if tick is None else list(graph.watched)
        futures = self.client.compute([*graph.wanted, *watched])
        wanted, ends = futures[: len(graph.wanted)], futures[len(graph.wanted) :]
        del futures
        if tick is not None:
            parts = {future.key: graph.watched[node] for future, node in zip(ends, watched, strict=True)}
            finished = as_completed(ends)
            del ends  # the workers may forget what was added up
            for future in finished:
                tick(parts[future.key])
        self._wait(wanted)
        try:
            return list(self.client.gather(wanted))
        except (InvalidInputError, CancelledError, KilledWorker):
            raise
        except Exception as error:
            raise self._with_blame(wanted, error) from error

    def _wait(self, futures: list[Any]) -> None:
        """Wait for results. Without any worker that may take for ever, so say it."""
        last_worker, warned = time.monotonic(), False
        while True:
            try:
                wait(futures, timeout=5)
            except TimeoutError:
                if self.client.scheduler_info()["workers"]:
                    last_worker = time.monotonic()
                elif not warned and time.monotonic() - last_worker > _PATIENCE:
                    warned = True
                    warnings.warn("the Dask scheduler has no workers; the fit waits for one", stacklevel=2)
            else:
                return

    def _await_scheduler(self, lost: CancelledError) -> None:
        limit = time.monotonic() + _PATIENCE
        while self.client.status == "connecting" and time.monotonic() < limit:
            time.sleep(0.1)
        if self.client.status != "running":
            msg = f"the connection to the Dask scheduler was lost ({self.client.status}); nothing was fitted"
            raise ConnectionError(msg) from lost

    def _with_blame(self, futures: list[Any], error: Exception) -> Exception:
        """Return the error, as one that names the task if it is a task of the user's graph."""
        failed = [future.key for future in futures if future.status == "error"]
        blamed = self.client.run_on_scheduler(_blamed, failed[0]) if failed else None
        if blamed is None or "gasg21-" in str(blamed):
            return error
        return InvalidInputError(f"task {blamed} of the Dask graph failed: {type(error).__name__}: {error}")


class _Graph(NamedTuple):
    wanted: list[Any]
    watched: dict[Any, int]  # nodes whose end is progress, and by how many parts


class _Opaque:
    """Arguments that Dask must not look into: it would search them for nested tasks."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def _nodes(task: Task, items: Sequence[int]) -> list[Any]:
    """Return one task per part. It reads the part, too, so that no part outlives it."""
    token = uuid.uuid4().hex
    state = delayed(_Opaque(task.state), name=f"gasg21-state-{token}", traverse=False)
    name, work, source = f"gasg21-{task.work.__name__.strip('_')}-{token}", delayed(_work, pure=False), task.source
    nodes = []
    for i in items:
        block = (source.delayed(i),) if isinstance(source, DelayedSource) else ()
        nodes.append(work(_Opaque(task.work, source.only(i), i), state, *block, dask_key_name=(name, i)))
    return nodes


def _each(nodes: list[Any]) -> _Graph:
    return _Graph(nodes, dict.fromkeys(nodes, 1))


def _tree(nodes: list[Any], add: Add) -> _Graph:
    """Return the sum of all nodes, added in groups as `TreeSum` does."""
    join, token, depth = delayed(_join, pure=False), uuid.uuid4().hex, 0
    level, watched = nodes, dict.fromkeys(nodes, 1)
    while len(level) > 1:
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        name = f"gasg21-add-{depth}-{token}"
        level = [join(_Opaque(add), *group, dask_key_name=(name, i)) for i, group in enumerate(groups)]
        if depth == 0:  # not the nodes themselves: watching them would keep all their results
            watched = {node: len(group) for node, group in zip(level, groups, strict=True)}
        depth += 1
    return _Graph(level, watched)


def _work(what: _Opaque, state: _Opaque, *block: Any) -> Any:
    work, source, i = what.values
    if block:
        source = source.holding(block[0])
    return work(source, i, *state.values)


def _join(add: _Opaque, *values: Any) -> Any:
    total = values[0]
    for value in values[1:]:
        total = add.values[0](total, value)
    return total


def _blamed(key: Any, dask_scheduler: Any) -> Any:
    task = dask_scheduler.tasks.get(key)
    return None if task is None or task.exception_blame is None else task.exception_blame.key


def _suspects(key: Any, dask_scheduler: Any) -> list[Any]:
    """Return the tasks of the kind of `key` that the workers had when they died, `key` among them."""

    def is_suspect(task: Any) -> bool:
        return task.exception_blame is task and isinstance(task.key, tuple) and task.key[0] == key[0]

    return sorted(task.key for task in dask_scheduler.tasks.values() if is_suspect(task)) or [key]


def _said_of_killed(task: Task, suspects: list[Any], times: int) -> str:
    def name(key: Any) -> str:
        is_part = isinstance(key, tuple) and "gasg21-" in str(key[0]) and "gasg21-add" not in str(key[0])
        return task.source.name(key[1]) if is_part else f"task {key}"

    one = "It" if len(suspects) == 1 else "One of them"
    return (
        f"{' or '.join(map(name, suspects))}: the worker died each of {times} times that it had this part. {one} may "
        "need more memory than a worker has: use smaller parts, or workers with more memory. If workers are killed for "
        "other reasons, raise distributed.scheduler.allowed-failures in Dask's configuration."
    )
