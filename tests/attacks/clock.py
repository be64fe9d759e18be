"""The time that a short run may take. An attack that has used its share ends early, which is no failure."""

import math
import time

_end = math.inf


def allow(seconds):
    """Let the attack that begins now take so long."""
    global _end
    _end = time.perf_counter() + seconds


def is_over():
    """Whether the time is used up."""
    return time.perf_counter() >= _end


def turns(count):
    """Yield 0, 1, ... below the count, until the time is used up; once at least."""
    for i in range(count):
        if i and is_over():
            return
        yield i
