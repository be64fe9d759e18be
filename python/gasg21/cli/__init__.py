"""The command line: fit, score, complete, cluster and plot files; run the demo."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from gasg21 import __version__
from gasg21._support.embedding import get_cmake_dir, get_include, get_pkgconfig_dir
from gasg21.cli._errors import CommandError, UsageError, sentence

_FORMATS = "csv, tsv, npy, npz, mat, Parquet, HDF5 or Zarr"
_PATHS = ("data", "model", "output")
_CODES = "exit codes: 0 done, 1 bad file or data, 2 bad arguments, 3 not converged (with --strict), 130 interrupted"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments; by default the ones of the process.

    Returns
    -------
    code : int
        Exit code.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    directories = {"cmake_dir": get_cmake_dir, "include_dir": get_include, "pkgconfig_dir": get_pkgconfig_dir}
    requested = [directory for name, directory in directories.items() if getattr(options, name)]
    for directory in requested:
        print(directory())
    if options.command is None:
        if not requested:
            parser.print_help()
        return 0
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run a command. What goes wrong becomes one sentence."""
    try:
        _check_outputs(options)
        from gasg21.cli import _commands  # not before: --version and --help need no scikit-learn

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            code: int = getattr(_commands, options.command)(options)
    except CommandError as error:
        return _complain(str(error), 2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        _complain("interrupted")
        return 130
    except BrokenPipeError:  # the reader is gone
        sys.stdout = None
        return 0
    except (OSError, ValueError, ImportError, MemoryError) as error:
        return _complain(sentence(error))
    for said in dict.fromkeys(sentence(each.message) for each in caught if issubclass(each.category, UserWarning)):
        print(f"gasg21: warning: {said}", file=sys.stderr)
    return code


def _complain(text: str, code: int = 1) -> int:
    print(f"gasg21: error: {text}", file=sys.stderr)
    return code


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written, or that are read, before the work."""
    written = {"output", "model"} if options.command == "cluster" else {"output"}
    given = {name: Path(value) for name, value in vars(options).items() if name in _PATHS and value is not None}
    for name in written & set(given):
        folder = given[name].parent
        if not folder.is_dir():
            msg = f"{given[name]}: there is no directory {folder}"
            raise CommandError(msg)
        if given[name].resolve() in {path.resolve() for other, path in given.items() if other != name}:
            msg = f"{given[name]} is named twice; what is written needs a file of its own"
            raise UsageError(msg)


# ---- arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gasg21", description="Robust subspace recovery.", epilog=_CODES)
    parser.add_argument("--version", action="version", version=f"gasg21 {__version__}")
    parser.add_argument("--cmake-dir", action="store_true", help="print the directory for gasg21_DIR in CMake")
    parser.add_argument("--include-dir", action="store_true", help="print the directory of the C++ headers")
    parser.add_argument("--pkgconfig-dir", action="store_true", help="print the directory for PKG_CONFIG_PATH")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for add in (_add_fit, _add_score, _add_complete, _add_cluster, _add_plot, _add_info, _add_demo):
        add(commands)
    return parser


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, text: str
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=_CODES)
    return command


def _add_fit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fit = _add(commands, "fit", "find the subspace of the good samples, one sample per row")
    _add_data(fit)
    _add_fitting(fit)
    fit.add_argument(
        "-d", "--components", default="auto", metavar="D", help="dimension, share of variance or auto (default: auto)"
    )
    fit.add_argument(
        "--center",
        action=argparse.BooleanOptionalAction,
        help="fit an affine subspace; by default if the samples share an offset that dominates them",
    )
    fit.add_argument(
        "--contamination",
        type=_number(float, 0, 0.99),
        metavar="SHARE",
        help="share of outliers; by default from the data",
    )
    fit.add_argument("-o", "--output", metavar="MODEL", help="file for the model, such as model.gasg21")


def _add_score(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = _add(commands, "score", "say how well samples fit a model, and which are outliers")
    _add_data(score)
    score.add_argument("model", metavar="MODEL", help="file that fit or cluster has written")
    score.add_argument("-o", "--output", metavar="OUT", help="file for a row per sample: row, score, outlier, ...")


def _add_complete(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    complete = _add(commands, "complete", "fill in missing entries; observed ones are kept")
    _add_data(complete)
    complete.add_argument("model", metavar="MODEL", help="file that fit or cluster has written")
    complete.add_argument("-o", "--output", metavar="OUT", required=True, help=f"file for the data: {_FORMATS}")


def _add_cluster(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cluster = _add(commands, "cluster", "find the union of subspaces that the good samples lie on")
    _add_data(cluster)
    _add_fitting(cluster)
    cluster.add_argument("-k", "--clusters", default="auto", metavar="K", help="number of subspaces (default: auto)")
    cluster.add_argument(
        "-d", "--components", default="auto", metavar="D", help="dimension, or one per subspace: 4,4,3 (default: auto)"
    )
    cluster.add_argument("--center", action="store_true", help="fit affine subspaces")
    cluster.add_argument("--reject-outliers", action="store_true", help="label samples on no subspace -1")
    cluster.add_argument("-o", "--output", metavar="OUT", help="file for the labels, a row per sample")
    cluster.add_argument("--model", metavar="MODEL", help="file for the model")


def _add_plot(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plot = _add(commands, "plot", "draw a picture of a model")
    plot.add_argument("model", metavar="MODEL", help="file that fit or cluster has written")
    _add_data(plot, optional=True)
    plot.add_argument("-o", "--output", metavar="PICTURE", required=True, help="file for the picture: png, svg or pdf")
    plot.add_argument(
        "--kind",
        choices=("scree", "residuals", "outlier-map", "convergence", "sphere", "subspaces", "affinity"),
        help="one plot; by default all that suit the model",
    )


def _add_info(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    info = _add(commands, "info", "describe a model or a file with data")
    _add_data(info)


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo", help="recover a subspace from data with outliers and missing entries; print a table, draw a picture"
    )
    demo.add_argument("--output", default="gasg21-demo.png", help="file for the picture (default: %(default)s)")
    demo.add_argument(
        "--seed", type=_number(int, 0), default=0, help="seed of the synthetic data (default: %(default)s)"
    )


def _add_data(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add what says which numbers to read."""
    command.add_argument("data", metavar="DATA", nargs="?" if optional else None, help=f"file: {_FORMATS}")
    command.add_argument("--columns", metavar="LIST", help="columns to use, by name or number from 0: a,b or 0,3-7")
    command.add_argument("--drop", metavar="LIST", help="columns to leave out, by name or number from 0")
    command.add_argument(
        "--missing", metavar="LIST", help="what stands for a missing entry besides NaN and empty fields: NA,-999"
    )
    command.add_argument(
        "--delimiter", metavar="CHAR", help="what separates fields of text (default: the first lines decide)"
    )
    command.add_argument("--no-header", action="store_true", help="the first line of text holds numbers, not names")
    command.add_argument(
        "--key", metavar="NAME", help="array in an npz, mat, HDF5 or Zarr file (default: the only one)"
    )
    command.add_argument("--json", action="store_true", help="print JSON for machines")


def _number(kind: type, low: float, high: float = math.inf) -> Callable[[str], float]:
    """Return what makes a number of an argument, from `low` to `high`."""

    def parsed(text: str) -> float:
        value: float = kind(text)
        if not low <= value <= high:
            msg = f"{text} must be at least {low}" if high == math.inf else f"{text} must be in [{low}, {high}]"
            raise argparse.ArgumentTypeError(msg)
        return value

    parsed.__name__ = "number" if kind is float else "whole number"  # for the message about other text
    return parsed


def _add_fitting(command: argparse.ArgumentParser) -> None:
    """Add what both fits take."""
    command.add_argument(
        "--max-passes", type=_number(int, 1), default=20, help="largest number of passes (default: %(default)s)"
    )
    command.add_argument(
        "--tol", type=_number(float, 0), default=1e-6, help="angle to aim at, in radians (default: %(default)s)"
    )
    command.add_argument("--seed", type=_number(int, 0), default=0, help="seed (default: %(default)s)")
    command.add_argument("--jobs", type=int, help="threads (default: all cores)")
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("--verbose", action="store_true", help="print a line for each pass")
    command.add_argument("--strict", action="store_true", help="exit with 3 if the fit did not converge")
