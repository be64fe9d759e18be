"""The images of the face experiments: faces of one person, the inliers, and photographs, the outliers.

The figure shows the data. The numbers show that faces are closer to a subspace of dimension 9 than photographs, so that a
method can separate them. The images are from the data sets of the paper, but the file may hold fewer than its ten persons.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.experiments import _faces as faces
from benchmarks.experiments._judge import judge, unchecked
from benchmarks.framework import data
from benchmarks.framework.experiment import Claim, Context, Table
from gasg21.baselines import PCA
from gasg21.metrics import relative_residual

LABELS = ("fig:face-inlier-outlier",)
TITLE = "Faces: inliers and outliers"
DATA: tuple[str, ...] = ("faces",)
SEEDS = 1
GRID = 6  # images per side
SETTINGS = {"shown": f"{GRID**2} of the 64 images of person 1, {GRID**2} of the first 64 photographs", "d": faces.D}


def run(context: Context) -> dict[str, Any]:
    """Return images to show, sizes, and residuals of faces and photographs in nine dimensions."""
    images = data.faces(context.data)
    chosen = np.linspace(0, 63, GRID**2).astype(int)
    return {
        "images": {"faces": faces.pack(images.faces[0][chosen]), "background": faces.pack(images.background[chosen])},
        "persons": len(images.faces),
        "faces each": images.faces.shape[1],
        "photographs": len(images.background),
        "pixels": images.faces.shape[2],
        "residual of faces": [own_residual(person) for person in images.faces],
        "residual of photographs": own_residual(images.background[: images.faces.shape[1]]),
    }


def own_residual(X: Any) -> float:
    """Return the relative residual of these images in their own best subspace of dimension 9."""
    model = PCA(faces.D)
    faces.fit(model, X)
    return relative_residual(X, faces.recovered(model, X))


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims about the data."""
    near, far = max(results["residual of faces"]), results["residual of photographs"]
    sizes = (results["faces each"], results["photographs"], results["pixels"])
    return [
        judge(
            "Each data set contains 64 face images of the same individual and 400 random images, grey, 30 x 30.",
            "64, 400, 900 pixels",
            "{}, {}, {} pixels".format(*sizes),
            sizes == (64, 400, 900),
        ),
        persons_claim(results["persons"]),
        judge(
            "Images of a face under different illumination fall on a low-dimensional subspace; random natural images do not: with "
            "d = 9 the residual of faces in their own best subspace is less than half of that of as many photographs.",
            "stated",
            f"at most {near:.3f} for the faces of a person, {far:.3f} for the photographs",
            near < far / 2,
            "Photographs are smooth, too, and have only 30 x 30 pixels.",
        ),
    ]


def persons_claim(count: int) -> Claim:
    """Judge the number of persons, if the file has them all."""
    text, paper = "There are 10 individual faces.", str(faces.PERSONS)
    if faces.left_out(count):
        return unchecked(text, paper, str(count), f"The file lacks persons {faces.left_out(count)}.")
    return judge(text, paper, str(count), count == faces.PERSONS, "The file has more.")


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """Draw both sets of images."""
    figure = Figure(figsize=(7, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    titles = {"faces": "(a) faces of one person: inliers", "background": "(b) photographs: outliers"}
    for ax, (kind, title) in zip(axes, titles.items(), strict=True):
        ax.set_title(title, fontsize=10)
        ax.axis("off")
        if "images" in results:
            ax.imshow(mosaic(faces.unpack(results["images"][kind])), cmap="gray", vmin=0, vmax=255)
        else:
            ax.text(0.5, 0.5, "not published: run it with the data", ha="center")
    return {"face_inlier_outlier": figure}


def mosaic(images: Any) -> Any:
    """Return the images in a square, separated by white lines."""
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)), constant_values=255)
    side = faces.SIDE + 2
    return framed.reshape(GRID, GRID, side, side).swapaxes(1, 2).reshape(GRID * side, GRID * side)


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the residuals of the images in nine dimensions."""
    rows: list[list[str | float | None]] = [
        [f"faces of person {i + 1}", round(value, 4)] for i, value in enumerate(results["residual of faces"])
    ]
    rows.append([f"{results['faces each']} photographs", round(results["residual of photographs"], 4)])
    return [Table("Relative residual of images in their own best subspace of dimension 9", ["", "ours"], rows)]
