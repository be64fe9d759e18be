"""Synthetic data with a known subspace, and readers for the two real data sets of the paper."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

from gasg21._data.parameters import check_integer, check_number
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
    """Draw samples from one random subspace, with outliers and missing entries.

    Parameters
    ----------
    n_samples : int
        Number of samples, including outliers.
    n_features : int
        Number of features.
    n_components : int
        Dimension of the subspace, in [1, n_features].
    outlier_fraction : float, default=0
        Fraction of the samples that are outliers, in [0, 1]. Outliers are Gaussian vectors with the root mean square
        of the inliers, at random positions.
    observed_fraction : float, default=1
        Probability that an entry is observed, in (0, 1].
    singular_values : array-like of shape (n_components,) or (2,), optional
        Singular values of the matrix of inliers. A pair (low, high) means evenly spaced values. By default all are
        equal.
    noise : float, default=0
        Root mean square of the Gaussian noise, relative to the root mean square of the inliers.
    random_state : int, Generator or None, default=None
        Seed.

    Returns
    -------
    problem : Bunch
        data : ndarray of shape (n_samples, n_features)
            Samples, NaN where an entry is missing.
        mask : bool ndarray of shape (n_samples, n_features)
            True where an entry is observed.
        basis : ndarray of shape (n_components, n_features)
            Orthonormal basis of the subspace.
        inlier : bool ndarray of shape (n_samples,)
            True for inliers.

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

    The inliers are divided evenly among the subspaces. Their weights are Gaussian.

    Parameters
    ----------
    n_samples : int
        Number of samples, including outliers.
    n_features : int
        Number of features.
    n_components : int
        Dimension of each subspace, in [1, n_features].
    n_clusters : int
        Number of subspaces.
    outlier_fraction, observed_fraction, noise, random_state
        As in `make_low_rank`.

    Returns
    -------
    problem : Bunch
        data : ndarray of shape (n_samples, n_features)
            Samples, NaN where an entry is missing.
        mask : bool ndarray of shape (n_samples, n_features)
            True where an entry is observed.
        bases : list of n_clusters ndarrays of shape (n_components, n_features)
            Orthonormal bases of the subspaces.
        labels : ndarray of shape (n_samples,)
            Subspace of each sample, -1 for outliers.

    Examples
    --------
    >>> make_union_of_subspaces(60, 20, 2, 3, random_state=0).data.shape
    (60, 20)
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

    The data is not part of the package. Download it from http://www.vision.jhu.edu/data/hopkins155/.

    Parameters
    ----------
    root : path-like
        Directory with the files ``<sequence>/<sequence>_truth.mat``, as in the download.

    Yields
    ------
    sequence : Bunch
        One motion sequence; the sequences are sorted by name.

        name : str
            Name of the sequence.
        data : ndarray of shape (n_points, 2 * n_frames)
            Normalized image coordinates of the points: x and y in the first frame, x and y in the second, ...
        labels : ndarray of shape (n_points,)
            Motion of each point: 0, 1, ...
        n_motions : int
            Number of motions.
        category : {"checkerboard", "traffic", "articulated"}
            Kind of sequence.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, scipy.io
    >>> from gasg21.datasets import load_hopkins155
    >>> with tempfile.TemporaryDirectory() as root:  # one made-up sequence: 40 points, 10 frames, 2 motions
    ...     os.mkdir(os.path.join(root, "1R2RC"))
    ...     content = {"x": np.ones((3, 40, 10)), "s": np.repeat([1, 2], 20)}
    ...     scipy.io.savemat(os.path.join(root, "1R2RC", "1R2RC_truth.mat"), content)
    ...     (sequence,) = load_hopkins155(root)
    >>> sequence.name, sequence.data.shape, sequence.n_motions, sequence.category
    ('1R2RC', (40, 20), 2, 'checkerboard')
    """
    root = Path(root)
    files = sorted(path for path in root.glob("*/*_truth.mat") if path.name == f"{path.parent.name}_truth.mat")
    if not files:
        msg = (
            f"root={str(root)!r} contains no file <sequence>/<sequence>_truth.mat; "
            "it must have the layout of Hopkins 155"
        )
        raise InvalidInputError(msg)
    return map(_read_sequence, files)


def load_faces(path: str | os.PathLike[str]) -> Bunch:
    """Read the images of the face experiment of the paper.

    The data is not part of the package.

    Parameters
    ----------
    path : path-like
        An .npz file with the arrays ``faces`` of shape (n_persons, n_images, height, width), for example from
        Extended Yale B, and ``background`` of shape (n_images, height, width), for example from the Google
        background of Caltech 101.

    Returns
    -------
    images : Bunch
        faces : ndarray of shape (n_persons, n_images, height * width)
            Gray levels of the faces, as float64.
        background : ndarray of shape (n_images, height * width)
            Gray levels of the background images, as float64.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from gasg21.datasets import load_faces
    >>> with tempfile.TemporaryDirectory() as folder:  # a file of the same layout, without faces
    ...     path = os.path.join(folder, "faces.npz")
    ...     np.savez(path, faces=np.zeros((5, 64, 20, 20)), background=np.zeros((400, 20, 20)))
    ...     data = load_faces(path)
    >>> data.faces.shape, data.background.shape
    ((5, 64, 400), (400, 400))
    """
    with np.load(path, allow_pickle=False) as archive:
        missing = {"faces", "background"} - set(archive.files)
        if missing:
            msg = f"path={str(path)!r} must contain the arrays 'faces' and 'background'; missing: {sorted(missing)}"
            raise InvalidInputError(msg)
        faces, background = archive["faces"], archive["background"]
    return Bunch(
        faces=faces.reshape(*faces.shape[:2], -1).astype(np.float64),
        background=background.reshape(len(background), -1).astype(np.float64),
    )


def _read_sequence(path: Path) -> Bunch:
    from scipy.io import loadmat

    # Two arrays of numbers, and nothing else of the file.
    content = loadmat(path, variable_names=("x", "s"), chars_as_strings=True, struct_as_record=True)
    if any(content[name].dtype.kind not in "fiu" for name in ("x", "s")):
        msg = f"{path} must hold arrays of numbers in x and s"
        raise InvalidInputError(msg)
    x = content["x"]  # homogeneous coordinates, (3, n_points, n_frames)
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
    """Return the category of a sequence, given its name."""
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
        msg = f"singular_values={given!r} must be n_components={n_components} positive numbers or a pair (low, high)"
        raise InvalidInputError(msg)
    return values


def _orthonormal_rows(rng: np.random.Generator, count: int, length: int) -> Matrix:
    """Return `count` random rows; the first `length` of them are orthonormal, any others are zero."""
    rows = np.zeros((count, length))
    q, r = np.linalg.qr(rng.standard_normal((length, min(count, length))))
    rows[: q.shape[1]] = (q * np.where(np.diag(r) < 0, -1.0, 1.0)).T
    return rows


def _with_outliers(
    rng: np.random.Generator, inliers: Matrix, n_outliers: int, noise: float
) -> tuple[Matrix, npt.NDArray[np.intp]]:
    """Add noise and outliers and shuffle; return the samples and their indices before the shuffle."""
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
