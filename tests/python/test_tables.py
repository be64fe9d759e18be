"""scikit-learn in every corner: tables in and out, names, shares of variance, and what the errors name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gasg21 import GASG21, GROUSE, KGASG21, SubspaceImputer
from gasg21.datasets import make_low_rank
from gasg21.exceptions import InvalidInputError

NAMES = [f"f{i}" for i in range(60)]


@pytest.fixture
def frame(problem):
    return pd.DataFrame(problem.data, columns=NAMES, index=np.arange(600) + 7)


@pytest.fixture(scope="module")
def decaying():
    """Variances 100, 25, 4, 1 along four axes, some noise, a quarter outliers."""
    p = make_low_rank(800, 30, 4, singular_values=(10, 5, 2, 1), outlier_fraction=0.25, noise=0.02, random_state=0)
    return p.data


# ---- outputs


def test_all_outputs_are_pandas_tables_if_asked(frame):
    model = GASG21(3, random_state=0).set_output(transform="pandas").fit(frame)
    outputs = {
        "transform": ["component_0", "component_1", "component_2"],
        "complete": NAMES,
        "distances": ["distance_within", "distance_to"],
    }
    plain = GASG21(3, random_state=0).fit(frame)
    for method, columns in outputs.items():
        out = getattr(model, method)(frame)
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == columns
        assert_array_equal(out.index, frame.index)
        assert_array_equal(out.to_numpy(), getattr(plain, method)(frame))
    back = model.inverse_transform(model.transform(frame))
    assert list(back.columns) == NAMES
    assert_array_equal(back.index, frame.index)


def test_all_outputs_are_polars_tables_if_asked(problem):
    frame = pl.DataFrame(problem.data, schema=NAMES)
    model = GASG21(3, random_state=0).set_output(transform="polars").fit(frame)
    assert model.transform(frame).columns == ["component_0", "component_1", "component_2"]
    assert model.complete(frame).columns == NAMES
    assert model.inverse_transform(model.transform(frame)).columns == NAMES
    assert model.distances(frame).shape == (600, 2)


def test_the_configuration_of_scikit_learn_counts(problem):
    model = GASG21(3, random_state=0).fit(problem.data)
    with sklearn.config_context(transform_output="pandas"):
        assert list(model.complete(problem.data).columns)[:2] == ["x0", "x1"]
    assert isinstance(model.complete(problem.data), np.ndarray)


def test_tables_of_a_union_and_an_imputer(frame):
    union = KGASG21(2, 2, tol=0, polish=False, max_passes=2, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(union.transform(frame).columns) == ["residual_0", "residual_1"]
    assert list(union.complete(frame).columns) == NAMES
    imputer = SubspaceImputer(3, random_state=0).set_output(transform="polars").fit(frame)
    assert imputer.transform(frame).columns == NAMES


def test_names_go_through_a_pipeline(frame):
    pipe = make_pipeline(StandardScaler(), GASG21(3, random_state=0)).fit(frame)
    assert pipe.get_feature_names_out().tolist() == ["component_0", "component_1", "component_2"]


# ---- errors that name what is wrong


def test_a_column_of_text_is_named(frame):
    bad = frame.assign(city="Oslo", f3="x")
    with pytest.raises(InvalidInputError, match=r"drop or encode the columns 'f3', 'city'"):
        GASG21(3).fit(bad)
    with pytest.raises(InvalidInputError, match="drop or encode the column 'city'"):
        GASG21(3).fit(pl.DataFrame({"a": [1.0, 2.0], "city": ["Oslo", "Rome"]}))
    many = pd.DataFrame({f"c{i}": ["x"] for i in range(8)})
    with pytest.raises(InvalidInputError, match="'c4' and 3 more"):
        GASG21(3).fit(many)


def test_other_feature_names_are_named(frame):
    model = GASG21(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="other"):
        model.predict(frame.rename(columns={"f5": "other"}))


@pytest.mark.parametrize("estimator", [GASG21(), KGASG21(), SubspaceImputer(), GROUSE()])
def test_images_are_refused_with_a_hint(estimator):
    with pytest.raises(InvalidInputError, match=r"shape \(9, 4, 5\).*X\.reshape\(len\(X\), -1\)"):
        estimator.fit(np.zeros((9, 4, 5)))


# ---- a share of the variance


@pytest.mark.parametrize(("share", "d"), [(0.5, 1), (0.9, 2), (0.95, 2), (0.98, 3), (0.999, 4)])
def test_a_share_of_the_variance(decaying, share, d):
    model = GASG21(share, random_state=0).fit(decaying)
    assert model.n_components_ == d
    full = GASG21(4, random_state=0).fit(decaying).explained_variance_
    reached = np.cumsum(full) / full.sum()
    assert reached[d - 1] >= share
    assert d == 1 or reached[d - 2] < share


def test_a_share_works_in_streams_with_gaps_and_in_imputers(decaying):
    gaps = np.where(np.random.default_rng(0).random(decaying.shape) < 0.2, np.nan, decaying)
    stream = GASG21(0.98, random_state=0).partial_fit(gaps)
    assert stream.n_components_ == 3
    assert stream.partial_fit(gaps).n_components_ == 3
    assert GASG21(0.98, center=True, random_state=0).fit(gaps + 5).n_components_ == 3
    assert SubspaceImputer(0.98, random_state=0).fit(gaps).n_components_ == 3


@pytest.mark.parametrize("bad", [0.0, 1.0, 1.5, -0.2, np.nan])
def test_other_shares_are_refused(decaying, bad):
    with pytest.raises(InvalidInputError, match="n_components="):
        GASG21(bad).fit(decaying)


# ---- notebooks


def test_the_html_of_a_model_says_whether_it_is_fitted(problem):
    assert "Not fitted" in GASG21(3)._repr_html_()
    html = GASG21(3, random_state=0).fit(problem.data)._repr_html_()
    assert "Not fitted" not in html
    assert "Fitted" in html
