"""The measurements other than the paper's experiments, and the frame that runs them."""

import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from benchmarks.__main__ import RESULTS, main
from benchmarks.framework import measurement
from benchmarks.framework.catalogue import all_experiments, all_measurements, name_of
from benchmarks.framework.core import n_threads, polish_pass
from benchmarks.framework.data import MissingData
from benchmarks.framework.goals import Goals
from benchmarks.framework.measurement import Run
from benchmarks.speed import clusters, fits
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.metrics import subspace_angle

MEASUREMENTS = all_measurements()
each = pytest.mark.parametrize("module", MEASUREMENTS, ids=name_of)


@pytest.fixture(autouse=True)
def no_real_data(monkeypatch):
    monkeypatch.delenv("GASG21_DATA", raising=False)


def fake(**changes):
    """Return a measurement that takes no time and keeps the runs it was given."""
    runs = []

    def first(run):
        """Show the first thing."""
        runs.append(run)
        run.goals.at_most("the first", 1.0, 2.0)

    def second(run):
        """Show the second thing."""
        runs.append(run)
        run.goals.at_least("the second", 1.0, 2.0, " x")

    entries = {"__name__": "measurements.made_up", "__doc__": "What is made up.\n\nMore.", "TIME": "no time"}
    return SimpleNamespace(**(entries | {"PARTS": measurement.parts(first, second), "runs": runs} | changes))


def start(module, *arguments):
    return main(["made-up", *arguments], [], [module])


def no_data(run):
    message = "get it from the moon"
    raise MissingData(message)


@each
def test_the_names_of_a_measurement(module):
    assert module.__doc__.splitlines()[0].endswith(".")
    assert module.TIME
    assert all(measurement.shows(part) for part in module.PARTS.values())
    assert measurement.parser_of(name_of(module), module).parse_args([]).parts == []


@each
def test_the_readme_has_its_command(module):
    text = (RESULTS.parent / "README.md").read_text(encoding="utf-8")
    assert f"| `{name_of(module)}` |" in text
    for part in module.PARTS:
        assert f"`{part}`" in text, part


def test_private_parts_of_gasg21_are_used_in_one_module():
    private = re.compile(
        r"\b_core\b|gasg21(\.\w+)*\._[a-z]|from gasg21[\w.]* import .*\b_[a-z]|core_rule|\._tracker\b|sys\.path"
    )
    files = [path for path in RESULTS.parent.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert [path.name for path in files] == ["core.py"]


def test_the_names_of_benchmarks_are_unique():
    names = [name_of(module) for module in (*all_experiments(), *MEASUREMENTS)]
    assert len(names) == len({*names, "all", "list", "report"}) - 3


def test_the_list_has_the_measurements(capsys):
    assert main(["list"], [], [fake()]) == 0
    assert "made-up      What is made up  no time" in capsys.readouterr().out


def test_all_parts_run_or_those_named(capsys):
    module = fake()
    assert start(module) == 0
    assert len(module.runs) == 2
    text = capsys.readouterr().out
    assert "  ok      the first: 1, goal at most 2\n" in text
    assert "  MISSED  the second: 1 x, goal at least 2 x\n" in text
    assert "1 of 2 goals met; missed:\n  the second" in text
    assert start(module, "first", "--quick") == 0
    assert len(module.runs) == 3
    assert module.runs[-1].quick
    assert "all 1 goals met" in capsys.readouterr().out


def test_options_of_its_own_and_what_comes_before_the_parts(tmp_path):
    prepared = []
    options = {"--record": {"action": "store_true"}}
    module = fake(OPTIONS=options, prepare=lambda run: prepared.append(run.options.record))
    assert start(module, "--record", "--data", str(tmp_path)) == 0
    assert prepared == [True]
    assert module.runs[0].data == tmp_path


def test_fewer_seeds_in_a_quick_run():
    assert list(Run().seeds(3, quick=1)) == [0, 1, 2]
    assert list(Run(quick=True).seeds(3, quick=1)) == [0]


def test_missing_data_is_reported_and_the_other_parts_run(capsys):
    module = fake()
    module.PARTS["absent"] = no_data
    assert start(module) == 0
    assert "absent: not run: get it from the moon" in capsys.readouterr().out
    assert start(module, "absent") == 1


@pytest.mark.parametrize("one", [False, True])
def test_threads(one, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    found = []
    look = {"look": lambda run: found.append((os.environ["OMP_NUM_THREADS"], n_threads(), threadpool_info()))}
    assert start(fake(PARTS=look, ONE_THREAD=one)) == 0
    ((setting, threads, pools),) = found
    assert {pool["num_threads"] for pool in pools} <= {1}
    assert setting == ("1" if one else "7")
    assert threads == 1 or not one
    assert os.environ["OMP_NUM_THREADS"] == "7"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("third",), "no part is called third; there are: first, second"),
        (("--data", "/nowhere"), "the data directory /nowhere does not exist"),
        (("--fast",), "unrecognized arguments: --fast"),
    ],
)
def test_wrong_arguments(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        start(fake(), *arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_help_names_the_parts(capsys):
    with pytest.raises(SystemExit):
        start(fake(), "--help")
    text = capsys.readouterr().out
    assert "python -m benchmarks made-up" in text
    assert "second               Show the second thing." in text


SMALL = [
    pytest.param(module, part, id=f"{name_of(module)} {part}")
    for module in (fits, clusters)
    for part in module.PARTS
    if (module, part) != (clusters, "assign")  # it runs a program, which takes minutes to build
]


@pytest.mark.filterwarnings("ignore::gasg21.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("module", "part"), SMALL)
def test_the_parts_about_speed_run(module, part, monkeypatch, capsys):
    def low_rank(m, *sizes, **parameters):
        return make_low_rank(min(m, 2000), *sizes, **parameters)

    def union(m, *sizes, **parameters):
        return make_union_of_subspaces(min(m, 400), *sizes, **parameters)

    monkeypatch.setattr(module, "make_low_rank", low_rank, raising=False)
    monkeypatch.setattr(module, "make_union_of_subspaces", union, raising=False)
    with measurement.threads_of(module):
        assert measurement.run_part(part, module.PARTS[part], Run(quick=True))
    text = capsys.readouterr().out
    assert text.count("\n") > 1
    assert "nan" not in text
    assert not re.search("MISSED.*the same bits", text)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pass_of_the_polish_comes_near_the_subspace(threads):
    problem = make_low_rank(500, 40, 3, outlier_fraction=0.3, observed_fraction=0.7, noise=1e-3, random_state=1)
    off = np.random.default_rng(0).normal(size=(3, 40))
    start = np.linalg.qr((problem.basis + 0.01 * off).T)[0].T.copy()
    found = polish_pass(start, problem.data, threads)()
    assert subspace_angle(found, problem.basis) < 0.1 * subspace_angle(start, problem.basis)


def test_without_goals_there_is_no_summary(capsys):
    Goals().summary()
    assert capsys.readouterr().out == ""
