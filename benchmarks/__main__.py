"""``python -m benchmarks``: lists, runs and reports the paper's experiments, and runs the other measurements."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.framework import measurement, records, report
from benchmarks.framework.catalogue import UnknownName, all_experiments, all_measurements, choose, name_of, places_of
from benchmarks.framework.experiment import Experiment
from benchmarks.framework.measurement import Measurement, data_directory
from benchmarks.framework.running import DONE, FAILED, NOT_RUN, Options, run_all
from benchmarks.framework.text import duration, grid

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = Path("build/benchmarks-quick")
USAGE = """\
python -m benchmarks list
       python -m benchmarks all [options]                        all experiments of the paper
       python -m benchmarks EXPERIMENT... [options]              some of them
       python -m benchmarks MEASUREMENT [PART...] [options]      another measurement; --help after its name says more
       python -m benchmarks report [--results DIR] [--output FILE]"""


def positive(text: str) -> int:
    """Return a number of at least one."""
    if not text.isdigit() or int(text) < 1:
        message = f"must be a whole number of at least 1, not {text}"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def run_parser() -> argparse.ArgumentParser:
    """Return the parser of ``list`` and of the experiments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", usage=USAGE, description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, or all; list or none: list them")
    parser.add_argument("--quick", action="store_true", help="small problems, at most two seeds: two minutes for all")
    parser.add_argument("--seeds", type=positive, help="number of seeds, instead of that of each experiment")
    parser.add_argument("--data", type=Path, help="directory with hopkins155 and faces.npz; default $GASG21_DATA")
    parser.add_argument("--results", type=Path, help=f"default benchmarks/results, with --quick {QUICK_RESULTS}")
    parser.add_argument("--again", action="store_true", help="run again even if there is a result of this source")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="start no experiment after that many seconds")
    return parser


def report_parser() -> argparse.ArgumentParser:
    """Return the parser of ``report``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=report.__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="default benchmarks/results")
    parser.add_argument("--output", type=Path, help="default report.html in the directory of the results")
    return parser


def list_all(known: list[Experiment], others: list[Measurement], directory: Path) -> None:
    """Print all benchmarks: what they show, how long they take, and which results are stored."""
    rows = []
    for experiment in known:
        record = records.load(experiment, directory)
        stored = f"{record['state']}, {records.age(record)}, {records.origin(record)}" if record else "none"
        time = duration(record["duration"]) if record and record["state"] == DONE else "-"
        data = ", ".join(experiment.DATA) or "none"
        places = f"{places_of(experiment)}  {', '.join(experiment.LABELS)}"
        rows.append([name_of(experiment), experiment.TITLE, time, places, data, stored])
    here = directory.relative_to(Path.cwd()) if directory.is_relative_to(Path.cwd()) else directory
    print(grid(["experiment", "shows", "time", "in the paper", "data", f"result in {here}"], rows))
    shown = [[name_of(module), module.__doc__.splitlines()[0].rstrip("."), module.TIME] for module in others]
    if shown:
        print("\n" + grid(["measurement", "shows", "time"], shown))
    print(
        "\npython -m benchmarks NAME runs one, and all runs all experiments; --quick takes small problems; --help says more."
    )


def run(arguments: list[str], known: list[Experiment], others: list[Measurement]) -> int:
    """List, or run experiments; return 1 if one failed, or if one that was named could not be run."""
    parser = run_parser()
    options = parser.parse_args(arguments)
    directory = options.results or (QUICK_RESULTS if options.quick else RESULTS)
    if options.names in ([], ["list"]):
        list_all(known, others, directory)
        return 0
    try:
        chosen = choose(options.names, known)
    except UnknownName as error:
        parser.error(f"{error}; measurements, which are run one at a time: {', '.join(map(name_of, others))}")
    data = data_directory(parser, options.data)
    outcomes = run_all(chosen, Options(directory, options.quick, options.seeds, data, options.again, options.budget))
    bad = {FAILED} if "all" in options.names else {FAILED, NOT_RUN}
    return int(any(outcome.state in bad for outcome in outcomes))


def main(arguments: list[str], known: list[Experiment] | None = None, others: list[Measurement] | None = None) -> int:
    """Run the command line and return the exit code; ``known`` and ``others`` replace the benchmarks in tests."""
    try:
        known = all_experiments() if known is None else known
        others = all_measurements() if others is None else others
    except ModuleNotFoundError as error:
        print(f"{error}: scripts/bootstrap installs what the benchmarks need", file=sys.stderr)
        return 1
    first = arguments[0].replace("_", "-") if arguments else ""
    if first == "report":
        options = report_parser().parse_args(arguments[1:])
        return report.write(known, options.results, options.output or options.results / "report.html")
    for module in others:
        if first == name_of(module):
            return measurement.run(first, module, arguments[1:])
    return run(arguments, known, others)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # the console may lack some characters
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command continues from here")
