"""The baselines for one subspace: each satisfies its own optimality condition, and all share one interface."""

import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp

from gasg21 import GASG21, baselines
from gasg21.baselines import FMS, PCA, REAPER, TME, OutlierPursuit, RobustMD, SphericalPCA
from gasg21.baselines._fms import smoothed_cost
from gasg21.baselines._linear_algebra import (
    completed_basis,
    coordinates,
    partial_svd,
    shrink_singular_values,
    unit_rows,
)
from gasg21.baselines._outlier_pursuit import outlier_pursuit, shrink_rows
from gasg21.baselines._reaper import reaper, water_filling, weighted_least_squares
from gasg21.baselines._robust_md import MirrorDescent, capped
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import subspace_angle

METHODS = [PCA, SphericalPCA, REAPER, FMS, TME, OutlierPursuit, RobustMD]
ROBUST = [REAPER, FMS, TME, OutlierPursuit]


@pytest.fixture(scope="module")
def noisy():
    """Return samples near a subspace, with outliers and noise; no distance is zero."""
    return make_low_rank(120, 12, 3, outlier_fraction=0.3, noise=0.05, random_state=5).data


@pytest.fixture(scope="module")
def easy():
    """Return a problem without noise and with more samples than features."""
    return make_low_rank(200, 30, 3, outlier_fraction=0.3, random_state=6)


# ---- PCA


def test_pca_is_the_uncentered_singular_value_decomposition(noisy):
    shifted = noisy + 3
    expected = np.linalg.svd(shifted)[2][:3]
    np.testing.assert_allclose(np.abs(PCA(3).fit(shifted).components_ @ expected.T), np.eye(3), atol=1e-12)
    unit = shifted / np.linalg.norm(shifted, axis=1, keepdims=True)
    expected = np.linalg.svd(unit)[2][:3]
    np.testing.assert_allclose(np.abs(SphericalPCA(3).fit(shifted).components_ @ expected.T), np.eye(3), atol=1e-12)


def test_partial_svd_equals_the_leading_part_of_the_full_svd(rng):
    X = rng.standard_normal((600, 450)) * np.geomspace(1, 1e-3, 450)
    U, s, Vt = partial_svd(X, 6)
    whole = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(s, whole[1][:6], rtol=1e-12)
    np.testing.assert_allclose((U * s) @ Vt, (whole[0][:, :6] * s) @ whole[2][:6], atol=1e-11 * s[0])


# ---- REAPER


def projector(model):
    return (model.eigenvectors_.T * model.eigenvalues_) @ model.eigenvectors_


def optimality_gap(X, P, d):
    """Return an upper bound of cost(P) - min cost.

    By convexity it is the linearized cost of P minus its minimum, which has a closed form.
    """
    residual = X - X @ P
    gradient = -(residual / np.linalg.norm(residual, axis=1, keepdims=True)).T @ X
    gradient = (gradient + gradient.T) / 2
    return np.sum(gradient * P) - np.sum(np.linalg.eigvalsh(gradient)[:d])


@pytest.mark.parametrize("spherize", [False, True])
@pytest.mark.parametrize("d", [1, 3, 11])
def test_reaper_solves_its_convex_problem(noisy, d, spherize):
    model = REAPER(d, spherize=spherize, max_iter=5000).fit(noisy)
    X = noisy / (np.linalg.norm(noisy, axis=1, keepdims=True) if spherize else np.linalg.norm(noisy, axis=1).max())
    P = projector(model)
    eigenvalues = np.linalg.eigvalsh(P)
    assert eigenvalues.min() > -1e-14
    assert eigenvalues.max() < 1 + 1e-14
    assert np.trace(P) == pytest.approx(d, abs=1e-12)
    cost = np.linalg.norm(X - X @ P, axis=1).sum()
    assert cost == pytest.approx(model.history_[-1]["cost"], rel=1e-12)
    assert -1e-12 * cost < optimality_gap(X, P, d) < 1e-6 * cost


def test_reaper_cost_never_increases(noisy):
    costs = np.array([record["cost"] for record in REAPER(3).fit(noisy).history_])
    assert len(costs) > 5
    assert np.diff(costs).max() <= 1e-13 * costs[0]
    assert costs[0] > 1.01 * costs[-1]


def test_reaper_agrees_with_a_direct_minimization_in_the_plane(rng):
    """For n = 2 and d = 1 the matrices P form a disc, which has two parameters."""
    X = rng.standard_normal((9, 2)) * [2, 1]
    X /= np.linalg.norm(X, axis=1).max()

    def matrix(radius, angle):
        a, b = 0.5 + radius * np.cos(angle), radius * np.sin(angle)
        return np.array([[a, b], [b, 1 - a]])

    def cost(v):
        return np.linalg.norm(X - X @ matrix(*v), axis=1).sum()

    starts = [(r, a) for r in (0.1, 0.45) for a in np.linspace(-3, 3, 8)]
    found = [scipy.optimize.minimize(cost, s, bounds=[(0, 0.5), (-10, 10)], tol=1e-14) for s in starts]
    best = min(found, key=lambda result: result.fun)
    values, vectors, _, history = reaper(X, 1, 1e-10, 1e-15, 10_000)
    assert history[-1]["cost"] == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix(*best.x), atol=1e-3)


def test_the_leading_eigenvectors_are_all_that_reaper_needs(rng):
    """In the first problem few of 450 eigenvalues of P are nonzero, in the second more than it computes first."""
    for power in (2.0, 0.01):
        X = rng.standard_normal((900, 450)) * np.arange(1, 451) ** -power
        weights = rng.uniform(0.5, 2, 900)
        values, vectors = weighted_least_squares(X, weights, 3)
        root = np.sqrt(weights)[:, None] * X
        spread, all_vectors = np.linalg.eigh(root.T @ root)
        expected = water_filling(spread[::-1], 3)
        P, Q = (vectors * values) @ vectors.T, (all_vectors[:, ::-1] * expected) @ all_vectors[:, ::-1].T
        np.testing.assert_allclose(P, Q, atol=1e-9)
    assert water_filling(np.array([3.0, 2.9, 2.8]), 1, 10) is None


@pytest.mark.parametrize("d", [1, 3, 6])
def test_water_filling_solves_its_problem(rng, d):
    spread = np.sort(rng.exponential(size=7))[::-1]
    values = water_filling(spread, d)
    assert values.sum() == pytest.approx(d)
    assert values.min() >= 0
    assert values.max() <= 1
    slope = spread * (1 - values)  # equal where 0 < v < 1, and at most as large where v = 0
    inside = values > 0
    np.testing.assert_allclose(slope[inside], slope[inside][0])
    assert (slope[~inside] <= slope[inside][0] + 1e-15).all()
    np.testing.assert_array_equal(water_filling(np.array([3.0, 1, 0, 0]), 2), [1, 1, 0, 0])


# ---- FMS


@pytest.mark.parametrize("init", ["pca", "random"])
@pytest.mark.parametrize("power", [0.5, 1.0, 1.5])
def test_fms_reaches_a_stationary_point_and_its_cost_never_increases(noisy, power, init):
    model = FMS(3, power=power, init=init, max_iter=2000, random_state=0).fit(noisy)
    assert model.converged_
    costs = np.array([record["cost"] for record in model.history_])
    assert np.diff(costs).max() <= 1e-13 * costs[0]
    assert costs[0] > 1.001 * costs[-1]
    X = unit_rows(noisy)
    distances = np.linalg.norm(X - X @ model.components_.T @ model.components_, axis=1)
    assert distances.min() > 1e-4
    assert costs[-1] == pytest.approx(np.sum(distances**power), rel=1e-9)
    # At a stationary point the gradient on the Grassmannian is zero.
    gradient = (X / distances[:, None] ** (2 - power)).T @ X @ model.components_.T
    gradient -= model.components_.T @ (model.components_ @ gradient)
    assert np.linalg.norm(gradient) < 1e-5 * len(X)


def test_fms_smoothed_cost_and_its_slope_are_continuous():
    for power in (0.5, 1.0, 1.7):
        delta = 1e-3
        cap = (power * delta) ** (2 / (2 - power))
        at = cap * np.array([1 - 1e-6, 1 + 1e-6, 1 - 2e-6, 1 + 2e-6])
        below, above, further_below, further_above = (smoothed_cost(np.array([s]), power, delta) for s in at)
        assert below == pytest.approx(above, rel=1e-5)
        assert below - further_below == pytest.approx(further_above - above, rel=1e-4)


def test_fms_with_power_two_is_spherical_pca(noisy):
    assert subspace_angle(FMS(3, power=2).fit(noisy).components_, SphericalPCA(3).fit(noisy).components_) < 1e-12


# ---- TME


def test_tme_satisfies_its_fixed_point_equation(noisy):
    model = TME(3).fit(noisy)
    assert model.converged_
    S, (m, n) = model.scatter_, noisy.shape
    weights = 1 / np.einsum("mi,ij,mj->m", noisy, np.linalg.inv(S), noisy)
    np.testing.assert_allclose(n / m * (noisy.T * weights) @ noisy, S, atol=1e-9)
    assert np.trace(S) == pytest.approx(1)
    leading = np.linalg.eigh(S)[1][:, -3:].T
    assert subspace_angle(model.components_, leading) < 1e-10


def test_tme_is_affine_equivariant(noisy, rng):
    A = rng.standard_normal((12, 12))
    expected = A.T @ TME(3).fit(noisy).scatter_ @ A
    np.testing.assert_allclose(TME(3).fit(noisy @ A).scatter_, expected / np.trace(expected), atol=1e-7)


@pytest.mark.parametrize("n_samples", [8, 120])
def test_shrunken_tme_satisfies_its_equation(noisy, n_samples):
    X, a = unit_rows(noisy[:n_samples]), 0.2
    S = TME(3, shrinkage=a).fit(X).scatter_
    weights = 1 / np.einsum("mi,ij,mj->m", X, np.linalg.inv(S), X)
    right = (1 - a) * 12 / n_samples * (X.T * weights) @ X + a / 12 * np.eye(12)
    np.testing.assert_allclose(right / np.trace(right), S, atol=1e-9)


def test_tme_refuses_data_for_which_it_does_not_exist(noisy):
    message = r"12 nonzero samples that span 12 dimensions.*positive shrinkage instead of shrinkage=0\.0"
    with pytest.raises(InvalidInputError, match=message):
        TME(3).fit(noisy[:12])


# ---- Outlier Pursuit


@pytest.mark.parametrize("regularization", [0.15, 0.3, 0.6])
def test_outlier_pursuit_satisfies_its_optimality_conditions(noisy, regularization):
    X = noisy / np.linalg.norm(noisy, axis=1).max()
    found = outlier_pursuit(X, regularization, 1e-9, 20_000)
    assert found.converged
    L, S, Y = found.L, found.S, found.Y
    assert np.linalg.norm(X - L - S) < 1e-8 * np.linalg.norm(X)
    # Y must be a subgradient of both norms.
    assert np.linalg.norm(Y, 2) < 1 + 1e-6
    assert np.linalg.norm(Y, axis=1).max() < regularization * (1 + 1e-6)
    nuclear, lengths = np.linalg.norm(L, "nuc"), np.linalg.norm(S, axis=1).sum()
    assert np.sum(Y * L) == pytest.approx(nuclear, abs=1e-6 * (nuclear + lengths))
    assert np.sum(Y * S) == pytest.approx(regularization * lengths, abs=1e-6 * (nuclear + lengths))


def test_outlier_pursuit_of_one_sample_is_all_or_nothing():
    """The minimum of |l| + c |x - l| is at l = 0 for c < 1 and at l = x for c > 1."""
    x = np.array([[3.0, 0, 4]])
    np.testing.assert_allclose(outlier_pursuit(x, 0.9, 1e-9, 5000).L, 0 * x, atol=1e-7)
    np.testing.assert_allclose(outlier_pursuit(x, 1.1, 1e-9, 5000).L, x, atol=1e-7)


def test_outlier_pursuit_separates_whole_samples():
    problem = make_low_rank(100, 80, 3, outlier_fraction=0.3, random_state=6)
    model = OutlierPursuit(3, regularization="log").fit(problem.data)
    assert model.rank_ == 3
    assert model.regularization_ == pytest.approx(1 / np.sqrt(np.log(100)))
    lengths = np.linalg.norm(problem.data - model.low_rank_, axis=1)
    assert lengths[~problem.inlier].min() > 1e5 * lengths[problem.inlier].max()


def test_outlier_pursuit_published_regularization():
    model = OutlierPursuit(5, max_iter=1)
    gamma = 9 / (9 + 121 * 5)
    assert model._regularization(200, 5) == pytest.approx(3 / (7 * np.sqrt(gamma * 200)))


def test_outlier_pursuit_completes_a_basis_with_too_few_dimensions(noisy):
    model = OutlierPursuit(3, regularization=1e-3).fit(noisy)  # so small that L = 0
    assert model.rank_ == 0
    assert not model.low_rank_.any()
    assert subspace_angle(model.components_, PCA(3).fit(noisy).components_) < 1e-12


def test_thresholds_are_proximal_maps(rng):
    M = rng.standard_normal((6, 4))
    s = np.linalg.svd(M, compute_uv=False)
    L, Vt = shrink_singular_values(M, s[2], guess=1)
    np.testing.assert_allclose(np.linalg.svd(L, compute_uv=False), [s[0] - s[2], s[1] - s[2], 0, 0], atol=1e-12)
    assert len(Vt) == 2
    lengths = np.linalg.norm(M, axis=1)
    shrunk = shrink_rows(M, np.median(lengths))
    np.testing.assert_allclose(np.linalg.norm(shrunk, axis=1), np.maximum(lengths - np.median(lengths), 0), atol=1e-12)


# ---- RobustMD


def test_the_projection_of_mirror_descent_satisfies_its_conditions(rng):
    """min(c v, cap) with sum 1 minimizes the relative entropy to v over the vectors with sum 1 and entries <= cap."""
    for most in (1, 3, 7):
        for spread in (0.1, 3, 400):
            log_values = np.sort(spread * rng.standard_normal(8))[::-1]
            log_projected = capped(log_values, most)
            values = np.exp(log_projected)
            assert values.sum() == pytest.approx(1, abs=1e-12)
            assert values.max() <= (1 + 1e-12) / most
            multiplier = log_projected - log_values  # equal below the cap, at most as large at the cap
            free = values < (1 - 1e-9) / most
            if free.any():
                np.testing.assert_allclose(multiplier[free], multiplier[free][0], atol=1e-9)
                assert (multiplier[~free] <= multiplier[free][0] + 1e-9).all()


def test_mirror_descent_equals_the_literal_formulas(rng):
    n, d = 6, 2
    X = unit_rows(rng.standard_normal((25, n)) * [3, 2, 1, 1, 1, 1])
    Q = np.eye(n) / n
    for t, x in enumerate(X, start=1):
        gradient = (np.outer(x, x) @ Q + Q @ np.outer(x, x)) / (2 * np.linalg.norm(Q @ x))
        W = scipy.linalg.expm(scipy.linalg.logm(Q) - gradient / np.sqrt(t))
        values, vectors = np.linalg.eigh(W)

        def excess(log_c, values=values):
            return np.minimum(np.exp(log_c) * values, 1 / (n - d)).sum() - 1

        c = np.exp(scipy.optimize.brentq(excess, -50, 50, xtol=1e-15))
        Q = (vectors * np.minimum(c * values, 1 / (n - d))) @ vectors.T
    descent = MirrorDescent(n, d)
    for x in X:
        descent.update(x, 1.0)
    np.testing.assert_allclose((descent.vectors * np.exp(descent.log_values)) @ descent.vectors.T, Q, atol=1e-12)
    model = RobustMD(d).partial_fit(5 * X)
    assert subspace_angle(model.components_, np.linalg.eigh(Q)[1][:, :d].T) < 1e-10


def test_mirror_descent_stays_orthonormal_and_in_its_set(easy):
    descent = MirrorDescent(30, 3)
    for x in np.tile(unit_rows(easy.data), (20, 1)):
        descent.update(x, 1.0)
    np.testing.assert_allclose(descent.vectors.T @ descent.vectors, np.eye(30), atol=1e-13)
    assert np.exp(descent.log_values).sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(descent.log_values) <= 0).all()
    assert descent.log_values[0] <= -np.log(27) + 1e-15


def test_partial_fit_of_mirror_descent_resumes(easy):
    whole = RobustMD(3).partial_fit(easy.data)
    parts = RobustMD(3).partial_fit(easy.data[:70])
    resumed = pickle.loads(pickle.dumps(parts)).partial_fit(easy.data[70:])
    np.testing.assert_array_equal(whole.components_, resumed.components_)
    assert resumed.n_iter_ == 200
    assert parts.n_iter_ == 70
    with pytest.raises(InvalidInputError, match="n_components=2 must be 3, as in the first call of partial_fit"):
        parts.set_params(n_components=2).partial_fit(easy.data)


def test_mirror_descent_converges_sublinearly(rng):
    problem = make_low_rank(200, 30, 3, outlier_fraction=0.5, random_state=6)
    model, angles = RobustMD(3), []
    for _ in range(20):
        model.partial_fit(problem.data[rng.permutation(200)])
        angles.append(subspace_angle(model.components_, problem.basis))
    assert np.median(angles[-5:]) < 3e-3
    slope = np.polyfit(np.log(np.arange(1, 21)), np.log(angles), 1)[0]
    assert -1.5 < slope < -0.3  # a power of the number of samples; a linear rate would reach rounding level


def test_mirror_descent_stops_at_tol(easy):
    model = RobustMD(3, tol=0.05, random_state=0).fit(easy.data)
    assert model.converged_
    assert model.history_[-1]["moved"] <= 0.05
    assert model.n_iter_ == model.history_[-1]["n_iter"] < 3000
    message = "RobustMD stopped after max_iter=200 iterations, before it reached tol=1e-06"
    with pytest.warns(ConvergenceWarning, match=message):
        model = RobustMD(3, tol=1e-6, max_iter=200, random_state=0).fit(easy.data)
    assert model.status_ == "max_iter"


# ---- all methods


@pytest.mark.parametrize("outliers", [0, 0.3, 0.5])
@pytest.mark.parametrize("method", ROBUST)
def test_robust_methods_recover_where_pca_fails(method, outliers):
    problem = make_low_rank(300, 60, 3, outlier_fraction=outliers, singular_values=(1, 4), random_state=9)
    model = method(3).fit(problem.data)
    assert model.converged_
    assert subspace_angle(model.components_, problem.basis) < 1e-6
    if outliers:
        assert subspace_angle(PCA(3).fit(problem.data).components_, problem.basis) > 0.05
    assert ((model.predict(problem.data) == 1) == problem.inlier).mean() > 0.99


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_the_interface_of_gasg21(method, shape):
    problem = make_low_rank(*shape, 3, outlier_fraction=0.2, random_state=1)
    ours = GASG21(3, random_state=0).fit(problem.data)
    model = method(3, **({"max_iter": 200} if method is RobustMD else {})).fit(problem.data)
    for name in ("transform", "score_samples", "decision_function", "predict", "fit_predict", "complete"):
        expected, got = (getattr(m, name)(problem.data) for m in (ours, model))
        assert expected.shape == got.shape, name
        assert expected.dtype == got.dtype, name
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    W = model.transform(problem.data)
    np.testing.assert_allclose(W, problem.data @ model.components_.T, atol=1e-10)
    assert model.inverse_transform(W).shape == shape
    assert (model.n_components_, model.n_features_in_) == (3, shape[1])
    assert model.n_iter_ >= 1
    assert model.converged_ or method is RobustMD
    assert isinstance(model.history_, list)


@pytest.mark.parametrize("method", METHODS)
def test_scale_and_dtype_do_not_matter(method, easy):
    parameters = {"max_iter": 60, "random_state": 0} if method is RobustMD else {}
    expected = method(3, **parameters).fit(easy.data).components_
    for scale in (1e-300, 1e300):
        assert subspace_angle(method(3, **parameters).fit(scale * easy.data).components_, expected) < 1e-7
    single = method(3, **parameters).fit(easy.data.astype(np.float32)).components_
    assert single.dtype == np.float32
    assert subspace_angle(single, expected) < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_zero_samples_do_not_change_the_subspace(method, easy):
    parameters = {"max_iter": 200, "random_state": 0} if method is RobustMD else {}
    padded = np.vstack([easy.data, np.zeros((7, 30))])
    expected = method(3, **parameters).fit(easy.data)
    model = method(3, **parameters).fit(padded)
    if method is not OutlierPursuit:  # its regularization depends on the number of samples
        assert subspace_angle(model.components_, expected.components_) < 1e-7
    assert (model.predict(padded)[-7:] == -1).all()
    with pytest.raises(InvalidInputError, match=r"X of shape \(20, 30\) is zero everywhere"):
        method(3).fit(np.zeros((20, 30)))


@pytest.mark.parametrize("method", METHODS)
def test_incomplete_and_sparse_data_are_refused(method, easy):
    name = method.__name__
    hole = easy.data.copy()
    hole[3, 4] = np.nan
    with pytest.raises(InvalidInputError, match=f"contains NaN or masked entries; {name} needs complete data"):
        method(3).fit(hole)
    with pytest.raises(InvalidInputError, match=f"contains NaN or masked entries; {name} needs complete data"):
        method(3).fit(easy.data, mask=~np.isnan(hole))
    with pytest.raises(InvalidInputError, match=f"sparse matrix; {name} accepts dense arrays"):
        method(3).fit(sp.csr_matrix(easy.data))
    model = method(3).fit(easy.data, mask=np.ones(easy.data.shape, bool))
    with pytest.raises(InvalidInputError, match="needs complete data"):
        model.transform(hole)


@pytest.mark.parametrize("method", [m for m in METHODS if m is not RobustMD])
def test_data_of_a_smaller_rank_is_reported(method, rng):
    flat = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 10))
    if method is OutlierPursuit:  # it completes the basis
        model = method(4, regularization=1.0).fit(flat)
        assert model.rank_ == 2
    else:
        with pytest.warns(ConvergenceWarning, match=f"{method.__name__} found only 2 of n_components=4 dimensions"):
            model = method(4).fit(flat)
        assert (model.status_, model.converged_) == ("rank_deficient", False)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(model.score_samples(flat), 0, atol=1e-7)


@pytest.mark.parametrize("method", [REAPER, FMS, TME, OutlierPursuit])
def test_a_fit_that_does_not_converge_warns(method, noisy):
    message = f"{method.__name__} stopped after max_iter=2 iterations, before it reached tol="
    with pytest.warns(ConvergenceWarning, match=message):
        model = method(3, max_iter=2).fit(noisy)
    assert (model.status_, model.converged_, model.n_iter_) == ("max_iter", False, 2)
    assert len(model.history_) == 2


@pytest.mark.parametrize("method", METHODS)
def test_contamination_is_the_share_of_samples_called_outliers(method, easy):
    labels = method(3, contamination=0.3).fit_predict(easy.data)
    assert np.mean(labels == -1) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        *(
            (m, {"n_components": 30}, r"n_components=30 must be an integer in \[1, n_features - 1 = 29\]")
            for m in METHODS
        ),
        *((m, {"contamination": 2}, "contamination=2 must be a number") for m in METHODS),
        *((m, {"tol": -1}, "tol=-1 must be a number") for m in METHODS[2:]),
        *((m, {"max_iter": 0}, "max_iter=0 must be an integer of at least 1") for m in METHODS[2:]),
        (REAPER, {"delta": 0}, "delta=0 must be a number"),
        (REAPER, {"spherize": 1}, "spherize=1 must be True or False"),
        (FMS, {"power": 3}, "power=3 must be a number in"),
        (FMS, {"init": "best"}, "init='best' must be one of 'pca', 'random'"),
        (TME, {"shrinkage": 1}, "shrinkage=1 must be a number"),
        (OutlierPursuit, {"regularization": "best"}, "regularization='best' must be one of 'published', 'log'"),
        (OutlierPursuit, {"regularization": 0}, "regularization=0 must be a number"),
        (RobustMD, {"step_size": 0}, "step_size=0 must be a number"),
    ],
)
def test_bad_parameters_are_named(method, parameters, message, easy):
    with pytest.raises(InvalidInputError, match=message):
        method(**{"n_components": 3, **parameters}).fit(easy.data)


def test_all_methods_are_public():
    assert {m.__name__ for m in METHODS} <= set(baselines.__all__)


def test_coordinates_and_completed_bases(rng):
    X = rng.standard_normal((5, 9))
    Z, B = coordinates(X)
    assert Z.shape == (5, 5)
    np.testing.assert_allclose(Z @ B, X, atol=1e-13)
    assert coordinates(X.T)[1] is None
    rows = np.linalg.qr(X.T)[0].T[:2]
    basis = completed_basis(rows, 4)
    np.testing.assert_array_equal(basis[:2], rows)
    np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-13)


@pytest.mark.parametrize("method", [PCA, REAPER, FMS, OutlierPursuit])
def test_more_features_than_samples_make_no_difference(method):
    """Adding zero samples gives more samples than features, which is the other code path."""
    X = make_low_rank(30, 50, 3, outlier_fraction=0.3, noise=0.05, random_state=3).data
    parameters = {"regularization": 0.4, "tol": 1e-9, "max_iter": 5000} if method is OutlierPursuit else {}
    wide, padded = (method(3, **parameters).fit(part) for part in (X, np.vstack([X, np.zeros((30, 50))])))
    assert subspace_angle(wide.components_, padded.components_) < 1e-6


@pytest.mark.parametrize("method", [PCA, SphericalPCA, FMS])
def test_large_data_takes_the_partial_decomposition(method):
    problem = make_low_rank(700, 500, 4, outlier_fraction=0.4 if method is FMS else 0, random_state=2)
    assert subspace_angle(method(4).fit(problem.data).components_, problem.basis) < 1e-9
