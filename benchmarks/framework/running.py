"""Run experiments one after the other, store their results, and continue after a failure."""

from __future__ import annotations

import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from benchmarks.framework import records
from benchmarks.framework.catalogue import name_of, places_of
from benchmarks.framework.data import MissingData
from benchmarks.framework.experiment import Context, Experiment
from benchmarks.framework.text import claim_text, counts_text, duration, grid, table_text

DONE, FAILED, NOT_RUN = "done", "failed", "not run"


@dataclass(frozen=True)
class Options:
    """Options of a run."""

    results: Path
    quick: bool = False
    seeds: int | None = None
    data: Path | None = None
    again: bool = False
    budget: float | None = None  # seconds after which no further experiment starts


@dataclass(frozen=True)
class Outcome:
    """How one experiment ended: done, kept (its result was stored), failed or not run."""

    name: str
    state: str
    remark: str
    seconds: float = 0.0


def run_all(chosen: list[Experiment], options: Options) -> list[Outcome]:
    """Run the experiments one after the other and print the progress."""
    begin = time.perf_counter()
    outcomes = []
    for number, experiment in enumerate(chosen, 1):
        spent = time.perf_counter() - begin
        title = f"{name_of(experiment)} ({places_of(experiment)})"
        print(f"\n== {number} of {len(chosen)}: {title}, {duration(spent)} so far", flush=True)
        outcomes.append(run_one(experiment, options, spent))
        print(f"{outcomes[-1].state}: {outcomes[-1].remark}", flush=True)
    if len(chosen) > 1:
        lines = [[entry.name, entry.state, duration(entry.seconds), shorten(entry.remark, 80)] for entry in outcomes]
        print(f"\n== all {len(chosen)}, {duration(time.perf_counter() - begin)}")
        print(grid(["experiment", "state", "time", ""], lines), flush=True)
    return outcomes


def run_one(experiment: Experiment, options: Options, spent: float) -> Outcome:
    """Run one experiment unless its result is stored; store the result, print claims and tables."""
    name = name_of(experiment)
    wanted = records.settings(experiment, options.quick, options.seeds)
    stored = records.load(experiment, options.results)
    if stored and not options.again and is_answer(stored, wanted):
        return Outcome(name, "kept", f"its result is stored ({records.age(stored)}); --again runs it again")
    if options.budget is not None and spent >= options.budget:
        return Outcome(name, NOT_RUN, f"the budget of {options.budget:g} seconds is spent")
    record = {"name": name, **records.commit(), **wanted, **measured(experiment, options, wanted["seeds"])}
    # A run without its data must not replace a result.
    if record["state"] != NOT_RUN or not stored or stored["state"] != DONE:
        path = records.save(experiment, options.results, record)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")
    if record["state"] != DONE:
        return Outcome(name, record["state"], record["reason"], record["duration"])
    try:
        return Outcome(name, DONE, present(experiment, record["results"]), record["duration"])
    except Exception as error:  # the result is stored; its claims can be corrected later
        traceback.print_exc(file=sys.stdout)
        return Outcome(name, FAILED, f"its claims or tables: {summary(error)}", record["duration"])


def is_answer(stored: records.Record, wanted: records.Record) -> bool:
    """Return whether a stored record is a finished run with the same source, settings and machine."""
    return stored["state"] == DONE and all(stored.get(key) == value for key, value in wanted.items())


def measured(experiment: Experiment, options: Options, seeds: int) -> records.Record:
    """Run it with one thread for all methods; return state, results or reason, date and duration."""
    begin = time.perf_counter()

    def say(line: str) -> None:
        print(f"   {duration(time.perf_counter() - begin):>7}  {line}", flush=True)

    try:
        with threadpool_limits(1), parallel_config(n_jobs=1):  # of BLAS, and of gasg21
            results = experiment.run(Context(options.quick, seeds, options.data, say))
        outcome = {"state": DONE, "results": records.plain(results)}
    except MissingData as missing:
        outcome = {"state": NOT_RUN, "reason": str(missing)}
    except Exception as error:  # the other experiments go on
        traceback.print_exc(file=sys.stdout)
        outcome = {"state": FAILED, "reason": summary(error), "traceback": traceback.format_exc()}
    seconds = round(time.perf_counter() - begin, 2)
    return {"date": records.now().isoformat(), "duration": seconds, "threads": 1, **outcome}


def summary(error: Exception) -> str:
    """Return an error as one line."""
    return traceback.format_exception_only(error)[-1].strip()


def present(experiment: Experiment, results: dict) -> str:
    """Print tables and claims; return the number of claims with each verdict, in words."""
    claims = experiment.claims(results)
    for table in experiment.tables(results):
        print("\n" + table_text(table))
    for claim in claims:
        print("\n" + claim_text(claim))
    print()
    return counts_text(claims)
