"""The three small pictures of the README: a picture of a tutorial each.

Usage: python docs/examples/readme.py [FOLDER]
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

TUTORIALS = Path(__file__).parents[1] / "tutorials"
PICTURES = {  # name: tutorial, which of its figures, size in inches
    "table": ("01_outliers_in_a_table", 0, (4.6, 3.6)),
    "video": ("03_background_of_a_video", 1, (4.6, 3.6)),
    "faces": ("04_motions_and_faces", 1, (4.6, 3.6)),
}


def figures_of(tutorial: str) -> list[plt.Figure]:
    """Run a tutorial and return its figures."""
    plt.close("all")
    with mpl.rc_context({"font.size": 8}):
        runpy.run_path(str(TUTORIALS / f"{tutorial}.py"))
    return [plt.figure(number) for number in plt.get_fignums()]


def main() -> None:
    """Draw the pictures and save them."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    for name, (tutorial, which, size) in PICTURES.items():
        figure = figures_of(tutorial)[which]
        figure.set_size_inches(*size)
        figure.savefig(folder / f"readme_{name}.png", dpi=100)
        print(f"wrote {folder / f'readme_{name}.png'}")


if __name__ == "__main__":
    main()
