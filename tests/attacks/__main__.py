"""Run an attack: ``python -m attacks NAME [COUNT] [--seed N]``."""

import argparse
import importlib
import sys
import time

from attacks import clock

# The counts of a short run, and the seconds that each attack in it may take, and all of them. An attack ends early if
# they are used up.
EACH, ALL = 10, 50
SHORT = {
    "binding": 6000,
    "corruption": 2000,
    "kill": 8,
    "disk_full": 3,
    "threads": 6000,
    "fork": 12,
    "resume": 40,
    "interrupt": 12,
    "soak": 200_000,
}
# Those that the project promises.
FULL = {
    "binding": 200_000,
    "corruption": 100_000,
    "kill": 500,
    "disk_full": 20,
    "threads": 1_000_000,
    "fork": 200,
    "resume": 1000,
    "interrupt": 500,
    "soak": 300_000_000,
}


def main():
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__)
    parser.add_argument("name", choices=[*FULL, "short", "full"])
    parser.add_argument("count", type=int, nargs="?", help="default: that of a short run")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = {"short": SHORT, "full": FULL}.get(options.name)
    counts = counts or {options.name: options.count or SHORT.get(options.name, FULL[options.name])}
    failed, start = 0, time.perf_counter()
    for name, count in counts.items():
        began = time.perf_counter()
        if options.name == "short":
            clock.allow(min(EACH, ALL - (began - start)))
        ran, failures, note = importlib.import_module(f"attacks.{name}").attack(count, options.seed)
        seconds = time.perf_counter() - began
        print(f"{name}: {ran} ran, {len(failures)} failed, {seconds:.0f} s. {note}", flush=True)
        for each in failures[:10]:
            print("   ", each, flush=True)
        failed += len(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
