"""Faces projected onto the subspaces that were learnt from faces among photographs.

One row per person, as in the paper: the image, then its projections by PCA, GASG21 in paper mode, GASG21 with defaults,
REAPER and OP. The paper does not say which image it shows: ours has the same number for every person. The fits are those of
the table of residuals, with one seed.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from benchmarks.experiments import _faces as faces
from benchmarks.experiments._judge import judge, unchecked
from benchmarks.framework import data
from benchmarks.framework.experiment import Claim, Context, Table
from gasg21.metrics import relative_residual

LABELS = ("fig:face-recovery",)
TITLE = "Faces recovered by PCA, GASG21, REAPER and OP"
DATA: tuple[str, ...] = ("faces",)
SEEDS = 1
SHOWN = 20  # number of the image of 64, lit from the side
ORDER = ("PCA", faces.PAPER_GASG21, faces.SCALED_GASG21, "REAPER", "OP")  # the paper's columns
SETTINGS = {**faces.SETTINGS, "image shown": f"number {SHOWN + 1} of 64"}


def run(context: Context) -> dict[str, Any]:
    """Return the images, and the residuals of each method for all faces and for the one shown."""
    images = data.faces(context.data)
    people = range(1 if context.quick else len(images.faces))
    shown = {"original": faces.pack(images.faces[: len(people), SHOWN])}
    residuals: dict[str, list[float]] = {}
    of_shown: dict[str, list[float]] = {}
    for name in ORDER:
        context.say(name)
        rows = []
        for p in people:
            model = faces.METHODS[name](context.seed(0))
            faces.fit(model, faces.with_background(images, p))
            found = faces.recovered(model, images.faces[p])
            residuals.setdefault(name, []).append(relative_residual(images.faces[p], found))
            of_shown.setdefault(name, []).append(relative_residual(images.faces[p][SHOWN], found[SHOWN]))
            rows.append(found[SHOWN])
        shown[name] = faces.pack(rows)
    return {"images": shown, "residuals": residuals, "residuals of shown": of_shown, "people": len(people)}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge whether the robust methods are better than PCA."""
    found, count = results["residuals"], results["people"]
    judged = []
    for name in ORDER[1:]:
        wins = sum(a < b for a, b in zip(found[name], found["PCA"], strict=True))
        theirs = faces.PAPER_RESIDUALS[faces.NAMES[name]]
        of_paper = sum(a < b for a, b in zip(theirs, faces.PAPER_RESIDUALS["PCA"], strict=True))
        judged.append(
            judge(
                f"The robust methods outperform the non-robust PCA: {name} has smaller residuals of the faces.",
                f"{of_paper} of 10 persons",
                f"{wins} of {count} persons",
                wins == count,
                why_worse(name, found),
            )
        )
    if faces.left_out(count):
        text = f"The recovered images of persons {faces.left_out(count)}."
        judged.append(unchecked(text, "figure (b)" if count >= 5 else "figure", "not run", faces.fewer(count)))
    return judged


def why_worse(name: str, found: dict[str, list[float]]) -> str:
    """Return the persons whose residuals are not smaller than with PCA, and the cause if it is known."""
    pairs = list(zip(found[name], found["PCA"], strict=True))
    worse = ", ".join(f"{p + 1} ({a:.3f}, PCA {b:.3f})" for p, (a, b) in enumerate(pairs) if a >= b)
    known = "After 5000 updates from a random start unscaled steps are still far from the minimum (see the table of residuals). "
    return f"{known if name == faces.PAPER_GASG21 else ''}The residual is not smaller for person {worse}."


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """Draw one row per person, with the columns in the order of the paper."""
    titles = ["original", "PCA", "GASG21,\npaper mode", "GASG21,\nscaled", "REAPER", "OP"]
    figure = Figure(figsize=(6.6, 1.15 * results["people"] + 0.5), layout="constrained")
    axes = figure.subplots(results["people"], len(titles), squeeze=False)
    brightest = [255] * results["people"]
    if "images" in results:
        brightest = faces.unpack(results["images"]["original"]).max(axis=(1, 2)).tolist()
    for column, (title, name) in enumerate(zip(titles, ("original", *ORDER), strict=True)):
        axes[0, column].set_title(title, fontsize=9)
        for row, ax in enumerate(axes[:, column]):
            ax.axis("off")
            if "images" in results:
                ax.imshow(faces.unpack(results["images"][name])[row], cmap="gray", vmin=0, vmax=brightest[row])
            else:  # the pictures are not published
                left = results["residuals of shown"].get(name)
                ax.text(0.5, 0.5, f"{left[row]:.3f}" if left else f"person {row + 1}", ha="center", fontsize=9)
    if "images" not in results:
        figure.set_label("Fig. 11 without its pictures, which are not published: the relative residual of each.")
    return {"face_recovery": figure}


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the residuals of the images shown."""
    columns = ["", *(f"person {p + 1}" for p in range(results["people"]))]
    rows: list[Any] = [[name, *(round(v, 3) for v in results["residuals of shown"][name])] for name in ORDER]
    return [Table("Relative residual of the images shown", columns, rows)]
