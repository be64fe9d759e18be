"""The command line: the demo, and where the C++ library is."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from gasg21 import __version__
from gasg21._support.embedding import get_cmake_dir, get_include, get_pkgconfig_dir


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="gasg21", description="Robust subspace recovery.")
    parser.add_argument("--version", action="version", version=f"gasg21 {__version__}")
    parser.add_argument("--cmake-dir", action="store_true", help="print the value for gasg21_DIR in CMake")
    parser.add_argument("--include-dir", action="store_true", help="print the directory of the C++ headers")
    parser.add_argument("--pkgconfig-dir", action="store_true", help="print the directory for PKG_CONFIG_PATH")
    commands = parser.add_subparsers(dest="command")
    demo = commands.add_parser("demo", help="recover a subspace from very dirty data, with a table and a picture")
    demo.add_argument("--output", default="gasg21-demo.png", help="the picture (default: %(default)s)")
    demo.add_argument("--seed", type=int, default=0, help="of the synthetic data (default: %(default)s)")
    options = parser.parse_args(arguments)
    places = {"cmake_dir": get_cmake_dir, "include_dir": get_include, "pkgconfig_dir": get_pkgconfig_dir}
    asked = [place for name, place in places.items() if getattr(options, name)]
    for place in asked:
        print(place())
    if options.command is None:
        if not asked:
            parser.print_help()
        return 0
    from gasg21.demo import run_demo

    run_demo(options.output, options.seed)
    return 0
