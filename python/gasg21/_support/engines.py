"""Who does the work on the parts of a data set in blocks.

An engine applies a `Task` to parts and adds up the results. The sums form a tree whose shape depends on the number of
parts alone, so all engines give the same bits. A further engine needs the two methods of `SerialEngine`, and must
add as `TreeSum` does: groups of `FAN_IN` neighbours from left to right, then groups of these, and so on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

FAN_IN = 8  # results that are added by one node of the tree
Tick = Callable[[int], None]  # takes the number of parts that were finished since the last call
Add = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Task:
    """Work on one part: a pure function of the source, the number of the part, and a state that all parts share.

    ``work`` is a function of a module, so a task can be pickled if its source and state can. Doing it again changes
    nothing.
    """

    work: Callable[[Any, int, Any], Any]
    source: Any
    state: Any

    def __call__(self, index: int) -> Any:
        """Do the work on one part."""
        return self.work(self.source, index, self.state)


class Engine(Protocol):
    """Interface of an engine, as the drivers of `gasg21._algorithms` use it."""

    def map(self, task: Task, items: Sequence[int], tick: Tick | None = None) -> list[Any]:
        """Return the results of all items, in their order."""

    def reduce(self, task: Task, items: Sequence[int], add: Add, tick: Tick | None = None) -> Any:
        """Return the sum of the results of all items, of which there must be at least one."""


class TreeSum:
    """Adds results as they come, in the order of the items, and keeps one partial sum per level of the tree."""

    def __init__(self, add: Add) -> None:
        self._add = add
        self._levels: list[tuple[Any, int]] = []  # per level: the sum of the open group, and how many it has

    def push(self, value: Any, level: int = 0) -> None:
        """Take the next result."""
        if level == len(self._levels):
            self._levels.append((None, 0))
        total, count = self._levels[level]
        total, count = (value if count == 0 else self._add(total, value)), count + 1
        if count == FAN_IN:
            self._levels[level] = (None, 0)
            self.push(total, level + 1)
        else:
            self._levels[level] = (total, count)

    def total(self) -> Any:
        """Return the sum of all results."""
        value, count = None, 0
        for total, here in self._levels:
            if count == 0:
                value, count = total, here
            elif here > 0:
                value = self._add(total, value)
        return value


class SerialEngine:
    """One part after the other, in this thread."""

    def map(self, task: Task, items: Sequence[int], tick: Tick | None = None) -> list[Any]:
        """Return the results of all items, in their order."""
        return list(self.each(task, items, tick))

    def reduce(self, task: Task, items: Sequence[int], add: Add, tick: Tick | None = None) -> Any:
        """Return the sum of the results of all items."""
        return _sum(self.each(task, items, tick), add)

    def each(self, task: Task, items: Sequence[int], tick: Tick | None = None) -> Iterator[Any]:
        """Yield the results of all items, in their order."""
        for item in items:
            yield task(item)
            if tick is not None:
                tick(1)


class ThreadEngine(SerialEngine):
    """Several threads, each of which reads a part and works on it, so that reading and work overlap."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads

    def each(self, task: Task, items: Sequence[int], tick: Tick | None = None) -> Iterator[Any]:
        """Yield results in order. At most 2 n_threads of them wait, so memory stays bounded."""
        waiting: deque[Future[Any]] = deque()
        todo = iter(items)
        with ThreadPoolExecutor(self.n_threads, "gasg21-blocks") as pool:
            try:
                for item in todo:
                    waiting.append(pool.submit(task, item))
                    if len(waiting) == 2 * self.n_threads:
                        break
                while waiting:
                    result = waiting.popleft().result()
                    for item in todo:
                        waiting.append(pool.submit(task, item))
                        break
                    yield result
                    if tick is not None:
                        tick(1)
            finally:
                for future in waiting:  # after an error or Ctrl-C
                    future.cancel()


def _sum(results: Iterable[Any], add: Add) -> Any:
    tree = TreeSum(add)
    for result in results:
        tree.push(result)
    return tree.total()
