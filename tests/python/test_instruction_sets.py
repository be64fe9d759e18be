"""Every instruction set that this machine has: equal to the oracle, and to the others up to rounding."""

from functools import cache
from itertools import accumulate, cycle

import numpy as np
import pytest

import reference
from gasg21 import GASG21, GRASTA, KGASG21, _core
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.metrics import subspace_angle

IN_USE = _core.instruction_set()


def is_here(name):
    try:
        _core.use_instruction_set(name)
    except ValueError:
        return False
    finally:
        _core.use_instruction_set(IN_USE)
    return True


SETS = [name for name in ("baseline", "avx2", "avx512") if is_here(name)]


@pytest.fixture(autouse=True)
def restored():
    yield
    _core.use_instruction_set(IN_USE)


def with_each_set(work):
    """What the work gives with each instruction set, by its name."""
    results = {}
    for name in SETS:
        _core.use_instruction_set(name)
        assert _core.instruction_set() == name
        results[name] = work()
    return results


@cache
def paper_problem(n, d, observed):
    X = make_low_rank(
        1000, n, d, outlier_fraction=0.5, observed_fraction=observed, singular_values=(2000, 10000), random_state=n + d
    ).data
    X.flags.writeable = False
    return X


# All step sizes, shares and lengths; the dimensions are spread over them.
CASES = [
    (eta0, observed, n, d)
    for (eta0, observed, n), d in zip(
        ((eta0, observed, n) for eta0 in (0.1, 0.5, 1.0) for observed in (1.0, 0.7, 0.3, 0.1) for n in (500, 700)),
        cycle((1, 3, 5, 7, 10)),
        strict=False,
    )
]


@pytest.mark.parametrize(("eta0", "observed", "n", "d"), CASES)
def test_a_thousand_updates_equal_the_oracle(eta0, observed, n, d, rng):
    parts = np.split(paper_problem(n, d, observed), [30])  # a look early on, before chaos can hide anything
    start = _core.Tracker64(n, d, _core.AdaptiveStep(eta0=eta0), 7).components().T

    def oracle(U):
        rule = reference.AdaptiveStepReference(eta0=eta0)
        return list(accumulate(parts, lambda U, X: reference.gasg21(U, X, rule), initial=U))[1:]

    def updated():
        tracker = _core.Tracker64(n, d, _core.AdaptiveStep(eta0=eta0), 7)
        return [(tracker.consume(X), tracker.components().T)[1] for X in parts]

    def off(theirs):
        return np.array([reference.largest_angle(U, V) for U, V in zip(expected, theirs, strict=True)])

    expected = oracle(start)
    errors = {name: off(found) for name, found in with_each_set(updated).items()}
    bounds = np.full(2, 1e-10)
    if any((error > bounds).any() for error in errors.values()):
        # Is the iteration itself chaotic? Then an ulp here and there of its start changes the oracle, too.
        nudged = [oracle(np.nextafter(start, rng.choice([-np.inf, np.inf], start.shape))) for _ in range(4)]
        bounds = np.maximum(bounds, 100 * np.max([off(each) for each in nudged], axis=0))
    assert bounds[0] < 1e-6
    for name, error in errors.items():
        assert (error <= bounds).all(), name


@pytest.mark.parametrize("observed", [1.0, 0.7, 0.1])
@pytest.mark.parametrize("d", [2, 5, 20])
def test_the_same_seed_gives_the_same_subspace(observed, d):
    X = paper_problem(500, d, observed)

    def updated():
        tracker = _core.Tracker64(500, d, _core.AdaptiveStep(eta0=0.1), 3)
        tracker.consume(X)
        return tracker.components().T

    first, *others = with_each_set(updated).values()
    for other in others:
        assert reference.largest_angle(first, other) <= 1e-9


@pytest.mark.parametrize("observed", [1.0, 0.7, 0.1])
def test_single_precision_follows_double(observed):
    X = paper_problem(500, 5, observed)
    start = _core.Tracker64(500, 5, _core.AdaptiveStep(), 1).components()
    double = _core.Tracker64.from_components(start, _core.AdaptiveStep(eta0=0.1), 3)
    double.consume(X[:200])

    def updated():
        single = _core.Tracker32.from_components(start.astype(np.float32), _core.AdaptiveStep(eta0=0.1), 3)
        single.consume(X[:200].astype(np.float32))
        return single.components().T.astype(np.float64)

    for U in with_each_set(updated).values():
        # 200 steps, each with rounding errors of some 1e-7.
        assert reference.largest_angle(double.components().T, U) <= 2e-5


@pytest.mark.parametrize("observed", [1.0, 0.7, 0.1])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 2e-4)])
def test_weights_and_scores_are_those_of_plain_least_squares(observed, dtype, tolerance):
    problem = make_low_rank(200, 150, 4, outlier_fraction=0.5, observed_fraction=observed, random_state=5)
    X = problem.data.astype(dtype)
    model = GASG21(4, init=problem.basis.astype(dtype), metric="canonical", polish=False, random_state=0)
    model.partial_fit(np.full((1, 150), np.nan, dtype))  # which leaves the basis where it is
    U = model.components_.T.astype(np.float64)
    scores = -reference.residuals_to(U, X.astype(np.float64))
    weights = []
    for x in X.astype(np.float64):
        seen = ~np.isnan(x)
        weights.append(np.linalg.lstsq(U[seen], x[seen], rcond=None)[0])
    for found, said in with_each_set(lambda: (model.transform(X), model.score_samples(X))).values():
        np.testing.assert_allclose(found, weights, atol=tolerance * np.abs(weights).max())
        np.testing.assert_allclose(said, scores, atol=tolerance)


def test_fits_agree():
    """The stream and the polish of GASG21; one pass of GRASTA, which more of them would make chaotic."""
    data = make_low_rank(600, 120, 3, outlier_fraction=0.4, observed_fraction=0.6, noise=1e-3, random_state=9).data
    for estimator in (GASG21(3, random_state=0), GRASTA(3, max_passes=1, tol=0, random_state=0)):
        models = with_each_set(lambda estimator=estimator: estimator.fit(data).components_)
        first, *others = models.values()
        for other in others:
            assert subspace_angle(first, other) <= 1e-9


def test_unions_agree():
    union = make_union_of_subspaces(300, 40, 2, 3, outlier_fraction=0.2, observed_fraction=0.8, random_state=2)

    def fitted():
        model = KGASG21(3, 2, random_state=1).fit(union.data)
        return model.subspaces_, model.labels_, model.transform(union.data)

    first, *others = with_each_set(fitted).values()
    for other in others:
        assert max(map(subspace_angle, first[0], other[0])) <= 1e-9
        np.testing.assert_array_equal(first[1], other[1])
        np.testing.assert_allclose(first[2], other[2], atol=1e-9)


def test_a_stream_goes_on_with_another_set():
    """A pickle may come from another machine."""
    X = paper_problem(500, 5, 0.7)
    whole = GASG21(5, metric="canonical", polish=False, random_state=0).partial_fit(X)
    for name in SETS:
        _core.use_instruction_set(SETS[0])
        model = GASG21(5, metric="canonical", polish=False, random_state=0).partial_fit(X[:500])
        _core.use_instruction_set(name)
        assert subspace_angle(model.partial_fit(X[500:]).components_, whole.components_) <= 1e-9


def test_what_this_machine_has_not_got_is_refused():
    assert SETS[0] == "baseline"
    assert SETS[-1] == IN_USE
    for name in {"baseline", "avx2", "avx512", "sse9"} - set(SETS):
        with pytest.raises(ValueError, match=rf"'{name}' must be one that this machine has: 'baseline'"):
            _core.use_instruction_set(name)
        assert _core.instruction_set() == IN_USE
