"""`_core.Union64` and `_core.Union32`: against the oracle, in files and pickles, and from the parts of older files."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gasg21 import _core
from gasg21._estimators.union_files import from_root, to_root, union_of_tree
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import InvalidInputError, ModelFormatError

DATA = Path(__file__).parents[1] / "data"
KINDS = [(_core.Union64, np.float64), (_core.Union32, np.float32)]


def made(dtype, **more):
    options = {"observed_fraction": 0.7, "outlier_fraction": 0.2, "noise": 0.02, "random_state": 0} | more
    problem = make_union_of_subspaces(120, 20, 3, 3, **options)
    return problem.data.astype(dtype), [U.astype(dtype) for U in problem.bases], problem.labels


def least_squares(U, x):
    """Return the missing entries of a sample by least squares, and its relative residual."""
    seen = ~np.isnan(x)
    w = np.linalg.lstsq(U[:, seen].T.astype(float), x[seen].astype(float), rcond=None)[0]
    left = np.linalg.norm(x[seen] - w @ U[:, seen]) / np.linalg.norm(x[seen])
    return (w @ U)[~seen], left


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_labels_residuals_and_completion_are_those_of_the_nearest_subspace(kind, dtype):
    X, bases, _ = made(dtype)
    union, tolerance = kind(bases), 1e-9 if dtype == np.float64 else 2e-3
    residuals = np.array([[least_squares(U, x)[1] for U in bases] for x in X])
    assert union.residuals(X).dtype == dtype
    assert_allclose(union.residuals(X), residuals, atol=tolerance)
    labels, nearest = union.assign(X)
    assert_array_equal(labels, union.labels(X, None, 2))
    assert_array_equal(labels, residuals.argmin(axis=1))
    assert_allclose(nearest, residuals.min(axis=1), atol=tolerance)
    out = X.copy()
    union.complete(X, None, out, 2)
    for x, k, filled in zip(X, labels, out, strict=True):
        assert_allclose(filled[np.isnan(x)], least_squares(bases[k], x)[0], atol=10 * tolerance)
        assert_array_equal(filled[~np.isnan(x)], x[~np.isnan(x)])


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_outliers_are_rejected(kind, dtype):
    X, bases, truth = made(dtype, noise=1e-3)
    union = kind(bases)
    labels = union.reject(X, None, *union.assign(X))
    assert (labels[truth < 0] == -1).mean() > 0.9
    kept = labels >= 0
    assert kept.sum() >= 90
    assert (labels[kept] == truth[kept]).mean() > 0.98


def test_the_split_rejects_what_lies_a_little_off():
    rng = np.random.default_rng(1)
    X, bases, _ = made(float, observed_fraction=1.0, outlier_fraction=0.0, noise=1e-3)
    off = np.arange(0, 120, 12)
    X[off] += 0.1 * np.abs(X).mean() * rng.standard_normal((10, 20))
    plain = _core.Union64(bases)
    assigned = plain.assign(X)
    union = plain.with_cut(plain.find_split(X, None, *assigned))
    assert np.isfinite(union.cut)
    assert np.isinf(plain.cut)
    rejected = np.flatnonzero(union.reject(X, None, *assigned) < 0)
    assert set(rejected) >= {j for j in off if assigned[1][j] > 0.12}
    assert set(rejected) <= set(off)


def test_mask_nan_and_csr_agree():
    sp = pytest.importorskip("scipy.sparse")
    X, bases, _ = made(float)
    lift = (np.full(20, 0.1), 0.5)
    rng = np.random.default_rng(0)
    lifted = [np.ascontiguousarray(np.linalg.qr(rng.standard_normal((21, 4)))[0].T) for _ in bases]
    union = _core.Union64(lifted, None, lift)
    seen = ~np.isnan(X)
    csr = sp.csr_matrix((X[seen], np.nonzero(seen)), shape=X.shape)
    parts = (csr.data, csr.indices, csr.indptr)
    filled = np.where(seen, X, 99.0)
    assert_array_equal(union.residuals(X), union.residuals(filled, seen))
    assert_array_equal(union.residuals(X), union.residuals(parts))
    assert union.score(X) == union.score(filled, seen) == union.score(parts)


def whitened_union():
    """Return a union with all parts, and samples."""
    rng = np.random.default_rng(2)
    directions = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((11, 6)))[0].T)
    screening = np.ascontiguousarray(directions[:4]), 0.1, 0.8
    bases = [np.ascontiguousarray(np.linalg.qr(rng.standard_normal((6, 2)))[0].T) for _ in range(3)]
    subspaces = [np.ascontiguousarray(np.linalg.qr((B @ directions).T)[0].T) for B in bases]
    lift = rng.standard_normal(10), 0.7
    whitening = directions, np.linspace(3, 1, 6), screening
    return _core.Union64(subspaces, bases, lift, whitening, 0.3), rng.standard_normal((40, 10))


def test_the_parts_come_back():
    union, X = whitened_union()
    assert (union.n_clusters, union.n_features, union.dimensions) == (3, 10, [1, 1, 1])
    assert union.is_whitened
    again = _core.Union64(union.subspaces, union.bases, union.lift, union.whitening, union.cut)
    assert again.__getstate__() == union.__getstate__()
    assert [U.shape for U in union.directions] == [(1, 10)] * 3
    lifted = np.hstack([X - union.lift[0], np.full((40, 1), 0.7)])
    working = lifted @ union.whitening[0].T / np.sqrt(union.whitening[1])
    found = union.whitened(X)
    cosines = np.einsum("ij,ij->i", found, working) / np.linalg.norm(found, axis=1) / np.linalg.norm(working, axis=1)
    assert_allclose(cosines, 1)
    assert_allclose(union.residuals(X), _core.Union64(union.bases).residuals(working), atol=1e-12)


def test_subspaces_follow_the_bases_of_the_stream():
    union, _ = whitened_union()
    bases = union.bases
    bases[1] = bases[2]
    moved = union.moved(bases)
    assert_array_equal(moved.subspaces[0], union.subspaces[0])
    back = np.sqrt(union.whitening[1]) * bases[2] @ union.whitening[0]
    assert_allclose(np.linalg.norm(back @ moved.subspaces[1].T, axis=1), np.linalg.norm(back, axis=1))


def test_files_and_pickles():
    union, X = whitened_union()
    for again in (pickle.loads(pickle.dumps(union)), _core.decode(_core.encode({"union": union}))["union"]):
        assert type(again) is type(union)
        assert again.__getstate__() == union.__getstate__()
        assert_array_equal(again.residuals(X), union.residuals(X))
    fields = _core.decode(_core.encode({"union": union}), objects=False)["union"]
    assert list(fields) == ["type", "subspaces", "bases", "coordinates", "split"]
    assert fields["type"] == "Union64"
    wrong = fields | {"bases": fields["bases"][:2]}
    with pytest.raises(ModelFormatError, match="3 subspaces and 2 bases"):
        _core.decode(_core.encode({"union": wrong}))


def test_what_does_not_fit_is_refused():
    union, X = whitened_union()
    with pytest.raises(InvalidInputError, match="do not lead"):
        _core.Union64(union.subspaces, union.bases, union.lift)
    with pytest.raises(InvalidInputError, match="not orthonormal"):
        _core.Union64([2 * U for U in union.subspaces])
    with pytest.raises(InvalidInputError, match="at least one subspace"):
        _core.Union64([])
    with pytest.raises(InvalidInputError, match="samples have 9 features, not 10"):
        union.labels(X[:, :9].copy())
    with pytest.raises(InvalidInputError, match="3 labels for 40 samples"):
        union.reject(X, None, np.zeros(3, np.intp), np.zeros(3))
    with pytest.raises(InvalidInputError, match="out must"):
        union.complete(X, None, np.zeros((39, 10)))
    with pytest.raises(InvalidInputError, match="not whitened"):
        _core.Union64(union.subspaces).whitened(np.zeros((2, 11)))


# ---- files of earlier versions


def golden(name):
    """Return the union of an old file, its samples, and what its version said about them."""
    sys.path.insert(0, str(DATA))
    try:
        from make_golden import X, flats
    finally:
        sys.path.remove(str(DATA))
    tree = _core.decode(_core.read_file((DATA / name).with_suffix(".gasg21")))
    union = union_of_tree(tree["attributes"]["_published"])
    data = flats() if Path(name).stem.startswith("union_") else X
    dtype = np.float32 if isinstance(union, _core.Union32) else np.float64
    parameters = tree["parameters"]
    return union, parameters, np.ascontiguousarray(data, dtype), np.load((DATA / name).with_suffix(".npz"))


@pytest.mark.parametrize("name", sorted(p.relative_to(DATA).as_posix() for p in DATA.glob("*/*.npz")))
def test_unions_of_earlier_versions_say_what_they_said(name):
    union, parameters, X, answers = golden(name)
    tolerance = 1e-9 if X.dtype == np.float64 else 1e-4
    labels, residuals = union.assign(X)
    if parameters["reject_outliers"]:
        labels = union.reject(X, None, labels, residuals)
    assert_array_equal(labels, answers["predict"])
    assert_allclose(union.residuals(X), answers["transform"], atol=tolerance)
    assert_allclose(union.points, answers["means"], atol=tolerance)
    out = X.copy()
    union.complete(X, None, out)
    assert_allclose(out, answers["complete"], atol=10 * tolerance)
    # With a lift the score of 0.2.0 counted the constant as an entry.
    assert abs(union.score(X) - answers["score"]) < (1e-9 if union.lift is None else 0.1)


def test_the_old_files_hold_all_parts():
    unions = [golden(p.relative_to(DATA).as_posix())[0] for p in DATA.glob("*/*.npz")]
    assert any(union.is_whitened and union.lift is not None for union in unions)
    assert any(union.is_whitened and union.whitening[2] is not None for union in unions)
    assert any(np.isfinite(union.cut) for union in unions)
    assert any(isinstance(union, _core.Union32) for union in unions)


@pytest.mark.parametrize("name", ["format-1/whitened", "release-0.2.0/union_single"])
def test_the_union_of_an_older_file_moves_to_the_root_of_a_new_one(name):
    old = _core.decode(_core.read_file((DATA / name).with_suffix(".gasg21")))
    union = union_of_tree(old["attributes"]["_published"])
    tree = from_root(old)
    published = tree["attributes"]["_published"]
    assert published["union"].__getstate__() == union.__getstate__()
    assert sorted(published) == ["class", "counters", "labels", "report", "residuals", "stream", "union"]
    new = _core.decode(_core.encode(to_root(tree)))
    assert new["union"].__getstate__() == union.__getstate__()
    assert "union" not in new["attributes"]["_published"]
    again = from_root(new)
    assert "union" not in again
    assert again["attributes"]["_published"]["union"].__getstate__() == union.__getstate__()
    unfitted = {"estimator": "KGASG21", "parameters": {}, "attributes": {}}
    assert from_root(unfitted) == to_root(unfitted) == unfitted
