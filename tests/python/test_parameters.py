"""Constructor parameters: declared once, checked by one function, and `metric` under its name before 0.3."""

import inspect
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

import gasg21
from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer, _core
from gasg21._data.constructor import check_parameters, choice, integer, number, or_auto, or_none, with_parameters
from gasg21._data.constructor import parameter as declared
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError


@with_parameters
class Shared:
    count: int = declared(default=3, kind="int", text="How\nmany.", check=integer(1, 9))
    seed: object = declared(default=None, kind="int or None", text="A seed.", at_start=True)


@with_parameters
class Special(Shared):
    """A class.

    Parameters
    ----------
    {parameters}
    """

    size: float = declared(default=1.0, kw_only=False, kind="float", text="How large.", check=number(0))
    count: int = declared(default=5, kind="int", text="Others.")


def test_a_class_has_its_own_parameters_and_those_of_its_bases():
    assert str(inspect.signature(Special)) == "(size: float = 1.0, *, count: int = 5, seed: object = None) -> None"
    made = Special(2, seed=1)
    assert vars(made) == {"size": 2, "count": 5, "seed": 1}
    assert made._values_in_use(made) == (2, 5)
    with pytest.raises(TypeError, match=r"Special.__init__\(\) got an unexpected keyword argument 'sise'"):
        Special(sise=1)


def test_the_docstring_describes_them_in_the_order_of_the_signature():
    below = "size : float, default=1.0\n    How large.\ncount : int, default=5\n    Others."
    below += "\nseed : int or None, default=None\n    A seed."
    assert inspect.cleandoc(Special.__doc__) == f"A class.\n\nParameters\n----------\n{below}"


def test_each_is_checked_as_its_class_declares_it():
    check_parameters(Special(count="not checked here"))
    with pytest.raises(InvalidInputError, match=r"size=-1 must be a number in \[0, inf\)"):
        check_parameters(Special(-1))
    with pytest.raises(InvalidInputError, match=r"count=0 must be an integer in \[1, 9\]"):
        check_parameters(Shared(count=0))


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (choice("a", "b"), "a", "c"),
        (integer(2), 2, 1),
        (number(0, 1, open_low=True), 1, 0),
        (or_none(integer(2)), None, "auto"),
        (or_auto(integer(2)), "auto", None),
    ],
)
def test_a_check_names_the_parameter_and_the_value(check, good, bad):
    check("p", good)
    with pytest.raises(InvalidInputError, match=f"p={bad!r} must be"):
        check("p", bad)


@pytest.mark.parametrize("estimator", [GASG21(), GROUSE(), GRASTA(), KGASG21(), SubspaceImputer()])
def test_estimators_take_every_parameter_by_name_and_keep_it(estimator):
    marks = {name: object() for name in estimator.get_params()}
    made = type(estimator)(**marks)
    assert vars(made) == marks
    assert clone(estimator).get_params() == estimator.get_params()


# ---- metric, which was called scaling


X = make_low_rank(120, 20, 2, outlier_fraction=0.2, noise=0.01, random_state=0).data
UNION = make_union_of_subspaces(200, 20, 2, 2, random_state=0).data


def bases(model):
    return model.subspaces_ if isinstance(model, KGASG21) else [model.components_]


@pytest.mark.parametrize(("metric", "scaling"), [("scaled", True), ("canonical", False)])
@pytest.mark.parametrize("make", [lambda **p: GASG21(2, **p), lambda **p: KGASG21(2, 2, **p)])
def test_scaling_is_the_former_name_of_metric(make, metric, scaling):
    data = UNION if isinstance(make(), KGASG21) else X
    fits = [
        make(random_state=0, polish=False, max_passes=2, tol=0, **names).fit(data)
        for names in ({"metric": metric}, {"scaling": scaling}, {"metric": metric, "scaling": scaling})
    ]
    for other in (*fits[1:], clone(fits[1]).fit(data), pickle.loads(pickle.dumps(fits[1]))):
        np.testing.assert_array_equal(bases(other), bases(fits[0]))


def test_a_stream_follows_the_former_name_too():
    old, new = (GASG21(2, random_state=0, **p).partial_fit(X) for p in ({"scaling": False}, {"metric": "canonical"}))
    np.testing.assert_array_equal(old.components_, new.components_)
    assert type(old)(**old.get_params()).scaling is False


@pytest.mark.parametrize("model", [GASG21(2), KGASG21(2, 2)])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_two_names_that_contradict_each_other_are_refused(model, method):
    wrong = clone(model).set_params(metric="canonical", scaling=True)
    with pytest.raises(InvalidInputError, match="metric='canonical' and scaling=True contradict each other"):
        getattr(wrong, method)(X)


def test_a_file_from_before_has_the_metric_that_it_was_saved_with(tmp_path):
    model = GASG21(2, scaling=False, polish=False, random_state=0).partial_fit(X[:60])
    tree = model._to_file(strict=True)
    assert tree["parameters"].pop("metric") == "scaled"  # not in a file from before 0.3
    _core.write_file(tmp_path / "old.gasg21", _core.encode(tree))
    again = gasg21.load(tmp_path / "old.gasg21")
    np.testing.assert_array_equal(again.partial_fit(X[60:]).components_, model.partial_fit(X[60:]).components_)


# ---- calls into the core


def calls_into_the_core(call):
    """The compiled functions and methods that a call runs, one after the other, without constructors."""
    names = []

    def profile(frame, event, function):
        if event == "c_call" and getattr(function, "__module__", None) == _core.__name__:
            names.append(function.__name__)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def test_a_fit_calls_the_core_a_few_times_and_an_update_once():
    assert len(calls_into_the_core(lambda: GASG21(2, random_state=0).fit(X))) <= 4
    model = GASG21(2, random_state=0).partial_fit(X[:50])
    assert calls_into_the_core(lambda: model.partial_fit(X[50:51])) == ["consume_row"]
