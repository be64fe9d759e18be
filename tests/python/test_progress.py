"""What a user sees of a fit while it runs: the bar, the lines, and the callback that may end it."""

import numpy as np
import pytest
from conftest import paper
from numpy.testing import assert_equal
from sklearn.base import clone

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer
from gasg21._support.progress import line_of
from gasg21.baselines import FMS, LBF, LRR, REAPER, SSC, SSCOMP, TME, OutlierPursuit, RobustMD
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import subspace_angle


@pytest.fixture(scope="module")
def union():
    return make_union_of_subspaces(300, 20, 2, 3, noise=0.02, random_state=0).data


@pytest.fixture(scope="module")
def complete():
    return make_low_rank(300, 20, 3, outlier_fraction=0.3, noise=0.02, random_state=0).data


@pytest.mark.parametrize("estimator", [GASG21(3), GASG21(3, center=True), GROUSE(3, tol=0, max_passes=4), paper(3)])
def test_the_callback_sees_what_history_holds(estimator, problem):
    seen = []
    model = estimator.set_params(random_state=0).fit(problem.data, callback=seen.append)
    assert len(seen) > 2
    assert_equal(seen, model.history_)


def test_the_callback_of_a_union_sees_what_history_holds(union):
    seen = []
    model = KGASG21(3, 2, random_state=0).fit(union, callback=seen.append)
    assert_equal(seen, model.history_)


def test_a_callback_changes_no_bit(problem):
    plain = GASG21(3, random_state=0).fit(problem.data)
    watched = GASG21(3, random_state=0).fit(problem.data, callback=lambda record: None)
    assert watched.components_.tobytes() == plain.components_.tobytes()


@pytest.mark.parametrize("stage", ["stream", "polish"])
def test_a_callback_ends_the_fit_and_leaves_what_it_reached(stage, problem):
    model = GASG21(3, random_state=0).fit(problem.data, callback=lambda record: record["stage"] == stage)
    assert model.status_ == "interrupted"
    assert not model.converged_
    assert model.history_[-1]["stage"] == stage
    assert sum(record["stage"] == stage for record in model.history_) == 1
    assert subspace_angle(model.components_, problem.basis) < 0.1
    accuracy = np.mean((model.predict(problem.data) == 1) == problem.inlier)
    assert accuracy > 0.97  # decisions rest on as many samples as after a whole fit
    assert model.partial_fit(problem.data[:50]).n_iter_ > 0


def test_a_callback_ends_the_fit_of_a_union(union):
    model = KGASG21(3, 2, random_state=0).fit(union, callback=lambda record: record["pass"] == 2)
    assert model.status_ == "interrupted"
    assert len(model.history_) == 2
    assert model.labels_.shape == (300,)


def test_the_fits_that_find_a_centre_for_grasta_are_not_shown(problem):
    seen = []
    model = GRASTA(3, center=True, tol=0, max_passes=2, random_state=0).fit(problem.data, callback=seen.append)
    assert_equal(seen, model.history_)


def test_what_a_callback_raises_leaves_the_model_as_it_was(problem, union):
    def fail(record):
        msg = "no more"
        raise RuntimeError(msg)

    model = GASG21(3, random_state=0).fit(problem.data)
    before = model.components_.tobytes()
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(problem.data, callback=fail)
    assert model.components_.tobytes() == before
    with pytest.raises(RuntimeError, match="no more"):
        KGASG21(3, 2).fit(union, callback=fail)


def test_a_keyboard_interrupt_in_a_callback_is_an_interrupt(problem):
    def interrupt(record):
        raise KeyboardInterrupt

    model = GASG21(3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(problem.data, callback=interrupt)
    assert model.status_ == "interrupted"


def test_a_callback_that_is_none_is_refused(problem):
    with pytest.raises(InvalidInputError, match="callback=3 must be None or a function"):
        GASG21(3).fit(problem.data, callback=3)


def test_verbose_2_prints_a_line_for_each_pass(problem, capsys):
    model = GASG21("auto", verbose=2, random_state=0).fit(problem.data)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "GASG21: search for the dimension"
    assert len(lines) == model.n_passes_
    assert lines[0].startswith("pass   1  stream  moved ")
    assert "polish" in lines[-1]
    assert "estimated error" in lines[-1]


def test_the_line_of_a_pass():
    record = {"pass": 12, "stage": "polish", "moved": np.array([0.1, 0.02]), "members": np.array([40, 60])}
    assert line_of(record, 1.234) == "pass  12  polish  moved  1.0e-01 rad  members 40 60  1.23 s"


def test_the_bar_goes_on_through_all_stages(problem, capsys):
    GASG21("auto", verbose=1, random_state=0).fit(problem.data)
    shown = capsys.readouterr().err
    assert "GASG21: search for the dimension" in shown
    assert "GASG21: polish" in shown
    assert "moved" in shown


def test_the_bar_goes_on_through_an_ensemble(union, capsys):
    KGASG21(3, 2, n_ensemble=3, verbose=1, random_state=0).fit(union)
    shown = capsys.readouterr().err
    assert "KGASG21: join the runs" in shown


# ---- baselines


BASELINES = [FMS(3), REAPER(3), TME(3), OutlierPursuit(3), RobustMD(3, max_iter=900, random_state=0)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda each: type(each).__name__)
def test_the_callback_of_a_baseline_sees_and_ends_iterations(baseline, complete):
    seen = []
    whole = clone(baseline).fit(complete, callback=seen.append)
    assert seen == whole.history_
    assert len(seen) > 1
    count = iter(range(100))
    model = clone(baseline).fit(complete, callback=lambda record: next(count) == 0)
    assert model.status_ == "interrupted"
    assert not model.converged_
    assert model.history_ == whole.history_[:1]
    assert type(model.history_) is list


def test_a_baseline_shows_its_iterations(complete, capsys):
    model = FMS(3, verbose=2).fit(complete)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("iteration    1  cost ")
    FMS(3, verbose=1).fit(complete)
    assert "FMS" in capsys.readouterr().err


CLUSTERERS = [LRR(2), SSC(2), SSC(2, alpha_e=20.0), SSCOMP(2), LBF(2, 3, refine=2)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("baseline", CLUSTERERS, ids=lambda each: type(each).__name__)
def test_the_callback_of_a_clusterer_sees_and_ends_iterations(baseline, union):
    baseline.set_params(random_state=0)
    seen = []
    whole = clone(baseline).fit(union, callback=seen.append)
    assert seen == whole.history_
    assert len(seen) > 1
    assert whole.labels_.tobytes() == clone(baseline).fit(union).labels_.tobytes()
    model = clone(baseline).fit(union, callback=lambda record: True)
    assert (model.status_, model.converged_) == ("interrupted", False)
    assert model.history_ == whole.history_[:1]
    assert type(model.history_) is list
    assert model.labels_.shape == (300,)


@pytest.mark.parametrize("stage", ["candidates", "selection", "refinement"])
def test_a_callback_ends_each_stage_of_lbf(stage, union):
    model = LBF(2, 3, refine=5, random_state=0).fit(union, callback=lambda record: record["stage"] == stage)
    assert model.status_ == "interrupted"
    assert [record["stage"] for record in model.history_].count(stage) == 1
    assert model.history_[-1]["stage"] == stage


def test_a_clusterer_shows_its_iterations(union, capsys):
    model = LBF(2, 3, verbose=2, random_state=0).fit(union)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_)
    assert lines[0].startswith("iteration    1  candidates  size 6  growing ")
    SSCOMP(2, verbose=1).fit(union)
    assert "SSCOMP" in capsys.readouterr().err


@pytest.mark.parametrize("baseline", [LRR(2), FMS(3)], ids=lambda each: type(each).__name__)
def test_a_baseline_refuses_a_callback_that_is_none(baseline, complete):
    with pytest.raises(InvalidInputError, match="callback=3 must be None or a function"):
        baseline.fit(complete, callback=3)


# ---- the imputer


def test_the_callback_of_the_imputer_sees_the_search_and_the_fit(problem):
    seen = []
    watched = SubspaceImputer(random_state=0).fit(problem.data, callback=seen.append)
    plain = SubspaceImputer(random_state=0).fit(problem.data)
    assert_equal(seen, watched.history_)
    assert_equal(watched.history_, plain.history_)
    assert watched.components_.tobytes() == plain.components_.tobytes()
    tried = [record["n_components"] for record in seen if record["stage"] == "search"]
    assert tried == list(watched.scores_)
    assert {record["stage"] for record in seen} == {"search", "stream", "polish"}


def test_a_callback_ends_the_search_of_the_imputer_with_its_best_dimension(problem):
    model = SubspaceImputer(random_state=0)
    model.fit(problem.data, callback=lambda record: record.get("n_components") == 3)
    assert (model.status_, model.n_components_) == ("interrupted", 3)
    assert list(model.scores_) == [1, 2, 3]
    assert np.isfinite(model.transform(problem.data)).all()


def test_a_callback_ends_the_fit_of_the_imputer(problem):
    model = SubspaceImputer(3, random_state=0).fit(problem.data, callback=lambda record: True)
    assert (model.status_, len(model.history_)) == ("interrupted", 1)


def test_the_imputer_shows_its_search_and_its_passes(problem, capsys):
    model = SubspaceImputer(verbose=2, random_state=0).fit(problem.data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_)
    assert lines[0].startswith("search    n_components 1  score ")
    assert lines[-1].startswith("pass ")
    SubspaceImputer(verbose=1, random_state=0).fit(problem.data)
    shown = capsys.readouterr().err
    assert "SubspaceImputer: search" in shown
    assert "SubspaceImputer: polish" in shown
