"""What the face experiments share: the paper's tables and the methods."""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gasg21 import GASG21
from gasg21.baselines import PCA, REAPER, OutlierPursuit
from gasg21.exceptions import ConvergenceWarning

SIDE, D, N_BACKGROUND = 30, 9, 400

PAPER_RESIDUALS = {  # Face1 to Face10
    "GASG21": [0.1490, 0.1671, 0.1564, 0.1663, 0.1511, 0.1676, 0.1615, 0.1745, 0.1799, 0.1674],
    "REAPER": [0.1456, 0.1429, 0.1531, 0.1477, 0.1407, 0.1616, 0.1464, 0.1755, 0.1664, 0.1567],
    "OP": [0.1878, 0.1864, 0.1824, 0.2063, 0.1745, 0.1875, 0.2099, 0.2311, 0.2090, 0.1723],
    "PCA": [0.2223, 0.2236, 0.2134, 0.2354, 0.2116, 0.2229, 0.2401, 0.2648, 0.2406, 0.1963],
}
PAPER_SECONDS = {
    "GASG21": [4.04, 4.01, 4.02, 4.03, 4.01, 4.03, 4.02, 4.04, 4.13, 4.40],
    "REAPER": [21.40, 26.27, 25.17, 32.15, 28.03, 26.42, 28.28, 26.99, 25.78, 28.357],
    "OP": [36.85, 38.71, 36.71, 38.95, 37.90, 40.00, 39.50, 39.51, 38.93, 37.88],
    "PCA": [0.33, 0.42, 0.42, 0.70, 0.43, 0.42, 0.43, 0.43, 0.45, 0.47],
}

PAPER_GASG21, SCALED_GASG21 = "GASG21, paper mode", "GASG21, scaled"
NAMES = {  # our runs, and the row of the paper
    PAPER_GASG21: "GASG21",
    SCALED_GASG21: "GASG21",
    "REAPER": "REAPER",
    "OP": "OP",
    "PCA": "PCA",
}


def paper_mode(seed: int, init: Any = "random", passes: int = 11) -> GASG21:
    """Return the paper's algorithm with its 5000 updates: 11 passes over 464 images are 5104 updates."""
    return GASG21(D, metric="canonical", polish=False, init=init, max_passes=passes, tol=0, random_state=seed)


METHODS: dict[str, Callable[[int], Any]] = {
    PAPER_GASG21: paper_mode,
    SCALED_GASG21: lambda seed: GASG21(D, random_state=seed),
    "REAPER": lambda _: REAPER(D, spherize=True, max_iter=50),
    "OP": lambda _: OutlierPursuit(D, max_iter=50),
    "PCA": lambda _: PCA(D),
}
BETTER_START, LONGER = "GASG21, paper mode, from spherical PCA", "GASG21, paper mode, 200 passes"
EXTRA: dict[str, Callable[[int], Any]] = {
    BETTER_START: lambda seed: paper_mode(seed, "spherical_pca"),
    LONGER: lambda seed: paper_mode(seed, passes=200),
    "GASG21, scaled, working_components=18": lambda seed: GASG21(D, working_components=18, random_state=seed),
    "REAPER, images not scaled to unit length": lambda _: REAPER(D, max_iter=50),
}
SETTINGS = {
    "images": "64 faces of one person and 400 photographs, 30 x 30, grey levels, not centred",
    "d": D,
    PAPER_GASG21: "metric='canonical', polish=False, init='random', max_passes=11 (5104 updates; the paper: 5000), tol=0",
    SCALED_GASG21: "defaults",
    "REAPER": "max_iter=50, as in the paper; spherize=True, our choice",
    "OP": "OutlierPursuit, max_iter=50, as in the paper; regularization='published', our choice",
    "PCA": "defaults",
}
PERSONS = len(PAPER_RESIDUALS["PCA"])  # in the paper


def left_out(count: int) -> str:
    """Return the numbers of the paper's persons that were not run, or an empty text."""
    first = count + 1
    return "" if count >= PERSONS else str(PERSONS) if first == PERSONS else f"{first} to {PERSONS}"


def fewer(count: int) -> str:
    """Return which of the paper's persons were run, or an empty text if all were."""
    if not left_out(count):
        return ""
    run = "only its first was" if count == 1 else f"its first {count} were"
    return f"The paper has {PERSONS} persons; {run} run, as the row of PCA among the residuals shows."


def with_background(images: Any, person: int) -> Any:
    """Return the faces of one person, followed by the photographs."""
    return np.vstack([images.faces[person], images.background[:N_BACKGROUND]])


def fit(model: Any, X: Any) -> float:
    """Fit with one BLAS thread and return the CPU seconds."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        model.fit(X)
        return time.process_time() - start


def recovered(model: Any, faces: Any) -> Any:
    """Return the faces projected onto the subspace of a model."""
    return model.inverse_transform(model.transform(faces))


def relaxed_projection(model: REAPER, faces: Any) -> Any:
    """Return the faces multiplied by REAPER's relaxed projector, whose rank is above d."""
    return (faces @ model.eigenvectors_.T * model.eigenvalues_) @ model.eigenvectors_


def pack(images: Any) -> str:
    """Return grey images as text."""
    return base64.b64encode(np.clip(np.rint(images), 0, 255).astype(np.uint8).tobytes()).decode()


def unpack(text: str) -> Any:
    """Return the images of a packed text, with shape (count, side, side)."""
    return np.frombuffer(base64.b64decode(text), np.uint8).reshape(-1, SIDE, SIDE)


def comparison(paper: dict[str, list[float]], ours: dict[str, list[float]], digits: int) -> tuple[list[str], list[Any]]:
    """Return columns and rows: one row per person, and for each method the value of the paper beside ours."""
    columns, series = ["face"], []
    for method, row in paper.items():
        columns.append(f"{method}, paper")
        series.append(row)
        for name in (name for name in NAMES if NAMES[name] == method):
            columns.append(f"{method}, ours{name.removeprefix(method)}")
            series.append(ours[name])
    count = len(ours["PCA"])
    rows: list[Any] = [[f"{i + 1}", *(cell(row, i, digits) for row in series)] for i in range(len(paper["PCA"]))]
    rows.insert(count, [f"mean of 1 to {count}", *(f"{np.mean(row[:count]):.{digits}f}" for row in series)])
    return columns, rows


def cell(row: list[float], i: int, digits: int) -> str | None:
    """Return the i-th value as text, None if there is none."""
    return f"{row[i]:.{digits}f}" if i < len(row) else None
