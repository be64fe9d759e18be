"""Data that several benchmarks share: the data sets that are not shipped, and two made-up kinds of corruption."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gasg21.datasets import load_faces, load_hopkins155

WHERE_FACES = (
    "faces.npz was not found: --data or GASG21_DATA must name its directory. It holds `faces`, uint8 (persons, 64, 30, 30), "
    "from Extended Yale B (http://vision.ucsd.edu/content/extended-yale-face-database-b-b), and `background`, uint8 (400, 30, 30), "
    "from BACKGROUND_Google of Caltech101 (https://data.caltech.edu/records/mzrjq-6wc02)"
)
WHERE_MOTIONS = (
    "Hopkins 155 was not found: --data or GASG21_DATA must name the directory that holds "
    "hopkins155/<sequence>/<sequence>_truth.mat, as in http://www.vision.jhu.edu/data/hopkins155/"
)
WHERE_TABLES = (
    "The tables with outliers were not found: --data or GASG21_DATA must name the directory that holds outliers/NAME.npz, with "
    "`X` and `y`, 1 for an outlier, as in ADBench (https://github.com/Minqi824/ADBench)"
)
WHERE_HIGHWAY = (
    "highway.npz was not found: --data or GASG21_DATA must name its directory. It holds `frames` and `truth`, uint8 "
    "(frames, height, width), of the sequence highway of CDnet 2012 (http://www.changedetection.net)"
)


WHERE_PEOPLE = (
    "people.npz was not found: --data or GASG21_DATA must name its directory. It holds `images`, uint8 (images, 48, 42), and "
    "`person`, of Extended Yale B (http://vision.ucsd.edu/content/extended-yale-face-database-b-b)"
)


class MissingData(Exception):
    """Raised when a data set is not available; the message says where to get it."""


def faces(data: Path | None) -> Any:
    """Return the images of the face experiments, one image per row."""
    path = Path(data or "", "faces.npz")
    if data is None or not path.is_file():
        raise MissingData(WHERE_FACES)
    return load_faces(path)


def people(data: Path | None) -> tuple[Any, Any]:
    """Return images of faces, one per row, and the numbers of the people on them."""
    path = Path(data or "", "people.npz")
    if data is None or not path.is_file():
        raise MissingData(WHERE_PEOPLE)
    with np.load(path) as archive:
        return archive["images"].reshape(len(archive["images"]), -1).astype(float), archive["person"]


def motions(data: Path | None) -> list[Any]:
    """Return the available sequences of Hopkins 155."""
    root = Path(data or "", "hopkins155")
    if data is None or not root.is_dir():
        raise MissingData(WHERE_MOTIONS)
    return list(load_hopkins155(root))


def outlier_tables(data: Path | None) -> list[tuple[str, Any, Any]]:
    """Return name, samples and truth (True for an outlier) of each table with outliers."""
    files = sorted(Path(data or "", "outliers").glob("*.npz"))
    if data is None or not files:
        raise MissingData(WHERE_TABLES)
    tables = ((path.stem, np.load(path)) for path in files)
    return [(name, table["X"].astype(float), table["y"].astype(bool)) for name, table in tables]


def highway(data: Path | None) -> Any:
    """Return the frames of a traffic video, one frame per row."""
    return _highway(data, "frames").astype(float)


def highway_truth(data: Path | None) -> Any:
    """Return what moves in that video: 255 = it does, 0 = it does not, other values are not scored."""
    return _highway(data, "truth")


def _highway(data: Path | None, name: str) -> Any:
    path = Path(data or "", "highway.npz")
    if data is None or not path.is_file():
        raise MissingData(WHERE_HIGHWAY)
    images = np.load(path)[name]
    return images.reshape(len(images), -1)


def with_outliers(sequence: Any, seed: int, share: float, scale: float) -> tuple[Any, Any]:
    """Return a sequence of Hopkins 155 mixed with Gaussian outliers, and its labels, -1 for an outlier.

    Outliers are ``share`` of all samples; their standard deviation is ``scale`` times the root mean square of the data.
    """
    rng = np.random.default_rng(seed)
    count = round(share / (1 - share) * len(sequence.data))
    deviation = scale * np.sqrt(np.mean(sequence.data**2))
    X = np.vstack([sequence.data, deviation * rng.standard_normal((count, sequence.data.shape[1]))])
    order = rng.permutation(len(X))
    return X[order], np.r_[sequence.labels, np.full(count, -1)][order]


def corrupted_entries(seed: int, noise: float = 0.0) -> tuple[Any, Any]:
    """Return the data of the demonstration of GRASTA's authors, and the true basis, one vector per row.

    300 x 300, d = 5, half of the entries observed, a tenth of them corrupted. Corruptions are Gaussian, ten times the
    largest entry; the noise is relative to that entry, too.
    """
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((300, 5))
    data = rng.standard_normal((300, 5)) @ left.T
    largest = np.abs(data).max()
    if noise:
        data += noise * largest * rng.standard_normal(data.shape)
    spikes = 10 * largest * rng.standard_normal(data.shape)
    data = np.where(rng.random(data.shape) < 0.1, data + spikes, data)
    data[rng.random(data.shape) >= 0.5] = np.nan
    return data, np.linalg.qr(left)[0].T
