"""`partial_fit` with one vector: the short way that it takes, and that nobody can tell it from the long one."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from gasg21 import GASG21, GRASTA, GROUSE, _core
from gasg21.exceptions import InvalidInputError

PLAIN = [GASG21(3, random_state=0), GROUSE(3, random_state=0), GRASTA(3, random_state=0)]


def state(model):
    names = ("n_iter_", "n_skipped_", "diagnostics_", "step_size_", "level_", "offset_")
    return [model.components_.tobytes(), *(getattr(model, name) for name in names), list(model._recent)]


@pytest.mark.parametrize("estimator", PLAIN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_vector_after_the_other_is_the_same_stream(estimator, dtype, problem):
    X = problem.data.astype(dtype)
    X[300], X[301] = 0, np.nan
    whole = clone(estimator).partial_fit(X)
    model = clone(estimator).partial_fit(X[:200])
    for row in X[200:]:
        assert model.partial_fit(row[None]) is model
    np.testing.assert_equal(state(model), state(whole))
    assert model.diagnostics_["n_zero"] == model.diagnostics_["n_all_missing"] == 1


def test_what_one_vector_has_changed_is_seen_whenever_somebody_looks(problem):
    eager, lazy = (GASG21(3, random_state=0).partial_fit(problem.data[:50]) for _ in range(2))
    for row in problem.data[50:90]:
        before = eager.components_.tobytes()
        eager.partial_fit(row[None])
        assert eager.components_.tobytes() != before
        lazy.partial_fit(row[None])
    assert not hasattr(lazy, "components__")
    np.testing.assert_equal(state(pickle.loads(pickle.dumps(lazy))), state(eager))
    np.testing.assert_array_equal(lazy.transform(problem.data), eager.transform(problem.data))
    np.testing.assert_equal(state(lazy), state(eager))
    for model in (lazy, eager):
        model.fit(problem.data[:100])
    np.testing.assert_equal(state(lazy.partial_fit(problem.data[:1])), state(eager.partial_fit(problem.data[:1])))


def test_an_unfitted_model_has_no_fitted_attributes():
    with pytest.raises(AttributeError, match="this GASG21 has not been fitted"):
        _ = GASG21().components_
    assert not hasattr(GASG21(), "offset_")


ODD = {
    "an infinity": (lambda x: np.where(np.arange(60) == 5, np.inf, x)[None], "infinity at row 0, column 5"),
    "too narrow": (lambda x: x[None, :59], "59 features"),
    "no rows": (lambda x: x[None][:0], "0 sample"),
    "complex": (lambda x: x[None] + 0j, "Complex data"),
    "text": (lambda x: np.array([["a"] * 60]), "dtype|numeric|convert"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_vector_that_is_not_plain_is_refused_as_ever(name, problem):
    change, message = ODD[name]
    model = GASG21(3, random_state=0).partial_fit(problem.data).partial_fit(problem.data[:1])
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(change(np.nan_to_num(problem.data[0])))
    np.testing.assert_equal(state(model), before)


def test_a_vector_in_another_form_is_the_same_vector(problem):
    rows = problem.data[:6]
    forms = [
        lambda x: x[None].astype(">f8"),
        lambda x: np.asfortranarray(np.vstack([x, x]))[:1],
        lambda x: x[None].tolist(),
        lambda x: np.ma.masked_invalid(x[None]),
        lambda x: np.repeat(x, 2)[None, ::2],
        lambda x: sp.csr_matrix(
            (x[~np.isnan(x)], (np.zeros(np.sum(~np.isnan(x)), int), np.flatnonzero(~np.isnan(x)))), (1, 60)
        ),
    ]
    plain, other = (GASG21(3, random_state=0).partial_fit(problem.data) for _ in range(2))
    for row, form in zip(rows, forms, strict=True):
        np.testing.assert_equal(state(other.partial_fit(form(row))), state(plain.partial_fit(row[None])))


def test_parameters_are_looked_at_with_each_vector(problem):
    model = GASG21(3, random_state=0).partial_fit(problem.data)
    x = np.nan_to_num(problem.data[:1])
    bad = {"max_passes": 0, "tol": -1, "scaling": 3, "on_bad": "?", "absent": None, "n_components": 4, "n_jobs": 0}
    for name, value in bad.items():
        good = getattr(model, name)
        with pytest.raises(InvalidInputError, match=f"{name}="):
            model.set_params(**{name: value}).partial_fit(x)
        model.set_params(**{name: good}).partial_fit(x)
    x[0, 5] = np.inf
    skipped = model.n_skipped_
    assert model.set_params(on_bad="skip").partial_fit(x).n_skipped_ == skipped + 1
    model.set_params(contamination=0.5, on_bad="raise").partial_fit(problem.data[:1])
    offset = model.offset_
    assert offset == np.percentile([s for s in model._recent if s == s], 50)
    assert model.partial_fit(problem.data[1:2]).offset_ != offset


def test_names_of_features_are_still_missed(problem):
    pandas = pytest.importorskip("pandas")
    model = GASG21(3, random_state=0).partial_fit(pandas.DataFrame(problem.data).rename(columns=str))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(problem.data[:1])


@pytest.mark.parametrize("kind", [_core.Tracker64, _core.Tracker32])
def test_the_core_takes_a_plain_row_and_nothing_else(kind):
    dtype = np.float64 if kind is _core.Tracker64 else np.float32
    other = np.float32 if kind is _core.Tracker64 else np.float64
    x = np.random.default_rng(0).standard_normal((1, 8)).astype(dtype)
    tracker, twin = (kind(8, 2, _core.AdaptiveStep(), 0) for _ in range(2))
    assert tracker.consume_row(x) == twin.consume(x)[0]
    before = pickle.dumps(tracker)
    infinite = x.copy()
    infinite[0, 7] = -np.inf
    misaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(dtype).reshape(1, 8)
    assert not misaligned.flags.aligned
    odd = [
        x[0, :7],
        x[:, :7],
        np.vstack([x, x]),
        x.astype(other),
        x.view(np.matrix),
        x.tolist(),
        None,
        infinite,
        misaligned,
    ]
    odd += [x.byteswap().view(x.dtype.newbyteorder()), np.vstack([x, x]).T[:1], np.hstack([x, x])[:, ::2], x[None]]
    assert all(tracker.consume_row(each) is None for each in odd)
    assert pickle.dumps(tracker) == before
    assert np.isnan(tracker.consume_row(np.zeros((1, 8), dtype)))
    assert tracker.counters()["n_zero"] == 1


def test_what_is_published_when_read_is_listed(rng):
    X = rng.standard_normal((21, 12))
    model = GASG21(2, random_state=0)
    assert "components_" not in dir(model)
    model.partial_fit(X[:20]).partial_fit(X[20:])
    assert {"components_", "n_iter_", "offset_"} <= set(dir(model))


READERS = ("predict", "transform", "score_samples", "decision_function", "distances", "complete")


@pytest.mark.parametrize("method", READERS)
def test_a_plain_row_is_read_without_validation_and_as_any_other_form(method, problem, monkeypatch):
    model = GASG21(3, random_state=0).fit(problem.data)
    row = problem.data[:1].copy()
    expected = getattr(model, method)(row.tolist())  # a list is validated

    def refuse(*_, **__):
        msg = "validation was called"
        raise AssertionError(msg)

    monkeypatch.setattr("gasg21._data.samples.validate_data", refuse)
    np.testing.assert_array_equal(getattr(model, method)(row), expected)
    for other in (row.tolist(), row[:, :59], row.astype(np.float32), row[:0]):
        with pytest.raises(AssertionError, match="validation was called"):
            getattr(model, method)(other)
