"""Print the megabytes that a method needs for the largest sequence of Hopkins 155.

Usage: python -m benchmarks.experiments._memory DATA METHOD. Started by `hopkins_free` in a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.experiments import _hopkins as hopkins
from benchmarks.framework.data import motions


def status(field: str) -> float:
    """Return a field of /proc/self/status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) / 1000


def main() -> None:
    """Fit once to load everything that is loaded on first use, then measure."""
    data, name = sys.argv[1:]
    if not Path("/proc/self/clear_refs").exists():
        return
    sequences = motions(Path(data))
    largest = max(sequences, key=lambda sequence: sequence.data.size)
    smallest = min(sequences, key=lambda sequence: sequence.data.size)
    make = hopkins.methods([10])[name]
    hopkins.one(make, smallest.n_motions, smallest.data, smallest.labels, 0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = status("VmRSS")
    hopkins.one(make, largest.n_motions, largest.data, largest.labels, 0)
    print(f"{status('VmHWM') - before:.2f}")


if __name__ == "__main__":
    main()
