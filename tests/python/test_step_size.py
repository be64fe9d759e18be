"""The step rules as parameters."""

import dataclasses
import pickle

import pytest
from sklearn.base import clone

from gasg21 import GASG21, _core
from gasg21._data.parameters import core_rule
from gasg21.exceptions import InvalidInputError
from gasg21.step_size import AdaptiveStep, ConstantStep, DiminishingStep, GreedyStep, MultiLevelStep


@pytest.mark.parametrize(
    ("name", "instance", "compiled"),
    [
        ("adaptive", AdaptiveStep(), _core.AdaptiveStep),
        ("diminishing", DiminishingStep(), _core.DiminishingStep),
        ("constant", ConstantStep(), _core.ConstantStep),
        ("multilevel", MultiLevelStep(max_level=20), _core.MultiLevelStep),
        ("greedy", GreedyStep(), _core.GreedyStep),
    ],
)
def test_names_mean_the_defaults(name, instance, compiled):
    by_name, by_instance = core_rule(name, stream=True), core_rule(instance)
    assert type(by_name) is type(by_instance) is compiled
    assert by_name.__getstate__() == by_instance.__getstate__() == compiled().__getstate__()


def test_rules_are_frozen_values():
    rule = AdaptiveStep(eta0=0.3)
    assert rule == AdaptiveStep(eta0=0.3) == pickle.loads(pickle.dumps(rule))
    assert clone(GASG21(step_size=rule)).step_size == rule
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.eta0 = 1.0


def test_every_parameter_reaches_the_core():
    given = AdaptiveStep(0.1, 9.0, 1.0, -0.7, 0.6, 0.2, 11)
    state = _core.decode(core_rule(given).__getstate__(), objects=False)["object"]
    assert vars(given).items() <= state.items()
    assert state["mu"] == 5.0  # mu starts in the middle
    assert core_rule(DiminishingStep(3.0)).eta == 3.0
    assert core_rule(ConstantStep(0.7)).eta == 0.7
    given = MultiLevelStep(0.2, 9.0, 2.0, -0.7, 0.6, 0.2, 11, 0.5)
    assert vars(given).items() <= _core.decode(core_rule(given).__getstate__(), objects=False)["object"].items()


def test_defaults_follow_the_length_of_the_gradients():
    assert core_rule("diminishing", l1=True).eta == 10 < core_rule("diminishing").eta == 100
    assert core_rule("constant", l1=True).eta == 0.01 < core_rule("constant").eta == 0.1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (AdaptiveStep(eta0=0.0), r"eta0=0 must be a number in \(0, 1e6\]"),
        (AdaptiveStep(eta0=float("nan")), "eta0=nan"),
        (AdaptiveStep(mu_max=-1.0), "mu_max=-1 must exceed mu_min=0"),
        (AdaptiveStep(f_min=0.5), "f_min=0.5 must be below 0"),
        (AdaptiveStep(f_max=-1.0), "f_max=-1 must be above 0"),
        (AdaptiveStep(omega=0.0), "omega=0 must be above 0"),
        (AdaptiveStep(eta0="big"), "step_size=AdaptiveStep"),
        (DiminishingStep(-1.0), "eta0=-1"),
        (MultiLevelStep(first_angle=0.0), "first_angle=0 must be above 0"),
        (MultiLevelStep(max_level=-1), "max_level=-1"),
        (ConstantStep(float("inf")), "eta0=inf"),
    ],
)
def test_bad_rules_are_named(rule, message):
    with pytest.raises(InvalidInputError, match=message):
        core_rule(rule)
