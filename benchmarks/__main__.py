"""``python -m benchmarks``: lists, runs and reports the experiments of the paper."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.framework import records, report
from benchmarks.framework.catalogue import UnknownName, all_experiments, choose, name_of, places_of
from benchmarks.framework.experiment import Experiment
from benchmarks.framework.running import FAILED, NOT_RUN, Options, run_all
from benchmarks.framework.text import grid

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = Path("build/benchmarks-quick")
USAGE = """\
python -m benchmarks                   list the experiments
       python -m benchmarks NAME... [options]   run these, or all
       python -m benchmarks report [--results DIR] [--output FILE]"""


def positive(text: str) -> int:
    """Return a number of at least one."""
    if not text.isdigit() or int(text) < 1:
        message = f"must be a whole number of at least 1, not {text}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def run_parser() -> argparse.ArgumentParser:
    """Return the parser of all but ``report``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", usage=USAGE, description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run, or all; none: list them")
    parser.add_argument("--quick", action="store_true", help="small problems and at most two seeds: all in two minutes")
    parser.add_argument("--seeds", type=positive, help="number of seeds, instead of each experiment's own")
    parser.add_argument("--data", type=Path, help="directory with hopkins155 and the faces; default $GASG21_DATA")
    parser.add_argument("--results", type=Path, help=f"default benchmarks/results, with --quick {QUICK_RESULTS}")
    parser.add_argument("--again", action="store_true", help="also run what has a result of this source and settings")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no experiment after that many seconds")
    return parser


def report_parser() -> argparse.ArgumentParser:
    """Return the parser of ``report``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=report.__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="default benchmarks/results")
    parser.add_argument("--output", type=Path, help="default report.html in the directory of the results")
    return parser


def list_all(known: list[Experiment], directory: Path) -> None:
    """Print the experiments, what they need and what is there of them."""
    rows = []
    for experiment in known:
        record = records.load(experiment, directory)
        there = f"{record['state']}, {records.age(record)}, {records.origin(record)}" if record else "none"
        data = ", ".join(experiment.DATA) or "none"
        places = f"{places_of(experiment)}  {', '.join(experiment.LABELS)}"
        rows.append([name_of(experiment), places, data, there, experiment.TITLE])
    here = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    print(grid(["name", "in the paper", "data", f"result in {here}", "title"], rows))
    print("\npython -m benchmarks NAME... or all runs them, --quick on small problems; --help says more.")


def run(arguments: list[str], known: list[Experiment]) -> int:
    """List or run; 1 if an experiment failed or one that was named could not be run."""
    parser = run_parser()
    options = parser.parse_args(arguments)
    directory = options.results or (QUICK_RESULTS if options.quick else RESULTS)
    if not options.names:
        list_all(known, directory)
        return 0
    try:
        chosen = choose(options.names, known)
    except UnknownName as error:
        parser.error(str(error))
    data = options.data or (Path(os.environ["GASG21_DATA"]) if os.environ.get("GASG21_DATA") else None)
    if data and not data.is_dir():
        parser.error(f"the data directory {data} is not there")
    outcomes = run_all(chosen, Options(directory, options.quick, options.seeds, data, options.again, options.budget))
    bad = {FAILED} if "all" in options.names else {FAILED, NOT_RUN}
    return int(any(outcome.state in bad for outcome in outcomes))


def main(arguments: list[str], known: list[Experiment] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    try:
        known = all_experiments() if known is None else known
    except ModuleNotFoundError as error:
        print(f"{error}: scripts/bootstrap installs what the experiments need", file=sys.stderr)
        return 1
    if arguments[:1] == ["report"]:
        options = report_parser().parse_args(arguments[1:])
        return report.write(known, options.results, options.output or options.results / "report.html")
    return run(arguments, known)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a console may lack the signs
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")
