"""LBF, LRR, SSC and SSC-OMP: literal algorithms, optimality conditions, recovery and validation."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import linprog
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from gasg21.baselines import LBF, LRR, SSC, SSCOMP
from gasg21.baselines._spectral import embed, k_means, spectral_labels, unit_rows
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import clustering_error, subspace_angle

ALL = [LBF, LRR, SSC, SSCOMP]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def union():
    return make_union_of_subspaces(60, 20, 2, 3, random_state=0)


@pytest.fixture
def noisy(union, rng):
    """Return samples near three planes; the first six are corrupted."""
    X = union.data + 0.01 * rng.standard_normal(union.data.shape)
    X[:6] += 2 * rng.standard_normal((6, 20))
    return X


@pytest.fixture
def unit(union, rng):
    """Return samples of unit length near three planes."""
    X = union.data + 0.05 * rng.standard_normal(union.data.shape)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


# ---------------------------------------------------------------- contract


# The checks fit noise, on which some iterations do not converge.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [LBF(), LRR(), SSC(), LBF(refine=3, affine=False), LRR(affine=True), SSC(affine=True, keep=0.7), SSCOMP()]
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    if isinstance(estimator, SSCOMP) and getattr(check, "func", check).__name__ == "check_clustering":
        pytest.skip("in the plane two samples explain any other, so that the graph of the pursuit falls to pieces")
    check(estimator)


@pytest.mark.parametrize("method", ALL)
def test_missing_entries_are_refused(method, union):
    X = union.data.copy()
    X[3, 4] = X[5, 6] = np.nan
    with pytest.raises(InvalidInputError, match=rf"2 missing entries \(NaN\); {method.__name__} needs complete"):
        method().fit(X)
    with pytest.raises(InvalidInputError, match=r"2 missing entries \(masked\)"):
        method().fit(np.ma.masked_invalid(X))


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        (LBF, {"n_clusters": 0}, r"n_clusters=0 must be an integer in \[1, n_samples = 60\]"),
        (LRR, {"n_clusters": 61}, r"n_clusters=61 must be"),
        (SSC, {"n_clusters": 2.0}, r"n_clusters=2.0 must be an integer"),
        (LBF, {"n_components": 20}, r"n_components=20 must be an integer in \[1, n_features - 1 = 19\]"),
        (LBF, {"n_candidates": 1}, r"n_candidates=1 must be an integer in \[2, n_samples = 60\]"),
        (LBF, {"n_components": 3, "start": 3}, r"start=3 must be an integer in \[4, n_samples = 60\]"),
        (LBF, {"affine": None}, r"affine=None must be True or False"),
        (LBF, {"step": 0}, r"step=0 must be"),
        (LBF, {"refine": -1}, r"refine=-1 must be"),
        (LBF, {"tol": -1.0}, r"tol=-1.0 must be a number in \[0, inf\)"),
        (LRR, {"lam": 0}, r"lam=0 must be a number in \(0, inf\)"),
        (LRR, {"power": -2}, r"power=-2 must be"),
        (LRR, {"growth": 1.0}, r"growth=1.0 must be a number in \(1, inf\)"),
        (LRR, {"affine": "yes"}, r"affine='yes' must be True or False"),
        (LRR, {"tol": 0}, r"tol=0 must be"),
        (SSC, {"alpha": 1}, r"alpha=1 must be a number in \(1, inf\)"),
        (SSC, {"alpha_e": 1}, r"alpha_e=1 must be a number in \(1, inf\)"),
        (SSCOMP, {"n_nonzero": 0}, r"n_nonzero=0 must be an integer of at least 1"),
        (SSCOMP, {"tol": 0}, r"tol=0 must be"),
        (SSC, {"keep": 1.5}, r"keep=1.5 must be a number in \(0, 1\]"),
        (SSC, {"n_components": 21}, r"n_components=21 must be"),
        (SSC, {"affine": 1}, r"affine=1 must be True or False"),
        (SSC, {"max_iter": 0}, r"max_iter=0 must be an integer of at least 1"),
        (SSC, {"random_state": -1}, r"random_state=-1 must be in"),
    ],
)
def test_bad_parameters_are_named(method, parameters, message, union):
    with pytest.raises(InvalidInputError, match=message):
        method(**parameters).fit(union.data)


@pytest.mark.parametrize("method", ALL)
def test_a_refused_fit_changes_nothing(method, union):
    model = method(3, random_state=0).fit(union.data)
    before = dict(vars(model))
    model.set_params(n_clusters=-1)
    with pytest.raises(InvalidInputError, match="n_clusters=-1"):
        model.fit(union.data[:, :5])
    after = {**vars(model), "n_clusters": before["n_clusters"]}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@pytest.mark.parametrize("method", ALL)
def test_entries_whose_squares_overflow_are_refused(method, union):
    with pytest.raises(InvalidInputError, match=r"absolute value 1e\+200; .* at most 1e\+100"):
        method().fit(np.where(np.eye(60, 20, dtype=bool), 1e200, union.data))


def test_degenerate_samples_are_refused(union):
    with pytest.raises(InvalidInputError, match="is zero everywhere"):
        LRR().fit(np.zeros((5, 3)))
    with pytest.raises(InvalidInputError, match="are zero or orthogonal to each other"):
        SSC().fit(np.eye(5))
    with pytest.raises(InvalidInputError, match=r"n_samples=3 must be at least n_components \+ 1 = 5"):
        LBF(n_components=4).fit(union.data[:3])


@pytest.mark.parametrize("method", [LRR, SSC])
def test_an_unfinished_iteration_warns(method, union):
    message = f"{method.__name__} stopped after max_iter=2 iterations, before it reached tol="
    with pytest.warns(ConvergenceWarning, match=message):
        model = method(3, max_iter=2, random_state=0).fit(union.data)
    assert not model.converged_
    assert model.n_iter_ == 2


@pytest.mark.parametrize("method", ALL)
def test_same_seed_same_labels(method, unit):
    labels = [method(3, random_state=seed).fit_predict(unit) for seed in (5, 5, np.random.default_rng(5))]
    assert np.array_equal(labels[0], labels[1])
    assert labels[2].shape == (60,)


# ---------------------------------------------------------------- recovery


@pytest.mark.parametrize("model", [LBF(3, 2), LRR(3), SSC(3), SSC(3, n_components=6)], ids=repr)
def test_subspaces_are_found(model, union):
    labels = model.set_params(random_state=0).fit_predict(union.data)
    assert clustering_error(union.labels, labels) == 0
    assert model.converged_


@pytest.mark.parametrize("seed", range(3))
def test_subspaces_are_found_by_orthogonal_matching_pursuit(seed):
    # not in the plane, where the graph falls to pieces
    union = make_union_of_subspaces(120, 20, 4, 3, random_state=seed)
    model = SSCOMP(3, n_nonzero=4, random_state=0)
    assert clustering_error(union.labels, model.fit_predict(union.data)) == 0
    assert model.converged_


@pytest.mark.parametrize("model", [LBF(2, 2), LRR(2, affine=True), SSC(2, affine=True, keep=0.7)], ids=repr)
def test_affine_subspaces_are_found(model, rng):
    # two parallel planes, shifted apart
    directions = np.linalg.qr(rng.standard_normal((20, 4)))[0].T
    flats = [rng.standard_normal((40, 2)) @ directions[:2] + shift * directions[3] for shift in (3, -3)]
    labels = model.set_params(random_state=0).fit_predict(np.vstack(flats))
    assert clustering_error(np.repeat([0, 1], 40), labels) == 0


def test_lbf_tolerates_outliers():
    union = make_union_of_subspaces(400, 20, 2, 3, outlier_fraction=0.3, noise=0.01, random_state=1)
    labels = LBF(3, 2, random_state=0).fit_predict(union.data)
    assert clustering_error(union.labels, labels, outlier_label=-1) < 0.02


def test_lrr_errors_show_the_corrupted_samples(noisy):
    lengths = np.linalg.norm(LRR(3, lam=0.05, random_state=0).fit(noisy).errors_, axis=1)
    assert lengths[:6].min() > 2 * lengths[6:].max()


# ---------------------------------------------------------------- LRR


def literal_lrr(X, lam, iterations):
    """Run Algorithm 1 of Liu et al. literally, with X (features, samples) as its own dictionary."""
    n, m = X.shape
    Z, J, E = np.zeros((m, m)), np.zeros((m, m)), np.zeros((n, m))
    Y1, Y2 = np.zeros((n, m)), np.zeros((m, m))
    mu = 1e-6
    inverse = np.linalg.inv(np.eye(m) + X.T @ X)
    for _ in range(iterations):
        U, s, V = np.linalg.svd(Z + Y2 / mu)
        J = U @ np.diag(np.maximum(s - 1 / mu, 0)) @ V
        Z = inverse @ (X.T @ X - X.T @ E + J + (X.T @ Y1 - Y2) / mu)
        residual = X - X @ Z + Y1 / mu
        for i in range(m):
            length = np.linalg.norm(residual[:, i])
            E[:, i] = residual[:, i] * max(length - lam / mu, 0) / length
        Y1 = Y1 + mu * (X - X @ Z - E)
        Y2 = Y2 + mu * (Z - J)
        mu = min(1.1 * mu, 1e10)
    return Z, E


@pytest.mark.parametrize("lam", [0.3, 4])
def test_lrr_equals_its_literal_algorithm(noisy, lam):
    model = LRR(3, lam=lam, random_state=0).fit(noisy)
    Z, E = literal_lrr(noisy.T, lam, model.n_iter_)
    # The inverse of I + X'X, of condition about 100, amplifies rounding errors.
    np.testing.assert_allclose(model.coefficients_, Z.T, atol=1e-9)
    np.testing.assert_allclose(model.errors_, E.T, atol=1e-9)


@pytest.mark.parametrize("power", [2, 4])
def test_lrr_affinity_is_that_of_the_published_code(noisy, power):
    model = LRR(3, lam=0.1, power=power, random_state=0).fit(noisy)
    U, s, _ = np.linalg.svd(model.coefficients_.T)
    kept = [k for k in range(60) if s[k] > 1e-4 * s[0]]
    assert s[kept[-1]] < 0.8 * s[0]  # weak directions are kept, too
    rows = np.array([[U[i, k] * np.sqrt(s[k]) for k in kept] for i in range(60)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(model.affinity_, (rows @ rows.T) ** power, atol=1e-9)


def test_lrr_of_clean_data_is_the_shape_interaction_matrix(union):
    model = LRR(3, lam=100, growth=1.01, random_state=0).fit(union.data)
    V = np.linalg.svd(union.data)[0][:, :6]  # rank 3 x 2
    np.testing.assert_allclose(model.coefficients_, V @ V.T, atol=1e-6)
    assert np.abs(model.errors_).max() < 1e-6


@pytest.mark.parametrize("lam", [0.05, 0.1])
def test_lrr_meets_its_optimality_conditions(noisy, lam):
    """Multipliers Y with Y in lam d|E|_21 and Y X' in d|Z|_* prove that Z and E are optimal."""
    model = LRR(3, lam=lam, growth=1.003, random_state=0).fit(noisy)
    Z, E = model.coefficients_, model.errors_
    np.testing.assert_allclose(Z @ noisy + E, noisy, atol=1e-7)

    length = np.linalg.norm(E, axis=1, keepdims=True)
    assert length.min() > 0.01  # no row of E is zero, so E determines Y
    dual = lam * (E / length) @ noisy.T
    U, s, V = np.linalg.svd(Z)
    rank = int((s > 1e-6).sum())
    assert rank < 12
    # d|Z|_* at Z = U S V is the set of all U V + W with U'W = 0, W V' = 0, |W|_2 <= 1.
    np.testing.assert_allclose(U[:, :rank].T @ dual, V[:rank], atol=1e-5)
    np.testing.assert_allclose(dual @ V[:rank].T, U[:, :rank], atol=1e-5)
    assert np.linalg.norm(dual, 2) <= 1 + 1e-5


@pytest.mark.parametrize("lam", [0.1, 0.3, 4])
def test_lrr_closes_the_duality_gap(noisy, lam):
    assert LRR(3, lam=lam, growth=1.003, random_state=0).fit(noisy).duality_gap_ < 1e-6


def test_lrr_duality_gap_bounds_the_distance_to_the_minimum(noisy):
    fast, exact = (LRR(3, lam=1, growth=growth, random_state=0).fit(noisy) for growth in (1.1, 1.003))

    def objective(model):
        nuclear = np.linalg.svd(model.coefficients_, compute_uv=False).sum()
        return nuclear + np.linalg.norm(model.errors_, axis=1).sum()

    excess = 1 - objective(exact) / objective(fast)
    assert 0 < excess <= fast.duality_gap_


# ---------------------------------------------------------------- SSC


def largest_violation(X, C, weight, affine):
    """Return the largest violation of the subgradient conditions of the rows."""
    worst = 0.0
    for i in range(len(X)):
        gradient = weight * (C[i] @ X - X[i]) @ X.T
        support, others = np.abs(C[i]) > 1e-7, np.arange(len(X)) != i
        multiplier = -np.mean((gradient + np.sign(C[i]))[support]) if affine else 0.0
        on = np.abs(gradient + multiplier + np.sign(C[i]))[support]
        off = np.abs(gradient + multiplier)[~support & others] - 1
        worst = max(worst, on.max(), off.max(initial=0))
    return worst


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("alpha", [5, 50])
def test_ssc_meets_its_optimality_conditions(unit, affine, alpha):
    model = SSC(3, alpha=alpha, affine=affine, tol=1e-10, max_iter=20_000, random_state=0).fit(unit)
    C = model.coefficients_
    assert model.converged_
    assert not np.diag(C).any()
    assert largest_violation(unit, C, model.weight_, affine) < 1e-5
    if affine:
        np.testing.assert_allclose(C.sum(axis=1), 1, atol=1e-7)
    # A matrix C that is not optimal must fail the check.
    assert largest_violation(unit, 0.9 * C, model.weight_, affine) > 0.1


def test_ssc_weights_the_error_as_in_the_paper(unit):
    model = SSC(3, alpha=50, random_state=0).fit(unit)
    mu = min(max(abs(unit[i] @ unit[j]) for j in range(60) if j != i) for i in range(60))
    assert model.weight_ == pytest.approx(50 / mu)
    # For weights above 1 / mu every sample has nonzero coefficients.
    assert (np.abs(model.coefficients_).max(axis=1) > 0).all()


def test_ssc_affinity_is_that_of_the_published_code(unit):
    model = SSC(3, keep=0.7, random_state=0).fit(unit)
    expected = np.zeros((60, 60))
    for i, row in enumerate(np.abs(model.coefficients_)):
        total = 0.0
        for j in np.argsort(-row):
            expected[i, j] = row[j] / row.max()
            total += row[j]
            if total >= 0.7 * row.sum():
                break
    assert (expected > 0).sum() < (model.coefficients_ != 0).sum()
    np.testing.assert_allclose(model.affinity_, expected + expected.T, atol=1e-14)


def test_ssc_accepts_a_zero_sample(unit):
    unit[4] = 0
    model = SSC(3, random_state=0).fit(unit)
    assert not model.affinity_[4].any()
    assert model.labels_.shape == (60,)


def test_ssc_projects_onto_principal_directions(unit):
    V = np.linalg.svd(unit)[2][:8]
    projected, direct = SSC(3, n_components=8, random_state=0), SSC(3, random_state=0)
    a, b = projected.fit(unit).coefficients_, direct.fit(unit @ V.T).coefficients_
    np.testing.assert_allclose(a, b, atol=1e-10)


def least_corrupted(X, weight, affine):
    """Return the least |c|_1 + weight |e|_1 of each row with x = c X + e, by linear programs."""
    m, n = X.shape
    out = []
    for i in range(m):
        others = np.delete(X, i, axis=0).T
        equal = np.hstack([others, -others, np.eye(n), -np.eye(n)])
        sums = np.r_[np.ones(m - 1), -np.ones(m - 1), np.zeros(2 * n)]
        cost = np.r_[np.ones(2 * (m - 1)), np.full(2 * n, weight)]
        equal, right = (np.vstack([equal, sums]), np.r_[X[i], 1]) if affine else (equal, X[i])
        out.append(linprog(cost, A_eq=equal, b_eq=right).fun)
    return np.array(out)


@pytest.mark.parametrize("affine", [False, True])
def test_ssc_finds_corrupted_entries_as_linear_programs_do(rng, affine):
    X = make_union_of_subspaces(24, 12, 2, 2, random_state=5).data
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[rng.random(X.shape) < 0.05] += 1
    model = SSC(2, alpha=20, alpha_e=20, affine=affine, tol=1e-9, max_iter=50_000, random_state=0).fit(X)
    assert model.converged_
    assert model.weight_ == pytest.approx(20 / sorted(np.abs(X).sum(axis=1))[-2])
    C, E = model.coefficients_, model.errors_
    np.testing.assert_allclose(C @ X + E, X, atol=1e-6)
    assert not np.diag(C).any()
    objective = np.abs(C).sum(axis=1) + model.weight_ * np.abs(E).sum(axis=1)
    np.testing.assert_allclose(objective, least_corrupted(X, model.weight_, affine), rtol=1e-5)


# ---------------------------------------------------------------- SSC-OMP


def literal_pursuit(X, i, most, tol):
    """Explain row i by others, one after the other."""
    chosen, c, left = [], np.zeros(0), X[i]
    while len(chosen) < most and np.linalg.norm(left) > tol:
        cosines = [0 if j == i or j in chosen else abs(left @ X[j]) for j in range(len(X))]
        chosen.append(int(np.argmax(cosines)))
        c = np.linalg.lstsq(X[chosen].T, X[i])[0]
        left = X[i] - c @ X[chosen]
    row = np.zeros(len(X))
    row[chosen] = c
    return row


@pytest.mark.parametrize("most", [1, 2, 4])
def test_ssc_omp_equals_its_literal_algorithm(union, unit, most):
    for X, steps in ((unit, most), (union.data, min(most, 2))):  # two members explain a third one of a plane
        model = SSCOMP(3, n_nonzero=most, random_state=0).fit(5 * X)
        Y = X / np.linalg.norm(X, axis=1, keepdims=True)
        expected = [literal_pursuit(Y, i, most, 1e-3) for i in range(60)]
        np.testing.assert_allclose(model.coefficients_, expected, atol=1e-8)
        np.testing.assert_allclose(model.affinity_, np.abs(expected) + np.abs(expected).T, atol=1e-8)
        assert model.n_iter_ == steps


def test_ssc_omp_leaves_alone_what_nothing_explains():
    X = np.eye(6)[[0, 0, 1, 1, 2, 3]]
    X[5] = 0
    model = SSCOMP(2, random_state=0).fit(X)
    assert (np.abs(model.coefficients_).sum(axis=1) > 0).tolist() == [True] * 4 + [False] * 2


# ---------------------------------------------------------------- LBF


def rms_to_flat(points, d, affine=True):
    centered = points - points.mean(axis=0) if affine else points
    s = np.linalg.svd(centered, compute_uv=False)
    return np.sqrt((s[d:] ** 2).sum() / len(points))


def literal_size(X, x, d, start, step, affine=True):
    """Return the neighborhood size of Zhang et al. for one sample, by a literal loop."""
    nearest = np.argsort(np.linalg.norm(X - x, axis=1))
    betas = []
    for size in range(start, len(X) + 1, step):
        points = X[nearest[:size]]
        betas.append(rms_to_flat(points, d, affine) / np.linalg.norm(points - x, axis=1).max())
        if len(betas) > 2 and betas[-2] < min(betas[-3], betas[-1]):
            return size - step
    return start + step * int(np.argmin(betas))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(("d", "start", "step"), [(1, None, 2), (2, None, 2), (2, 5, 1), (3, 8, 3)])
def test_lbf_neighborhoods_equal_the_literal_loop(d, start, step, affine):
    union = make_union_of_subspaces(90, 6, 2, 2, noise=0.05, random_state=3)
    model = LBF(2, d, affine=affine, n_candidates=90, start=start, step=step, random_state=0).fit(union.data)
    expected = [literal_size(union.data, x, d, start or 2 * d, step, affine) for x in union.data]
    assert sorted(model.neighborhood_sizes_) == sorted(expected)
    assert len(set(expected)) > 3


def test_lbf_flats_may_pass_through_the_origin():
    union = make_union_of_subspaces(90, 20, 2, 3, noise=0.01, random_state=3)
    model = LBF(3, 2, affine=False, refine=20, random_state=0).fit(union.data)
    assert clustering_error(union.labels, model.labels_) == 0
    assert not model.means_.any()
    for k, directions in enumerate(model.components_):
        best = np.linalg.svd(union.data[model.labels_ == k])[2][:2]
        assert subspace_angle(directions, best) < 1e-10


def distances_to_flat(X, mean, V):
    return np.array([np.linalg.norm((y - mean) - V.T @ (V @ (y - mean))) for y in X])


@pytest.mark.parametrize("seed", range(6))
def test_lbf_selects_flats_that_no_replacement_improves(seed):
    X = make_union_of_subspaces(70, 6, 2, 3, noise=0.1, random_state=4).data
    model = LBF(3, 2, n_candidates=70, random_state=seed).fit(X)
    candidates = []
    for x in X:
        points = X[np.argsort(np.linalg.norm(X - x, axis=1))[: literal_size(X, x, 2, 4, 2)]]
        mean = points.mean(axis=0)
        candidates.append(distances_to_flat(X, mean, np.linalg.svd(points - mean)[2][:2]))
    candidates = np.array(candidates)

    mine = np.array([distances_to_flat(X, *flat) for flat in zip(model.means_, model.components_, strict=True)])
    for row in mine:  # each selected flat is one of the candidates
        assert np.abs(candidates - row).max(axis=1).min() < 1e-10
    np.testing.assert_allclose(model.components_ @ model.components_.transpose(0, 2, 1), [np.eye(2)] * 3, atol=1e-12)
    assert model.energy_ == pytest.approx(mine.min(axis=0).sum())
    assert np.array_equal(model.labels_, mine.argmin(axis=0))
    for k in range(3):
        others = np.delete(mine, k, axis=0).min(axis=0)
        for candidate in candidates:
            assert np.minimum(candidate, others).sum() >= model.energy_ - 1e-9
    assert model.n_iter_ > 1  # the random start was not optimal


def test_lbf_grows_over_equal_betas():
    # Twelve samples lie on a line, the others far from it: beta is 0 for the first twelve neighbors.
    line = np.outer(np.arange(12.0), [1, 2, 2])
    off = np.random.default_rng(0).standard_normal((12, 3)) + 100
    model = LBF(1, 1, n_candidates=24, start=2, random_state=0).fit(np.vstack([line, off]))
    assert (model.neighborhood_sizes_ == 12).sum() >= 12


def test_lbf_refinement_lowers_the_squared_error():
    union = make_union_of_subspaces(200, 10, 2, 3, noise=0.2, random_state=2)
    plain, refined = (LBF(3, 2, refine=refine, random_state=0).fit(union.data) for refine in (0, 20))

    def squares(model):
        return sum(
            len(part) * rms_to_flat(part, 2) ** 2
            for part in (union.data[model.labels_ == k] for k in range(3))
            if len(part)
        )

    assert squares(refined) < squares(plain)
    assert np.array_equal(refined.predict(union.data), refined.labels_)


def test_lbf_predicts_the_nearest_flat():
    union = make_union_of_subspaces(300, 20, 2, 3, random_state=5)
    model = LBF(3, 2, random_state=0).fit(union.data[:200])
    assert clustering_error(union.labels[200:], model.predict(union.data[200:])) == 0
    assert np.array_equal(model.predict(union.data[:200]), model.labels_)


# ---------------------------------------------------------------- spectral clustering


@pytest.mark.parametrize("embedding", ["unit_rows", "ncut"])
def test_spectral_labels_find_the_clusters(rng, embedding):
    truth = np.repeat([0, 1, 2], [30, 20, 10])
    affinity = np.where(truth[:, None] == truth, 1.0, 0.02) * rng.uniform(0.5, 1, (60, 60))
    order = rng.permutation(60)
    affinity = (affinity + affinity.T)[np.ix_(order, order)]
    labels = spectral_labels(affinity, 3, 0, embedding=embedding)
    assert clustering_error(truth[order], labels) == 0
    assert np.array_equal(labels, spectral_labels(affinity, 3, 0, embedding=embedding))
    assert set(labels) == {0, 1, 2}


def test_spectral_embedding_is_that_of_normalized_cuts(rng):
    W = rng.uniform(0, 1, (12, 12))
    W = W + W.T
    D = np.diag(W.sum(axis=1))
    values, vectors = eigh(W, D)
    cut = embed(W, 4, "ncut")
    # W y = lambda D y for the four largest lambda, with y'Dy = 1
    np.testing.assert_allclose(W @ cut, D @ cut * values[-4:], atol=1e-12)
    np.testing.assert_allclose(np.abs(cut), np.abs(vectors[:, -4:]), atol=1e-12)
    rows = np.sqrt(D) @ cut
    np.testing.assert_allclose(embed(W, 4, "unit_rows"), rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-12)


def test_spectral_labels_accept_samples_without_affinity(rng):
    truth = np.repeat([0, 1], 10)
    affinity = np.where(truth[:, None] == truth, 1.0, 0.0)
    affinity[0] = affinity[:, 0] = 0
    labels = spectral_labels(affinity, 2, 0)
    assert clustering_error(truth[1:], labels[1:]) == 0
    assert set(spectral_labels(np.zeros((4, 4)), 2, 0)) <= {0, 1}
    with pytest.raises(InvalidInputError, match="embedding='rows' must be one of"):
        spectral_labels(affinity, 2, 0, embedding="rows")


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 20])
def test_k_means_is_as_good_as_that_of_scikit_learn(rng, n_clusters):
    points = rng.standard_normal((n_clusters, 4))[rng.integers(n_clusters, size=300)]
    points += 0.1 * rng.standard_normal(points.shape)
    labels = k_means(points, n_clusters, 0, 10)
    means = np.stack([points[labels == k].mean(axis=0) for k in range(n_clusters)])
    cost = np.sum((points - means[labels]) ** 2)
    # The clusters are far apart, so that both find the same minimum.
    assert cost == pytest.approx(KMeans(n_clusters, n_init=10, random_state=0).fit(points).inertia_, rel=1e-9)
    distances = np.linalg.norm(points[:, None] - means, axis=2)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))  # Lloyd's algorithm has come to its end


def test_unit_rows_of_any_size():
    X = np.array([[3e300, 4e300], [3e-300, 4e-300], [0, 0], [np.nan, 2]])
    np.testing.assert_allclose(unit_rows(X), [[0.6, 0.8], [0.6, 0.8], [0, 0], [0, 1]])
