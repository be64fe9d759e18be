"""The engines: results in order, sums in a tree of one shape, whoever does the work."""

import threading
import time

import pytest

from gasg21._support.engines import FAN_IN, SerialEngine, Task, ThreadEngine, TreeSum


def level_by_level(values):
    """Return the sum as the tree is defined, as text that shows all brackets."""
    while len(values) > 1:
        groups = [values[i : i + FAN_IN] for i in range(0, len(values), FAN_IN)]
        values = [folded(group) for group in groups]
    return values[0]


def folded(group):
    total = group[0]
    for value in group[1:]:
        total = f"({total}+{value})"
    return total


def bracketed(a, b):
    return f"({a}+{b})"


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 63, 64, 65, 73, 520])
def test_the_running_sum_has_the_shape_of_the_tree(count):
    tree = TreeSum(bracketed)
    for i in range(count):
        tree.push(str(i))
    assert tree.total() == level_by_level([str(i) for i in range(count)])


def slow_first(source, index, state):
    time.sleep(0.02 if index % 3 == 0 else 0)
    return f"{source}{index}{state}"


@pytest.mark.parametrize("engine", [SerialEngine(), ThreadEngine(1), ThreadEngine(3)])
def test_all_engines_keep_the_order(engine):
    task, ticks = Task(slow_first, "a", "z"), []
    assert engine.map(task, range(20), ticks.append) == [f"a{i}z" for i in range(20)]
    assert engine.reduce(task, range(20), bracketed, ticks.append) == level_by_level([f"a{i}z" for i in range(20)])
    assert sum(ticks) == 40


class Held:
    """Counts results that were made and not yet added."""

    def __init__(self):
        self.now, self.most, self.lock = 0, 0, threading.Lock()

    def change(self, by):
        with self.lock:
            self.now += by
            self.most = max(self.most, self.now)


def make(source, index, state):
    source.change(1)
    return index


def test_threads_do_not_run_ahead():
    held = Held()

    def add(a, b):
        time.sleep(0.001)
        held.change(-1)
        return a + b

    assert ThreadEngine(2).reduce(Task(make, held, None), range(200), add) == sum(range(200))
    assert held.most <= 2 * 2 + FAN_IN  # those that wait, and one per level of the tree


def fail_at_five(source, index, state):
    source.append(index)
    if index == 5:
        msg = "part 5"
        raise ValueError(msg)
    time.sleep(0.005)
    return index


@pytest.mark.parametrize("engine", [SerialEngine(), ThreadEngine(2)])
def test_an_error_ends_the_work(engine):
    seen = []
    with pytest.raises(ValueError, match="part 5"):
        engine.map(Task(fail_at_five, seen, None), range(1000))
    assert len(seen) < 20
