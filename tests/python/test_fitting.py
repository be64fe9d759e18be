"""Beyond the paper: scaled steps, the polish, honest answers."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import paper

from gasg21 import GASG21, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import relative_residual, subspace_angle


def problem_of(m, n, d, *, condition=1, outliers=0.5, observed=0.7, noise=0.0, seed=0):
    return make_low_rank(
        *(m, n, d),
        outlier_fraction=outliers,
        observed_fraction=observed,
        singular_values=np.geomspace(1, condition, d),
        noise=noise,
        random_state=seed,
    )


def vectors_to(model, problem, angle, limit):
    """Vectors of a shuffled stream until the angle to the truth is reached."""
    rng, m, used = np.random.default_rng(0), len(problem.data), 0
    while used < limit:
        for rows in np.split(rng.permutation(m), m // 100):
            used += 100
            if subspace_angle(model.partial_fit(problem.data[rows]).components_, problem.basis) <= angle:
                return used
    return np.inf


@pytest.mark.parametrize(("condition", "bound"), [(1, 1300), (10, 1500), (100, 3300), (1000, 4500)])
def test_scaled_streams_do_not_mind_the_condition(condition, bound):
    problems = [problem_of(1000, 500, 5, condition=condition, seed=s) for s in range(60, 63)]
    counts = [vectors_to(GASG21(5, random_state=s), p, 1e-6, 30_000) for s, p in enumerate(problems)]
    assert np.median(counts) <= bound


def test_the_papers_metric_does_mind_it():
    assert vectors_to(paper(5, random_state=0), problem_of(1000, 500, 5, condition=100, seed=60), 1e-6, 6000) == np.inf


HARD = {
    "condition 1000": {"m": 1000, "n": 500, "d": 5, "condition": 1000, "outliers": 0.65},
    "80 % outliers": {"m": 1000, "n": 500, "d": 10, "condition": 30, "outliers": 0.8},
    "10 % observed": {"m": 1000, "n": 500, "d": 5, "condition": 10, "observed": 0.1},
    "90 % outliers": {"m": 1000, "n": 200, "d": 5, "outliers": 0.9},
    "few samples": {"m": 200, "n": 100, "d": 5, "condition": 100, "observed": 1.0},
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.parametrize(("tol", "bound"), [(1e-6, 1e-6), (1e-10, 1e-10)])
def test_fit_solves_what_the_stream_cannot(case, tol, bound):
    problem = problem_of(**HARD[case], seed=71)
    model = GASG21(HARD[case]["d"], tol=tol, random_state=1).fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) <= bound
    assert model.status_ == "converged"
    assert {record["stage"] for record in model.history_} == {"stream", "polish"}


@pytest.mark.parametrize("noise", [1e-3, 1e-1])
@pytest.mark.parametrize("condition", [1, 10])
def test_fit_knows_its_error_under_noise(noise, condition):
    problem = problem_of(3000, 300, 5, condition=condition, noise=noise, seed=72)
    model = GASG21(5, random_state=0).fit(problem.data)
    angle = subspace_angle(model.components_, problem.basis)
    assert model.status_ == "noise_floor"
    assert model.converged_
    assert angle / 1.5 < model.estimated_angle_ < angle * 1.5
    assert sum(record["stage"] == "polish" for record in model.history_) <= 10
    # the truth's own inliers, by least squares: no more than 10 % better
    inliers = np.nan_to_num(problem.data[problem.inlier]), problem.mask[problem.inlier]
    assert angle < 1.1 * subspace_angle(alternating_least_squares(*inliers, problem.basis), problem.basis)


def alternating_least_squares(X, mask, start):
    """Least squares on given inliers, from the truth: the best that can be expected."""
    U, M = start.T, mask.astype(float)
    for _ in range(10):
        W = np.linalg.solve(np.einsum("mi,ia,ib->mab", M, U, U, optimize=True), (X @ U)[..., None])[..., 0]
        U = np.linalg.solve(np.einsum("mi,ma,mb->iab", M, W, W, optimize=True), (X.T @ W)[..., None])[..., 0]
    return U.T


HOPELESS = {
    "too little observed": {"m": 200, "n": 200, "d": 5, "outliers": 0.3, "observed": 0.07},
    "only outliers": {"m": 1000, "n": 200, "d": 5, "outliers": 1.0},
    "only outliers, little observed": {"m": 1000, "n": 200, "d": 5, "outliers": 1.0, "observed": 0.07},
}


@pytest.mark.parametrize("case", HOPELESS)
@pytest.mark.parametrize("seed", range(3))
def test_what_the_data_does_not_determine_is_called_so(case, seed):
    problem = problem_of(**HOPELESS[case], seed=80 + seed)
    with pytest.warns(ConvergenceWarning, match="does not determine"):
        model = GASG21(5, random_state=seed).fit(problem.data)
    assert model.status_ == "undetermined"
    assert not model.converged_


@pytest.mark.parametrize(("noise", "status"), [(0.0, "rank_deficient"), (0.1, "undetermined")])
def test_too_many_dimensions_are_noticed(noise, status):
    problem = problem_of(1000, 200, 5, noise=noise, seed=85)
    with pytest.warns(ConvergenceWarning, match="smaller n_components"):
        assert GASG21(8, random_state=0).fit(problem.data).status_ == status


def test_a_good_fit_is_believed_in_few_dimensions():
    """A subspace of a few coordinates always has a large share of some: that is no reason to doubt it."""
    problem = problem_of(400, 6, 3, outliers=0.2, observed=1.0, seed=86)
    assert GASG21(3, random_state=0).fit(problem.data).converged_


@pytest.mark.parametrize("metric", ["scaled", "canonical"])
@pytest.mark.parametrize("polish", [True, False])
def test_both_stages_can_be_had_alone(metric, polish):
    problem = problem_of(1000, 100, 4, outliers=0.4, seed=87)
    model = GASG21(4, metric=metric, polish=polish, random_state=0).fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) < 2e-6
    assert model.converged_
    assert ("polish" in {record["stage"] for record in model.history_}) == polish


def test_a_scaled_stream_alone_ends_at_the_noise():
    problem = problem_of(1000, 100, 4, outliers=0.4, noise=0.05, seed=88)
    model = GASG21(4, polish=False, random_state=0).fit(problem.data)
    assert model.status_ == "noise_floor"
    assert model.n_passes_ < 20


@pytest.mark.parametrize("forgetting", [0.99, 0.998])
def test_a_scaled_stream_resumes_bit_for_bit(forgetting):
    X = problem_of(300, 80, 4, condition=50, seed=89).data
    straight, resumed = (
        _core.Tracker64(80, 4, _core.AdaptiveStep(), 3, "l21", _core.CovarianceScaling(forgetting)) for _ in range(2)
    )
    straight.consume(X)
    for k in range(0, 300, 10):
        resumed.consume(X[k : k + 10])
        resumed = _core.Tracker64._from_state(resumed.__getstate__())
    assert resumed.components().tobytes() == straight.components().tobytes()


def test_nan_mask_csr_and_layouts_give_the_same_fit(problem, monkeypatch):
    expected = GASG21(3, random_state=0).fit(problem.data)
    rows, columns = np.nonzero(problem.mask)
    csr = sp.csr_matrix((problem.data[problem.mask], (rows, columns)), shape=problem.data.shape)
    masked = np.ma.masked_array(np.nan_to_num(problem.data), ~problem.mask)
    monkeypatch.setattr("gasg21._data.samples._BATCH_ENTRIES", 60 * 41)
    for X, mask in [
        (np.nan_to_num(problem.data), problem.mask),
        (csr, None),
        (np.asfortranarray(problem.data), None),
        (masked, None),
    ]:
        model = GASG21(3, random_state=0).fit(X, mask=mask)
        assert model.components_.tobytes() == expected.components_.tobytes()
        assert model.estimated_angle_ == expected.estimated_angle_


def test_scales_change_nothing_in_a_fit(problem, rng):
    expected = GASG21(3, random_state=0).fit(problem.data)
    for k in (-300, -155, 155, 300):
        model = GASG21(3, random_state=0).fit(problem.data * 10.0 ** rng.choice([0, k], (600, 1)))
        assert subspace_angle(model.components_, expected.components_) < 1e-9
        assert model.status_ == "converged"
        assert GASG21(3, metric="canonical", polish=False, random_state=0).fit(problem.data * 10.0**k).converged_


@pytest.mark.parametrize("d", [2, 5, 10])
@pytest.mark.parametrize(("outliers", "observed", "condition"), [(0.0, 1.0, 1), (0.5, 0.7, 10), (0.65, 0.5, 3)])
def test_the_dimension_is_found(d, outliers, observed, condition):
    problem = problem_of(800, 150, d, condition=condition, outliers=outliers, observed=observed, noise=0.01, seed=91)
    model = GASG21("auto", random_state=0).fit(problem.data)
    assert model.n_components_ == d
    assert model.partial_fit(problem.data[:5]).n_components_ == d


def test_auto_works_for_streams_too():
    problem = problem_of(800, 60, 3, seed=92)
    assert GASG21("auto", random_state=0).partial_fit(problem.data).n_components_ == 3


def test_working_components_do_not_hurt_where_they_do_not_help():
    problem = problem_of(1000, 200, 4, noise=0.05, seed=93)
    plain = GASG21(4, random_state=0).fit(problem.data)
    more = GASG21(4, working_components=8, random_state=0).fit(problem.data)
    assert more.components_.shape == (4, 200)
    assert _core.orthonormality_error(more.components_) < 1e-12
    angle = subspace_angle(plain.components_, problem.basis)
    assert subspace_angle(more.components_, problem.basis) < 1.1 * angle
    assert more.partial_fit(problem.data[:10]).components_.shape == (4, 200)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"working_components": 2}, r"working_components=2 must be an integer in \[3, n_features - 1 = 59\]"),
        ({"working_components": 6, "polish": False}, "must be None with polish=False"),
        ({"metric": "euclid"}, "metric='euclid' must be one of 'scaled', 'canonical'"),
        ({"scaling": "yes"}, "scaling='yes' must be True or False"),
        ({"polish": None}, "polish=None must be True or False"),
        ({"n_components": "all"}, "n_components='all' must be an integer"),
    ],
)
def test_bad_parameters_are_named(problem, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        GASG21(**{"n_components": 3, **parameters}).fit(problem.data)


def test_a_stream_follows_a_change_and_survives_a_storm():
    before, after = (problem_of(4000, 200, 4, seed=s) for s in (94, 95))
    model = GASG21(4, random_state=0)
    for _ in range(3):
        model.partial_fit(before.data)
    reached = subspace_angle(model.components_, before.basis)
    assert reached < 1e-6
    model.partial_fit(np.random.default_rng(0).standard_normal((5000, 200)))
    assert subspace_angle(model.components_, before.basis) < 1e-2
    model.partial_fit(before.data[:3000])
    assert subspace_angle(model.components_, before.basis) < 1e-6
    model.partial_fit(after.data[:3000])
    assert subspace_angle(model.components_, after.basis) < 1e-3


def test_partial_fit_after_fit_stays_where_it_is():
    problem = problem_of(1000, 200, 4, condition=10, seed=96)
    model = GASG21(4, random_state=0).fit(problem.data)
    model.partial_fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) < 1e-6
    noisy = problem_of(1000, 200, 4, noise=0.01, seed=97)
    model = GASG21(4, random_state=0).fit(noisy.data)
    assert subspace_angle(model.partial_fit(noisy.data).components_, noisy.basis) < 0.02


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.skipif("GASG21_DATA" not in os.environ, reason="GASG21_DATA does not point at the face data")
def test_faces_are_recovered_better_than_in_the_paper():
    data = np.load(os.path.join(os.environ["GASG21_DATA"], "faces.npz"))
    faces = data["faces"].reshape(5, 64, 900).astype(float)
    background = data["background"].reshape(-1, 900).astype(float)[:400]
    for parameters, bound in (({}, 0.156), ({"working_components": 18}, 0.140)):
        residuals = []
        for seed in range(6):  # one of the people has two answers: the start decides
            for person in faces:
                model = GASG21(9, random_state=seed, **parameters).fit(np.vstack([person, background]))
                residuals.append(relative_residual(person, model.inverse_transform(model.transform(person))))
        assert np.mean(residuals) <= bound


def interrupted(real):
    """A fit of the core that was interrupted just before its end."""

    def run(*given, **named):
        found = real(*given, **named)
        parts = {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}
        return SimpleNamespace(**parts | {"status": "interrupted", "interrupt": KeyboardInterrupt()})

    return run


def test_an_interrupted_fit_keeps_what_it_reached(problem, monkeypatch):
    monkeypatch.setattr(_core, "recover", interrupted(_core.recover))
    model = GASG21(3, contamination=0.3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(problem.data)
    assert model.status_ == "interrupted"
    assert not model.converged_
    assert model.n_iter_ == 1200
    assert subspace_angle(model.components_, problem.basis) < 1e-6
    assert subspace_angle(model.partial_fit(problem.data).components_, problem.basis) < 1e-6


def test_an_error_of_the_progress_bar_leaves_the_model_as_it_was(problem, monkeypatch):
    model = GASG21(3, random_state=0).fit(problem.data)
    before = model.components_
    found = SimpleNamespace(interrupt=ZeroDivisionError("the bar broke"))
    monkeypatch.setattr(_core, "recover", lambda *_, **__: found)
    with pytest.raises(ZeroDivisionError, match="the bar broke"):
        model.fit(problem.data[:, :50])
    assert model.components_ is before
    assert model.n_features_in_ == 60


def test_a_stream_alone_does_not_claim_what_it_cannot_know(rng):
    with pytest.warns(ConvergenceWarning, match="does not determine"):
        model = GASG21(5, polish=False, random_state=0).fit(rng.standard_normal((400, 60)))
    assert model.status_ == "undetermined"
    assert model.estimated_angle_ > 0.22


def test_a_subspace_of_coordinates_is_believed(rng):
    """Held-out zeros, and a coordinate that lies in the subspace as a whole, are no reason for doubt."""
    X = np.zeros((1000, 100))
    X[:, :5] = rng.standard_normal((1000, 5))
    assert GASG21(5, random_state=0).fit(X).status_ == "converged"


def test_few_samples_can_be_enough(rng):
    X = np.outer([1.0, 2.0, 3.0, 4.0], rng.standard_normal(10))
    assert GASG21(1, random_state=0).fit(X).status_ == "converged"


def test_auto_refuses_what_an_integer_refuses():
    for X, message in ((np.zeros((10, 5)), "no sample of X could be used"), (np.ones((10, 1)), "n_features=1")):
        with pytest.raises(InvalidInputError, match=message):
            GASG21("auto").fit(X)


def test_counters_go_on_after_working_components():
    problem = problem_of(500, 60, 3, noise=0.05, seed=98)
    model = GASG21(3, working_components=6, random_state=0).fit(problem.data)
    used = model.n_iter_
    plain = GASG21(3, random_state=0).fit(problem.data)
    np.testing.assert_array_equal(model.predict(problem.data), plain.predict(problem.data))
    assert model.partial_fit(problem.data[:10]).n_iter_ == used + 10
