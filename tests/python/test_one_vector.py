"""`partial_fit` with one vector: the short way that it takes, and that nobody can tell it from the long one."""

import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from gasg21 import GASG21, GRASTA, GROUSE, _core
from gasg21.exceptions import DataQualityWarning, InvalidInputError

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
    bad = {
        "max_passes": 0,
        "tol": -1,
        "metric": 3,
        "scaling": 3,
        "on_bad": "?",
        "absent": None,
        "n_components": 4,
        "n_jobs": 0,
    }
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


# ---- one vector with a mask, with a contamination, from a table


@pytest.mark.parametrize("parameters", [{}, {"contamination": 0.3}, {"center": True}], ids=str)
def test_one_vector_with_a_mask_takes_the_short_way(parameters, problem, monkeypatch):
    whole, model = (GASG21(3, random_state=0, **parameters).partial_fit(problem.data[:200]) for _ in range(2))
    mask = ~np.isnan(problem.data)
    X = np.where(mask, problem.data, 7.0)
    X[250, 3] = np.where(mask[250, 3], X[250, 3], np.inf)  # what is not observed may be anything
    whole.partial_fit(X[200:], mask=mask[200:])
    monkeypatch.setattr("gasg21._estimators.streaming.check_samples", refuse)
    for row, observed in zip(X[200:], mask[200:], strict=True):
        model.partial_fit(row[None], mask=observed[None])
    np.testing.assert_equal(state(model), state(whole))


def test_masks_that_are_not_plain_are_validated(problem):
    model = GASG21(3, random_state=0).partial_fit(problem.data)
    x, mask = np.nan_to_num(problem.data[:1]), ~np.isnan(problem.data[:1])
    before = state(model)
    for bad in (np.zeros_like(mask), mask[:, :59], mask[0], mask.astype(int)):
        with pytest.raises(InvalidInputError, match="mask"):
            model.partial_fit(x, mask=bad)
    np.testing.assert_equal(state(model), before)
    expected = GASG21(3, random_state=0).partial_fit(problem.data).partial_fit(x, mask=mask)
    np.testing.assert_equal(state(model.partial_fit(x, mask=np.asfortranarray(mask))), state(expected))


def test_rows_of_a_table_take_the_short_way(problem, monkeypatch):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(problem.data).rename(columns="x{}".format)
    whole, model, series = (GASG21(3, random_state=0).partial_fit(table[:200]) for _ in range(3))
    other = table.copy()
    other.columns = list(table.columns)  # the same names in another object
    whole.partial_fit(table[200:])
    monkeypatch.setattr("gasg21._estimators.streaming.check_samples", refuse)
    for i in range(200, len(table)):
        model.partial_fit((table if i % 2 else other)[i : i + 1])
        series.partial_fit(table.iloc[i])
    np.testing.assert_equal(state(model), state(whole))
    np.testing.assert_equal(state(series), state(whole))


def test_a_table_with_other_names_is_refused(problem):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(problem.data).rename(columns="x{}".format)
    model = GASG21(3, random_state=0).fit(table).partial_fit(table[:1])
    with pytest.raises(ValueError, match="feature names should match"):
        model.partial_fit(table[table.columns[::-1]][:1])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename(columns={"x3": "other"})[:1])
    with pytest.raises(ValueError, match="'x7'"):
        model.predict(table.assign(x7="text")[:1])
    expected = model.transform(table)
    np.testing.assert_array_equal(model.transform(table[5:6]), expected[5:6])
    np.testing.assert_array_equal(model.transform(table.astype(object)), expected)


# ---- one vector to read


def refuse(*_, **__):
    msg = "validation was called"
    raise AssertionError(msg)


READERS = ("predict", "transform", "score_samples", "decision_function", "distances", "complete")


@pytest.mark.parametrize("method", READERS)
def test_a_plain_row_is_read_without_validation_and_as_any_other_form(method, problem, monkeypatch):
    model = GASG21(3, random_state=0).fit(problem.data)
    row = problem.data[:1].copy()
    expected = getattr(model, method)(row.tolist())  # a list is validated
    monkeypatch.setattr("gasg21._data.samples.validate_data", refuse)
    np.testing.assert_array_equal(getattr(model, method)(row), expected)
    for other in (row.tolist(), row[:, :59], row.astype(np.float32), row[:0]):
        with pytest.raises(AssertionError, match="validation was called"):
            getattr(model, method)(other)


@pytest.mark.parametrize("method", READERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parameters", [{}, {"contamination": 0.3}, {"center": True}], ids=str)
def test_one_row_is_answered_as_many_are(method, dtype, parameters, problem, monkeypatch):
    X = problem.data.astype(dtype)
    X[3], X[4, :58] = 0, np.nan
    model = GASG21(3, random_state=0, **parameters).fit(X)
    mask = np.random.default_rng(0).random(X.shape) < 0.9
    expected = getattr(model, method)(X[:40]), getattr(model, method)(X[:40], mask[:40])
    monkeypatch.setattr("gasg21._estimators.subspace.check_samples", refuse)
    for i in range(40):
        for given, all_of_them in zip((None, mask[i : i + 1]), expected, strict=True):
            found = getattr(model, method)(X[i : i + 1], given)
            assert found.dtype == all_of_them.dtype
            np.testing.assert_array_equal(found, all_of_them[i : i + 1])


@pytest.mark.parametrize("estimator", [GROUSE(3, random_state=0), GRASTA(3, random_state=0)])
@pytest.mark.parametrize("method", READERS)
def test_one_row_is_answered_as_many_are_by_other_losses(estimator, method, problem):
    X = problem.data[:150]
    model = clone(estimator).partial_fit(X)
    expected = getattr(model, method)(X[:5])
    for i in range(5):
        np.testing.assert_allclose(getattr(model, method)(X[i : i + 1]), expected[i : i + 1], rtol=1e-12)


def test_one_row_sees_the_stream_where_it_is(problem):
    model = GASG21(3, random_state=0).fit(problem.data[:100])
    row = problem.data[:1].copy()
    before = model.transform(row)
    model.partial_fit(problem.data[100:200])
    after = model.transform(row)
    assert not np.array_equal(before, after)
    model.partial_fit(problem.data[200:201])
    model.partial_fit(problem.data[201:202])
    np.testing.assert_array_equal(model.transform(row), model.transform(np.vstack([row, row]))[:1])
    assert not np.array_equal(model.transform(row), after)


def test_parameters_and_forms_are_looked_at_with_each_row(problem):
    model = GASG21(3, random_state=0).fit(problem.data)
    row = problem.data[:1].copy()
    model.predict(row)
    for name, value in {"on_bad": "?", "absent": None, "n_jobs": 0}.items():
        good = getattr(model, name)
        with pytest.raises(InvalidInputError, match=f"{name}="):
            model.set_params(**{name: value}).predict(row)
        model.set_params(**{name: good}).predict(row)
    for odd, message in ((row[0], "1D array"), (row[None], "3 dimensions"), (row[:, :59], "59 features")):
        with pytest.raises(ValueError, match=message):
            model.predict(odd)
    row[0, 5] = np.inf
    with pytest.raises(InvalidInputError, match="infinity at row 0, column 5"):
        model.predict(row)
    assert np.isnan(model.set_params(on_bad="skip").score_samples(row)).all()


def test_one_row_becomes_a_table_where_one_is_asked_for(problem):
    pytest.importorskip("pandas")
    model = GASG21(3, random_state=0).fit(problem.data)
    row = problem.data[:1].copy()
    model.complete(row)
    model.set_output(transform="pandas")
    assert list(model.complete(row).columns)[:2] == ["x0", "x1"]
    assert list(model.transform(row).columns) == ["component_0", "component_1", "component_2"]
    assert list(model.distances(row).columns) == ["distance_within", "distance_to"]


def test_doubts_are_told_with_one_row_too(rng):
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 12)) + rng.uniform(-0.1, 0.1, (300, 12))
    model = GASG21(2, random_state=0).fit(X)
    for _ in range(2):
        with pytest.warns(DataQualityWarning, match="no sample is called an outlier"):
            assert model.predict(X[:1]) == 1


def test_rows_are_read_from_many_threads(problem):
    model = GASG21(3, random_state=0).fit(problem.data)
    rows = [problem.data[i : i + 1].copy() for i in range(50)]
    expected = [(model.decision_function(row), model.complete(row), model.transform(row)) for row in rows]
    wrong = []

    def read():
        for _ in range(40):
            for row, wanted in zip(rows, expected, strict=True):
                found = model.decision_function(row), model.complete(row), model.transform(row)
                wrong.extend(1 for a, b in zip(found, wanted, strict=True) if not np.array_equal(a, b))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
