"""The command line: run the demo, print the directories of the C++ library."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gasg21 import __version__
from gasg21._support.embedding import get_cmake_dir, get_include, get_pkgconfig_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    code : int
        Exit code.
    """
    parser = argparse.ArgumentParser(prog="gasg21", description="Robust subspace recovery.")
    parser.add_argument("--version", action="version", version=f"gasg21 {__version__}")
    parser.add_argument("--cmake-dir", action="store_true", help="print the directory for gasg21_DIR in CMake")
    parser.add_argument("--include-dir", action="store_true", help="print the directory of the C++ headers")
    parser.add_argument("--pkgconfig-dir", action="store_true", help="print the directory for PKG_CONFIG_PATH")
    commands = parser.add_subparsers(dest="command")
    demo = commands.add_parser(
        "demo", help="recover a subspace from data with outliers and missing entries; print a table, draw a picture"
    )
    demo.add_argument("--output", default="gasg21-demo.png", help="file for the picture (default: %(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the synthetic data (default: %(default)s)")
    options = parser.parse_args(arguments)
    directories = {"cmake_dir": get_cmake_dir, "include_dir": get_include, "pkgconfig_dir": get_pkgconfig_dir}
    requested = [directory for name, directory in directories.items() if getattr(options, name)]
    for directory in requested:
        print(directory())
    if options.command is None:
        if not requested:
            parser.print_help()
        return 0
    from gasg21.demo import run_demo

    run_demo(options.output, options.seed)
    return 0
