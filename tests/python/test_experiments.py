"""Every experiment of the paper keeps the contract of benchmarks/framework/experiment.py."""

import inspect
import json
from collections import Counter

import pytest
from matplotlib.figure import Figure

from benchmarks.__main__ import RESULTS
from benchmarks.framework import records
from benchmarks.framework.catalogue import PAPER, all_experiments, name_of
from benchmarks.framework.experiment import Claim, Table, Verdict

EXPERIMENTS = all_experiments()
each = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=name_of)


def test_each_figure_and_table_is_remade_once():
    assert Counter(label for experiment in EXPERIMENTS for label in experiment.LABELS) == Counter(PAPER.keys())


@each
def test_the_names_of_an_experiment(experiment):
    assert experiment.TITLE
    assert experiment.__doc__.splitlines()[0].endswith(".")
    assert set(experiment.DATA) <= {"hopkins155", "faces"}
    assert experiment.SEEDS >= 1
    assert records.plain(experiment.SETTINGS) is not None
    assert experiment.SETTINGS
    assert list(inspect.signature(experiment.run).parameters) == ["context"]
    for function in (experiment.claims, experiment.figures, experiment.tables):
        assert list(inspect.signature(function).parameters) == ["results"]


def committed(experiment):
    """The committed result of a full run."""
    if not list(RESULTS.glob("*.json")):
        pytest.skip("no results are committed")
    record = records.load(experiment, RESULTS)
    assert record is not None, f"{name_of(experiment)} has no committed result"
    return record


@each
def test_the_committed_result_is_of_a_full_run(experiment):
    record = committed(experiment)
    assert record["state"] == "done"
    assert not record["quick"]
    assert not record["dirty"]
    assert record["seeds"] == experiment.SEEDS
    assert records.path_of(experiment, RESULTS).stat().st_size < 200_000


@each
def test_the_committed_result_can_be_shown(experiment):
    results = committed(experiment)["results"]
    untouched = json.dumps(results)
    claims, tables, figures = (make(results) for make in (experiment.claims, experiment.tables, experiment.figures))
    assert claims
    assert all(isinstance(claim, Claim) and isinstance(claim.verdict, Verdict) for claim in claims)
    assert all(claim.text and claim.paper and claim.ours for claim in claims)
    assert all(isinstance(table, Table) and table.rows for table in tables)
    assert all(isinstance(figure, Figure) and figure.axes for figure in figures.values())
    # A figure of the paper is a figure here, a table a table.
    assert figures or not any(label.startswith("fig:") for label in experiment.LABELS)
    assert tables or not any(label.startswith("tbl:") for label in experiment.LABELS)
    assert json.dumps(results) == untouched


def test_no_two_figures_have_one_name():
    stems = []
    for experiment in EXPERIMENTS:
        stems += experiment.figures(committed(experiment)["results"])
    assert len(stems) == len(set(stems))
