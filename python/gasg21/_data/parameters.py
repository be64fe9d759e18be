"""How many threads to use: `n_jobs` as in scikit-learn, and what is fair where nobody says."""

from __future__ import annotations

import functools
import numbers
import os
import threading
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend

from gasg21.exceptions import InvalidInputError

_MOST = 4096  # beyond that a number of threads is a slip
_cores_of_machine = functools.cache(joblib.cpu_count)  # also knows of the limits of a container; it is slow


def check_n_jobs(n_jobs: Any) -> int | None:
    """Refuse what is neither None nor an integer other than 0."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool | np.bool_) or n_jobs == 0:
        msg = f"n_jobs={n_jobs!r} must be None, a positive number of threads, or -1 for all cores (-2: all but one)"
        raise InvalidInputError(msg)
    return int(n_jobs)


def n_threads(n_jobs: Any = None) -> int:
    """Return the threads that `n_jobs` asks for; in a worker of joblib never more than its share of the cores."""
    wanted = check_n_jobs(n_jobs)
    if wanted == 1:
        return 1
    backend, configured = get_active_backend()
    in_worker = (backend.nesting_level or 0) > 0
    if wanted is None:
        wanted = check_n_jobs(configured)
    if wanted is None:
        return _share(in_worker)
    # Not joblib.effective_n_jobs: it says 1, with a warning, where processes cannot be started but threads can.
    threads = min(max(1, _cores() + 1 + wanted if wanted < 0 else wanted), _MOST)
    return min(threads, _share(in_worker)) if in_worker else threads


def _share(in_worker: bool) -> int:
    """Return the threads that disturb nobody: OMP_NUM_THREADS, which joblib sets in its processes, or all cores."""
    if in_worker and threading.current_thread() is not threading.main_thread():
        return 1  # the other cores have such a thread each
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if limit.isdigit():
        return min(_cores(), max(1, int(limit)))
    return 1 if in_worker else _cores()


def _cores() -> int:
    """Return the cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, int(_cores_of_machine()))
