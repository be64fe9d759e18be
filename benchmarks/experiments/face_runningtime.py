"""CPU times of the fits to faces among photographs.

The fits of the table of residuals: CPU seconds of one fit, one BLAS thread for all methods, the methods alternate, the least
of several runs. The paper measured on a laptop of 2014, with GASG21 in C++ and the others in Matlab, so only ratios can be
compared. Ours are GASG21 in C++ and the others in NumPy and LAPACK.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiments import _faces as faces
from benchmarks.experiments._judge import judge, no_figures, unchecked
from benchmarks.framework import data
from benchmarks.framework.experiment import Claim, Context, Table
from gasg21.metrics import relative_residual

LABELS = ("tbl:face-runningtime",)
TITLE = "Faces: running time of GASG21, REAPER, OP and PCA"
DATA: tuple[str, ...] = ("faces",)
SEEDS = 3
SETTINGS = {
    **faces.SETTINGS,
    "time": "CPU seconds of a fit, one BLAS thread, least of as many runs as seeds, methods alternate",
}


def run(context: Context) -> dict[str, Any]:
    """Return seconds and residuals for each person and method."""
    images = data.faces(context.data)
    people = range(1 if context.quick else len(images.faces))
    seconds = {name: [np.inf] * len(people) for name in faces.METHODS}
    residuals: dict[str, list[list[float]]] = {name: [[] for _ in people] for name in faces.METHODS}
    for p in people:
        context.say(f"face {p + 1}")
        X = faces.with_background(images, p)
        for s in range(context.seeds):
            for name, make in faces.METHODS.items():
                model = make(context.seed(s))
                seconds[name][p] = min(seconds[name][p], faces.fit(model, X))
                residuals[name][p].append(relative_residual(images.faces[p], faces.recovered(model, images.faces[p])))
    reached = {name: [float(np.mean(each)) for each in rows] for name, rows in residuals.items()}
    return {"seconds": seconds, "residuals": reached, "people": len(people), "seeds": context.seeds}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the ratios of the times."""
    seconds = {name: float(np.mean(row)) for name, row in results["seconds"].items()}
    residual = {name: float(np.mean(row)) for name, row in results["residuals"].items()}
    count = results["people"]
    theirs = {name: float(np.mean(row[:count])) for name, row in faces.PAPER_SECONDS.items()}
    judged = []
    for name in (faces.PAPER_GASG21, faces.SCALED_GASG21):
        mode = name.removeprefix("GASG21, ")
        accuracy = (
            f"Residuals reached: GASG21 {residual[name]:.3f}, REAPER {residual['REAPER']:.3f}, OP {residual['OP']:.3f}."
        )
        for other, text, wanted in (
            ("REAPER", "GASG21 only takes around 4 seconds, however REAPER costs around 25 seconds", 25 / 4),
            ("OP", "The table: OP takes nine times as long as GASG21", 9.0),
        ):
            ratio = seconds[other] / seconds[name]
            judged.append(
                judge(
                    f"{text} ({mode}): {wanted:.3g} times.",
                    f"{theirs['GASG21']:.2f} s and {theirs[other]:.2f} s, {theirs[other] / theirs['GASG21']:.1f} times",
                    f"{seconds[name]:.3f} s and {seconds[other]:.3f} s, {ratio:.1f} times",
                    ratio >= wanted,
                    f"Relative to GASG21 our {other} is much faster than that of the paper.",
                    accuracy,
                )
            )
    fastest = min(seconds, key=lambda name: seconds[name])
    judged.append(
        judge(
            "The table: PCA, which is not robust, is the fastest.",
            f"{theirs['PCA']:.2f} s, {theirs['GASG21'] / theirs['PCA']:.0f} times faster than GASG21",
            f"{seconds['PCA']:.3f} s, {seconds[faces.PAPER_GASG21] / seconds['PCA']:.1f} times faster than GASG21 in paper mode",
            fastest == "PCA",
        )
    )
    return judged + unchecked_claims(results)


def unchecked_claims(results: dict[str, Any]) -> list[Claim]:
    """Return the claims that can't be checked: seconds, and the persons that were not run."""
    ours, theirs, count = results["seconds"][faces.PAPER_GASG21], faces.PAPER_SECONDS["GASG21"], results["people"]
    made = [
        unchecked(
            "For all the experiments GASG21 only takes around 4 seconds (the absolute time).",
            f"{min(theirs):.2f} to {max(theirs):.2f} s",
            f"{min(ours):.3f} to {max(ours):.3f} s, paper mode",
            "Another machine and another implementation.",
        )
    ]
    if faces.left_out(count):
        rest = theirs[count:]
        made.append(
            unchecked(
                f"The seconds of face {faces.left_out(count)}."
                if len(rest) == 1
                else f"The seconds of faces {faces.left_out(count)}.",
                f"GASG21 {min(rest):.2f} to {max(rest):.2f} s",
                "not run",
                faces.fewer(count),
            )
        )
    return made


figures = no_figures


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the table of the paper with our values, and the accuracy reached."""
    columns, rows = faces.comparison(faces.PAPER_SECONDS, results["seconds"], 3)
    reached = [
        [name, round(float(np.mean(results["seconds"][name])), 3), round(float(np.mean(results["residuals"][name])), 4)]
        for name in faces.METHODS
    ]
    return [
        Table(
            "Seconds of a fit",
            columns,
            rows,
            f"Ours: CPU seconds, least of {results['seeds']}. {faces.fewer(results['people'])}".strip(),
        ),
        Table("Residuals reached in that time, mean over the persons", ["", "CPU seconds", "residual"], reached),
    ]
