"""Synthetic problems with a known answer, as in the paper, and its two real data sets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io
from sklearn.utils import Bunch

from gasg21._data.samples import check_integer, check_number
from gasg21.exceptions import InvalidInputError

__all__ = ["load_faces", "load_hopkins155", "make_low_rank", "make_union_of_subspaces"]

Matrix = npt.NDArray[np.float64]


def make_low_rank(
    n_samples: int,
    n_features: int,
    n_components: int,
    *,
    outlier_fraction: float = 0.0,
    observed_fraction: float = 1.0,
    singular_values: npt.ArrayLike | None = None,
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Draw samples from one subspace, with outliers in random positions and entries missing at random.

    Parameters
    ----------
    n_samples, n_features, n_components : int
        The inliers lie on a random subspace of dimension n_components.
    outlier_fraction : float in [0, 1]
        Share of the samples that are outliers: Gaussian vectors of the inliers' scale.
    observed_fraction : float in (0, 1]
        Each entry is observed with this probability.
    singular_values : array-like of n_components numbers, or (low, high), optional
        Singular values of the matrix of inliers; a pair stands for evenly spaced values. None means
        equal ones.
    noise : float
        Length of the noise vectors relative to the (root mean square) length of the inliers.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Bunch
        ``data`` (n_samples, n_features) with NaN where missing, ``mask`` (True = observed), ``basis``
        (n_components, n_features) with orthonormal rows, ``inlier`` (n_samples,) of bool.

    Examples
    --------
    >>> make_low_rank(50, 20, 3, outlier_fraction=0.2, random_state=0).inlier.sum()
    np.int64(40)
    """
    _check_sizes(n_samples, n_features, n_components, outlier_fraction, observed_fraction, noise)
    rng = np.random.default_rng(random_state)
    n_outliers = round(outlier_fraction * n_samples)
    n_inliers = n_samples - n_outliers
    values = _singular_values(singular_values, n_components, n_inliers)
    basis = _orthonormal_rows(rng, n_components, n_features)
    inliers = (_orthonormal_rows(rng, n_components, n_inliers).T * values) @ basis
    data, position = _with_outliers(rng, inliers, n_outliers, noise)
    data, mask = _with_missing(rng, data, observed_fraction)
    return Bunch(data=data, mask=mask, basis=basis, inlier=position < n_inliers)


def make_union_of_subspaces(
    n_samples: int,
    n_features: int,
    n_components: int,
    n_clusters: int,
    *,
    outlier_fraction: float = 0.0,
    observed_fraction: float = 1.0,
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Draw samples from several random subspaces, with outliers and missing entries.

    The inliers are divided evenly; their weights are Gaussian. Parameters are as for `make_low_rank`.

    Returns
    -------
    Bunch
        ``data``, ``mask``, ``bases`` (a list of n_clusters arrays (n_components, n_features)), ``labels``
        (n_samples,), -1 for outliers.
    """
    _check_sizes(n_samples, n_features, n_components, outlier_fraction, observed_fraction, noise)
    check_integer("n_clusters", n_clusters, 1)
    rng = np.random.default_rng(random_state)
    n_outliers = round(outlier_fraction * n_samples)
    n_inliers = n_samples - n_outliers
    bases = [_orthonormal_rows(rng, n_components, n_features) for _ in range(n_clusters)]
    cluster = np.arange(n_inliers) * n_clusters // max(n_inliers, 1)
    weights = rng.standard_normal((n_inliers, n_components))
    inliers = np.concatenate([weights[cluster == k] @ basis for k, basis in enumerate(bases)])
    data, position = _with_outliers(rng, inliers, n_outliers, noise)
    data, mask = _with_missing(rng, data, observed_fraction)
    labels = np.concatenate([cluster, np.full(n_outliers, -1)])[position]
    return Bunch(data=data, mask=mask, bases=bases, labels=labels)


def load_hopkins155(root: str | os.PathLike[str]) -> Iterator[Bunch]:
    """Iterate over the motion sequences of the Hopkins 155 data set (Tron and Vidal, CVPR 2007).

    The data is not shipped; it is to be had at http://www.vision.jhu.edu/data/hopkins155/ and read in its
    own layout, ``<root>/<sequence>/<sequence>_truth.mat``, in the order of the names.

    Yields
    ------
    Bunch
        ``name``, ``data`` (points, 2 * frames): the x and y of a point in each frame, one after the other,
        in normalised image coordinates; ``labels`` (points,), from 0; ``n_motions``; ``category``:
        "checkerboard", "traffic" or "articulated".
    """
    root = Path(root)
    files = sorted(path for path in root.glob("*/*_truth.mat") if path.name == f"{path.parent.name}_truth.mat")
    if not files:
        msg = f"root={str(root)!r} holds no <sequence>/<sequence>_truth.mat, the layout of Hopkins 155"
        raise InvalidInputError(msg)
    return map(_read_sequence, files)


def load_faces(path: str | os.PathLike[str]) -> Bunch:
    """Read the images of the paper's face experiment.

    Parameters
    ----------
    path : path of an .npz file
        With the arrays ``faces`` (persons, images, height, width), as from Extended Yale B, and
        ``background`` (images, height, width), as from the Google background of Caltech 101. The data is
        not shipped.

    Returns
    -------
    Bunch
        ``faces`` (persons, images, height * width) and ``background`` (images, height * width), float64,
        each image a row, in grey levels.
    """
    with np.load(path) as archive:
        missing = {"faces", "background"} - set(archive.files)
        if missing:
            msg = f"path={str(path)!r} lacks the arrays {sorted(missing)}"
            raise InvalidInputError(msg)
        faces, background = archive["faces"], archive["background"]
    return Bunch(
        faces=faces.reshape(*faces.shape[:2], -1).astype(np.float64),
        background=background.reshape(len(background), -1).astype(np.float64),
    )


def _read_sequence(path: Path) -> Bunch:
    content = scipy.io.loadmat(path)
    x = content["x"]  # (3, points, frames), homogeneous
    motions, labels = np.unique(content["s"].ravel(), return_inverse=True)
    name = path.parent.name
    return Bunch(
        name=name,
        data=np.ascontiguousarray(x[:2].transpose(1, 2, 0).reshape(x.shape[1], -1), np.float64),
        labels=labels,
        n_motions=len(motions),
        category=_category(name),
    )


def _category(name: str) -> str:
    """Return the category of a sequence, which follows from its name."""
    if re.match(r"[12](R|RT|T)\d|three-cars", name):
        return "checkerboard"
    return "traffic" if re.match(r"cars|truck|kanatani[12](_|$)", name) else "articulated"


def _check_sizes(
    n_samples: int,
    n_features: int,
    n_components: int,
    outlier_fraction: float,
    observed_fraction: float,
    noise: float,
) -> None:
    check_integer("n_samples", n_samples, 1)
    check_integer("n_features", n_features, 1)
    check_integer("n_components", n_components, 1, n_features, "n_features = ")
    check_number("outlier_fraction", outlier_fraction, 0, 1)
    check_number("observed_fraction", observed_fraction, 0, 1, open_low=True)
    check_number("noise", noise, 0)


def _singular_values(given: npt.ArrayLike | None, n_components: int, n_inliers: int) -> Matrix:
    if given is None:
        return np.full(n_components, np.sqrt(max(n_inliers, 1)))
    values = np.asarray(given, np.float64)
    if values.shape == (2,):
        values = np.linspace(values[0], values[1], n_components)
    if values.shape != (n_components,) or not np.isfinite(values).all() or not (values > 0).all():
        msg = f"singular_values={given!r} must be n_components={n_components} positive numbers, or (low, high)"
        raise InvalidInputError(msg)
    return values


def _orthonormal_rows(rng: np.random.Generator, count: int, length: int) -> Matrix:
    """Return random rows, orthonormal as far as the space has room; the others are zero."""
    rows = np.zeros((count, length))
    q, r = np.linalg.qr(rng.standard_normal((length, min(count, length))))
    rows[: q.shape[1]] = (q * np.where(np.diag(r) < 0, -1.0, 1.0)).T
    return rows


def _with_outliers(
    rng: np.random.Generator, inliers: Matrix, n_outliers: int, noise: float
) -> tuple[Matrix, npt.NDArray[np.intp]]:
    """Inliers with noise, then outliers, shuffled; and where each came from."""
    scale = float(np.sqrt(np.mean(inliers**2))) if inliers.size else 1.0
    n_features = inliers.shape[1]
    if noise:
        inliers = inliers + noise * scale * rng.standard_normal(inliers.shape)
    data = np.vstack([inliers, scale * rng.standard_normal((n_outliers, n_features))])
    position = rng.permutation(len(data))
    return data[position], position


def _with_missing(rng: np.random.Generator, data: Matrix, observed_fraction: float) -> tuple[Matrix, Any]:
    if observed_fraction == 1:
        return data, np.ones(data.shape, bool)
    mask = rng.random(data.shape) < observed_fraction
    return np.where(mask, data, np.nan), mask
