"""The command that lists and runs the experiments of the paper, stores results and continues after a failure."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from benchmarks.__main__ import main
from benchmarks.framework import records
from benchmarks.framework.core import n_threads
from benchmarks.framework.data import MissingData
from benchmarks.framework.experiment import Claim, Table, Verdict
from fake_experiment import fake, run

ROOT = Path(__file__).parents[2]


class Counted:
    """A run that counts how often it is called."""

    def __init__(self):
        self.contexts = []

    def __call__(self, context):
        self.contexts.append(context)
        return run(context)


def no_data(context):
    message = "faces.npz was not found: get it from the moon"
    raise MissingData(message)


def broken(context):
    return 1 / 0


@pytest.fixture(autouse=True)
def no_real_data(monkeypatch):
    monkeypatch.delenv("GASG21_DATA", raising=False)


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "results"


def start(directory, known, *arguments):
    return main([*arguments, "--results", str(directory)], known)


def stored(directory, name="fake"):
    return json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))


def test_the_list_of_experiments(directory, capsys):
    known = [fake("one_thing"), fake("other", "tbl:hopkins_free", DATA=("hopkins155",))]
    assert start(directory, known, "one-thing") == 0
    capsys.readouterr()
    assert start(directory, known) == 0
    one, other = capsys.readouterr().out.splitlines()[1:3]
    assert start(directory, known, "list") == 0
    assert one in capsys.readouterr().out
    commit = records.origin(stored(directory, "one-thing"))
    for word in ("one-thing", "Fig. 4  fig:convergence", "The title of one_thing", "done, just made", commit):
        assert word in one
    for word in ("other", "Table V", "hopkins155", "none"):
        assert word in other


def test_a_result_names_its_origin(directory):
    assert start(directory, [fake()], "fake", "--seeds", "3") == 0
    record = stored(directory)
    assert record["name"] == "fake"
    assert record["state"] == "done"
    assert record["commit"] == records.git("rev-parse", "HEAD")
    assert isinstance(record["dirty"], bool)
    assert set(record["versions"]) == {"python", "numpy", "scipy", "scikit-learn", "gasg21", "blas"}
    assert record["machine"]["cores"] == os.cpu_count()
    assert record["machine"]["cpu"]
    assert record["settings"] == {"n": 20}
    assert (record["seeds"], record["quick"], record["threads"]) == (3, False, 1)
    assert record["results"] == {"curve": [1.0, 0.1, 0.01, 0.001, 0.0001], "seeds": [90000, 90001, 90002]}
    assert record["duration"] >= 0
    assert records.age(record) == "just made"


def test_all_methods_use_one_thread(directory):
    threads = []

    def look(context):
        threads.extend([n_threads(), *(pool["num_threads"] for pool in threadpool_info())])
        return run(context)

    assert start(directory, [fake(run=look)], "fake") == 0
    assert set(threads) == {1}


def test_claims_that_the_paper_does_not_make_are_marked(directory, capsys):
    own = Claim("We go further", "not stated", "far", Verdict.HOLDS, own=True)
    start(directory, [fake(claims=lambda results: [own])], "fake")
    assert "✓  We go further [ours, not in the paper]" in capsys.readouterr().out


def test_the_number_of_seeds(directory):
    for arguments, expected in (((), 5), (("--quick",), 2), (("--quick", "--seeds", "4"), 4), (("--seeds", "1"), 1)):
        counted = Counted()
        start(directory, [fake(run=counted)], "fake", *arguments)
        assert counted.contexts[0].seeds == expected
        assert counted.contexts[0].quick == ("--quick" in arguments)


def test_claims_and_tables_are_printed(directory, capsys):
    start(directory, [fake()], "fake")
    text = capsys.readouterr().out
    for line in ("✓  The angle falls & falls", "paper: below 1e-3", "ours:  1e-04"):
        assert line in text
    assert "does not hold: the other is fast, too" in text
    assert "  Q  LBF, paper  LBF, ours  LRR, paper" in text
    assert "  3  0.123       -          12345       1e-09      none             3" in text
    assert "done: 3 claims: 1 hold, 1 do not hold, 1 can't be checked" in text


def test_a_stored_result_is_kept(directory, capsys):
    counted = Counted()
    known = [fake(run=counted)]
    start(directory, known, "fake")
    start(directory, known, "fake")
    assert len(counted.contexts) == 1
    assert "kept: its result is stored" in capsys.readouterr().out
    start(directory, known, "fake", "--again")
    assert len(counted.contexts) == 2


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda record: record.update(source="other"), id="source"),
        pytest.param(lambda record: record.update(settings={"n": 21}), id="settings"),
        pytest.param(lambda record: record["machine"].update(cpu="other"), id="machine"),
        pytest.param(lambda record: record["versions"].update(numpy="1"), id="versions"),
        pytest.param(lambda record: record.update(seeds=4), id="seeds"),
        pytest.param(lambda record: record.update(quick=True), id="quick"),
        pytest.param(lambda record: record.update(state="failed"), id="failed"),
    ],
)
def test_a_result_of_another_run_is_not_kept(directory, change):
    counted = Counted()
    experiment = fake(run=counted)
    start(directory, [experiment], "fake")
    record = stored(directory)
    change(record)
    records.save(experiment, directory, record)
    start(directory, [experiment], "fake")
    assert len(counted.contexts) == 2


def test_the_digest_covers_the_experiment(tmp_path):
    file = tmp_path / "fake.py"
    file.write_text("1")
    first = records.source(fake(__file__=str(file)))
    assert records.source(fake(__file__=str(file))) == first
    file.write_text("2")
    assert records.source(fake(__file__=str(file))) != first


def test_a_failure_is_recorded_and_the_others_run(directory, capsys):
    counted = Counted()
    known = [fake("bad", run=broken), fake("good", run=counted)]
    assert start(directory, known, "all") == 1
    assert stored(directory, "bad")["state"] == "failed"
    assert stored(directory, "bad")["reason"] == "ZeroDivisionError: division by zero"
    assert "in broken" in stored(directory, "bad")["traceback"]
    assert stored(directory, "good")["state"] == "done"
    text = capsys.readouterr().out
    assert "1 of 2: bad" in text
    assert "2 of 2: good" in text
    # The failed one runs again, the other is kept.
    assert start(directory, [fake("bad"), fake("good", run=counted)], "all") == 0
    assert len(counted.contexts) == 1


def test_results_are_stored_even_if_the_claims_fail(directory):
    assert start(directory, [fake(claims=broken)], "fake") == 1
    assert stored(directory)["state"] == "done"


def test_missing_data_is_reported_and_no_failure(directory, capsys):
    known = [fake("faces", DATA=("faces",), run=no_data), fake("good")]
    assert start(directory, known, "all") == 0
    assert "not run: faces.npz was not found: get it from the moon" in capsys.readouterr().out
    assert stored(directory, "faces")["state"] == "not run"
    assert start(directory, known, "faces") == 1


def test_missing_data_keeps_an_older_result(directory):
    start(directory, [fake()], "fake")
    before = stored(directory)
    assert start(directory, [fake(run=no_data)], "fake", "--again") == 1
    assert stored(directory) == before


def test_the_data_directory_reaches_the_experiment(directory, tmp_path, monkeypatch):
    counted = Counted()
    known = [fake(run=counted)]
    monkeypatch.setenv("GASG21_DATA", str(tmp_path))
    start(directory, known, "fake")
    monkeypatch.delenv("GASG21_DATA")
    start(directory, known, "fake", "--again", "--data", str(ROOT))
    start(directory, known, "fake", "--again")
    assert [context.data for context in counted.contexts] == [tmp_path, ROOT, None]


def test_the_budget_ends_the_run(directory, capsys):
    assert start(directory, [fake("one"), fake("two")], "all", "--budget", "0") == 0
    assert capsys.readouterr().out.count("not run: the budget of 0 seconds is spent") == 2
    assert not directory.exists()


def test_numpy_numbers_are_stored(directory):
    np = pytest.importorskip("numpy")
    known = [fake(run=lambda context: {"curve": np.ones(2), "x": np.float32(0.5), "seeds": np.int64(3)})]
    start(directory, known, "fake")
    assert stored(directory)["results"] == {"curve": [1.0, 1.0], "x": 0.5, "seeds": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "no experiment is called nonsense; there are: all, fake"),
        (("fake", "--seeds", "0"), "must be a whole number of at least 1, not 0"),
        (("fake", "--data", "/nowhere"), "the data directory /nowhere does not exist"),
        (("fake", "--fast"), "unrecognized arguments: --fast"),
    ],
)
def test_wrong_arguments(directory, capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        start(directory, [fake()], *arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_quick_results_never_overwrite_the_committed_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["fake", "--quick"], [fake()]) == 0
    assert (tmp_path / "build" / "benchmarks-quick" / "fake.json").exists()
    assert not (ROOT / "benchmarks" / "results" / "fake.json").exists()


def test_invalid_claims_and_tables_are_refused():
    with pytest.raises(ValueError, match="needs a reason"):
        Claim("text", "paper", "ours", Verdict.UNCHECKED)
    with pytest.raises(ValueError, match="2 columns, but a row has 1"):
        Table("title", ["a", "b"], [["x"]])


def test_the_real_command():
    child = subprocess.run([sys.executable, "-m", "benchmarks"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    assert "result in benchmarks/results" in child.stdout


def test_pictures_of_the_data_are_stored_apart_and_not_drawn_into_files(directory):
    def figures(results):
        drawn.append(records.PICTURES in results)
        return fake().figures(results)

    drawn = []
    known = [fake(run=lambda context: {**run(context), records.PICTURES: [1, 2]}, figures=figures)]
    assert start(directory, known, "all") == 0
    assert records.PICTURES not in stored(directory)["results"]
    assert records.load(known[0], directory)["results"][records.PICTURES] == [1, 2]
    assert start(directory, known, "report") == 0
    assert drawn == [True, False]  # the page has them, the files do not
    ignored = subprocess.run(
        ["git", "check-ignore", "-q", "benchmarks/results/fake.pictures.json"], cwd=ROOT, check=False
    )
    assert ignored.returncode in (0, 128)  # 128: not a git checkout


def test_the_commit_is_that_at_the_start_of_a_run(monkeypatch):
    records.commit.cache_clear()
    monkeypatch.setattr(records, "git", lambda *arguments: "first" if arguments[0] == "rev-parse" else "")
    before = records.commit()
    monkeypatch.setattr(records, "git", lambda *arguments: "second")
    assert records.commit() == before == {"commit": "first", "dirty": False}
    records.commit.cache_clear()
