"""The command line and the demo."""

import json
import re
import subprocess
import sys
from pathlib import Path

import h5py
import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import scipy.io
import zarr

import gasg21
from gasg21 import GASG21
from gasg21.cli import _files, main
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.metrics import clustering_error


def run(*arguments, cwd=None):
    command = [sys.executable, "-W", "error", "-m", "gasg21", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


@pytest.mark.parametrize(
    ("flag", "file"),
    [
        ("--cmake-dir", "gasg21-config.cmake"),
        ("--include-dir", "gasg21/gasg21.hpp"),
        ("--pkgconfig-dir", "gasg21.pc"),
    ],
)
def test_printed_directories_contain_the_embedding_files(flag, file):
    child = run(flag)
    assert child.returncode == 0
    assert (Path(child.stdout.strip()) / file).is_file()


def test_get_include_and_get_cmake_dir():
    assert (Path(gasg21.get_include()) / "gasg21" / "version.hpp").is_file()
    assert (Path(gasg21.get_cmake_dir()) / "gasg21-config-version.cmake").is_file()


def test_version():
    assert run("--version").stdout == f"gasg21 {gasg21.__version__}\n"


def test_without_arguments_it_prints_help(capsys):
    assert main([]) == 0
    assert "demo" in capsys.readouterr().out


def test_demo_prints_a_table_and_draws_a_picture(tmp_path):
    child = run("demo", cwd=tmp_path)
    assert child.returncode == 0, child.stderr
    rows = {line[:15].strip(): line[15:].split() for line in child.stdout.splitlines() if " rad " in line}
    assert set(rows) == {"PCA", "spherized PCA", "GASG21"}
    assert float(rows["GASG21"][0]) < 1e-6 < 0.05 < float(rows["PCA"][0])
    assert "1300 of 1300" in child.stdout.splitlines()[-3]
    picture = matplotlib.image.imread(tmp_path / "gasg21-demo.png")
    assert picture.shape[1] > 1000
    assert picture[..., :3].std() > 0.05  # the picture is not blank


def test_demo_without_matplotlib_names_the_extra(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["demo"]) == 1
    assert "gasg21[plot]" in capsys.readouterr().err


# ---- files


def call(capsys, *arguments):
    """Run a command; return its exit code and what it prints."""
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def as_json(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


NAMES = [f"f{i}" for i in range(20)]


@pytest.fixture(scope="module")
def data():
    return make_low_rank(400, 20, 3, outlier_fraction=0.2, observed_fraction=0.9, noise=0.01, random_state=0)


@pytest.fixture(scope="module")
def files(data, tmp_path_factory):
    """The same samples in every format."""
    folder, X = tmp_path_factory.mktemp("files"), data.data
    table = pd.DataFrame(X, columns=NAMES)
    table.to_csv(folder / "data.csv", index=False)
    table.to_csv(folder / "data.tsv", index=False, sep="\t", na_rep="?")
    table.to_parquet(folder / "data.parquet")
    np.save(folder / "data.npy", X)
    np.savez(folder / "data.npz", X=X, y=np.arange(400))
    scipy.io.savemat(folder / "data.mat", {"X": X, "y": np.arange(400)})
    with h5py.File(folder / "data.h5", "w") as file:
        file["X"] = X
    zarr.save_array(str(folder / "data.zarr"), X)
    return folder


@pytest.fixture(scope="module")
def model(files):
    assert main(["fit", str(files / "data.csv"), "-d", "3", "-o", str(files / "model.gasg21"), "--json"]) == 0
    return files / "model.gasg21"


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npy", "npz", "mat", "h5", "zarr"])
def test_fit_reads_every_format(ending, files, data, capsys):
    marker = ["--missing", "?"] if ending == "tsv" else []
    output = files / f"{ending}.gasg21"
    found = as_json(capsys, "fit", files / f"data.{ending}", "-d", 3, "-o", output, *marker)
    assert (found["samples"], found["features"], found["components"]) == (400, 20, 3)
    assert found["missing"] == pytest.approx(np.isnan(data.data).mean())
    assert found["converged"]
    assert found["outliers"] == 80
    expected = GASG21(3, random_state=0).fit(data.data)
    # Text has all digits of the numbers, so that the fit has all bits.
    assert gasg21.load(output).components_.tobytes() == expected.components_.tobytes()


def test_text_is_written_as_it_was_read(data, tmp_path, capsys):
    names = ["a,b", 'a "c"', *NAMES[2:]]
    whole = np.where(np.arange(20) == 3, np.arange(400)[:, None], data.data)
    _files.write(str(tmp_path / "plain.csv"), whole, names)
    assert as_json(capsys, "info", tmp_path / "plain.csv")["names"][:2] == names[:2]
    table = pd.read_csv(tmp_path / "plain.csv")
    assert list(table.columns) == names
    assert table.dtypes["f3"] == np.int64
    np.testing.assert_array_equal(table.to_numpy(), whole)


def test_the_summary_of_a_fit_is_for_a_person(files, capsys):
    code, out, err = call(capsys, "fit", files / "data.csv", "-d", 3)
    assert (code, err) == (0, "")
    first, *facts = out.splitlines()
    assert re.fullmatch(r".*data\.csv: 400 samples, 20 features, \d+\.\d % missing", first)
    said = {line[2:20].strip(): line[20:] for line in facts}
    assert said["dimension"] == "3, through the origin"
    assert said["outliers"] == "80 (20.0 %)"
    assert "converged" in said["status"]
    assert said["time"].startswith("read ")


def test_an_offset_makes_the_subspace_affine(data, tmp_path, capsys):
    np.save(tmp_path / "far.npy", data.data + 50)
    assert as_json(capsys, "fit", tmp_path / "far.npy", "-d", 3)["center"] is True
    code, _, err = call(capsys, "fit", tmp_path / "far.npy", "-d", 3, "--no-center")
    assert code == 0
    assert "gasg21: warning: the samples share an offset" in err


def test_auto_and_a_share_of_the_variance(files, capsys):
    assert as_json(capsys, "fit", files / "data.csv")["components"] == 3
    assert as_json(capsys, "fit", files / "data.csv", "-d", "0.5")["components"] == 2


def test_score_finds_the_outliers(files, model, data, capsys, tmp_path):
    found = as_json(capsys, "score", files / "data.csv", model, "-o", tmp_path / "scores.csv")
    assert found["rows"] == np.flatnonzero(~data.inlier).tolist()
    assert set(found["worst"]) <= set(found["rows"])
    table = pd.read_csv(tmp_path / "scores.csv")
    assert list(table.columns) == ["row", "score", "decision", "distance_within", "distance_to", "outlier"]
    fitted = gasg21.load(model)
    np.testing.assert_array_equal(table["outlier"] == 1, ~data.inlier)
    np.testing.assert_allclose(table["score"], fitted.score_samples(pd.DataFrame(data.data, columns=NAMES)))


def test_score_picks_the_columns_of_the_model(data, model, tmp_path, capsys):
    table = pd.DataFrame(data.data, columns=NAMES).assign(city="Oslo")
    table[["city", *NAMES[::-1]]].to_csv(tmp_path / "other.csv", index=False)
    assert as_json(capsys, "score", tmp_path / "other.csv", model)["outliers"] == 80


@pytest.mark.parametrize("ending", ["csv", "npy", "npz", "mat", "parquet", "h5", "zarr", "tsv"])
def test_complete_writes_every_format(ending, files, model, data, capsys, tmp_path):
    out = tmp_path / f"full.{ending}"
    found = as_json(capsys, "complete", files / "data.csv", model, "-o", out)
    assert found["filled"] == np.isnan(data.data).sum()
    assert found["left"] == 0
    again = as_json(capsys, "info", out)
    assert (again["samples"], again["features"], again["missing"]) == (400, 20, 0)


def test_cluster_labels_samples(tmp_path, capsys):
    p = make_union_of_subspaces(300, 15, 2, 3, outlier_fraction=0.1, noise=0.01, random_state=0)
    np.save(tmp_path / "union.npy", p.data)
    labels, model = tmp_path / "labels.csv", tmp_path / "union.gasg21"
    found = as_json(
        capsys, "cluster", tmp_path / "union.npy", "-k", 3, "-d", 2, "--reject-outliers", "-o", labels, "--model", model
    )
    assert found["clusters"] == 3
    assert found["components"] == [2, 2, 2]
    table = pd.read_csv(labels)
    assert clustering_error(p.labels, table["label"].to_numpy(), outlier_label=-1) < 0.02
    scored = as_json(capsys, "score", tmp_path / "union.npy", model)
    assert sum(scored["labels"].values()) == 300
    assert as_json(capsys, "info", model)["clusters"] == 3
    assert as_json(capsys, "plot", model, tmp_path / "union.npy", "-o", tmp_path / "u.png")["plots"] == [
        "subspaces",
        "affinity",
        "convergence",
    ]


def test_plot_draws_what_suits_the_model(files, model, capsys, tmp_path):
    found = as_json(capsys, "plot", model, files / "data.csv", "-o", tmp_path / "all.png")
    assert found["plots"] == ["scree", "residuals", "outlier-map", "convergence"]
    assert matplotlib.image.imread(tmp_path / "all.png").shape[:2] == (880, 1280)
    as_json(capsys, "plot", model, "-o", tmp_path / "one.svg", "--kind", "scree")
    assert (tmp_path / "one.svg").read_text().lstrip().startswith("<?xml")
    code, _, err = call(capsys, "plot", model, "-o", tmp_path / "no.png", "--kind", "residuals")
    assert code == 1
    assert "needs the data" in err


def test_info_describes_models_and_data(files, model, capsys):
    code, out, _ = call(capsys, "info", model)
    assert code == 0
    assert "GASG21 of 20 features" in out
    assert "f0, f1, f2" in out
    assert as_json(capsys, "info", files / "data.npz")["samples"] == 400


def test_columns_are_chosen_by_name_and_number(files, capsys):
    def features(*arguments):
        return as_json(capsys, "info", files / "data.csv", *arguments)["names"]

    assert features("--columns", "f3,0,5-7") == ["f3", "f0", "f5", "f6", "f7"]
    assert features("--drop", "f0,1-18") == ["f19"]
    code, _, err = call(capsys, "info", files / "data.csv", "--columns", "height")
    assert code == 2
    assert "no column 'height'" in err


def test_numbers_can_stand_for_missing_entries(data, tmp_path, capsys):
    np.save(tmp_path / "marked.npy", np.nan_to_num(data.data, nan=-999))
    found = as_json(capsys, "info", tmp_path / "marked.npy", "--missing", "-999")
    assert found["missing"] == pytest.approx(np.isnan(data.data).mean())


def test_files_without_a_header(data, tmp_path, capsys):
    np.savetxt(tmp_path / "plain.csv", np.nan_to_num(data.data), delimiter=";")
    found = as_json(capsys, "info", tmp_path / "plain.csv", "--delimiter", ";")
    assert (found["samples"], found["features"]) == (400, 20)
    assert "names" not in found
    assert as_json(capsys, "info", tmp_path / "plain.csv") == found  # the delimiter can be guessed


BAD = {
    "text.csv": ("a,b\n1,2\n3,Oslo\n", "text.csv: line 3: column 'b' holds 'Oslo', which is no number; --drop"),
    "ragged.csv": ("a,b\n1,2\n3\n", "ragged.csv: line 3 has 1 fields; it must have 2"),
    "empty.csv": ("", "is empty"),
    "header.csv": ("a,b\n", "header.csv holds no samples"),
    "infinite.csv": ("a,b\n1,2\n3,inf\n", "row 1 of 'b' is infinite; --missing inf,-inf"),
    "latin.csv": (b"caf\xe9,b\n1,2\n", "cannot be read as text"),
    "twice.csv": ("a,a\n1,2\n", "two columns have the name 'a'"),
    "broken.npy": ("no numpy", "cannot be read as npy: it does not begin as such files do"),
    "broken.npz": ("no numpy", "cannot be read as npz: it does not begin as such files do"),
    "broken.mat": ("no matlab", "cannot be read as mat"),
    "broken.parquet": ("no parquet", "broken.parquet"),
    "broken.h5": ("no hdf5", "broken.h5 cannot be read as an HDF5 file: "),
    "broken.gasg21": ("no model", "is no model of gasg21"),
    "data.xyz": ("1 2", "ending '.xyz' is none of"),
    "data": ("1 2", "the name must end with one of"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_get_one_sentence(name, tmp_path, capsys):
    text, said = BAD[name]
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = call(capsys, "info", tmp_path / name)
    assert (code, out) == (1, "")
    assert err.startswith("gasg21: error: ")
    assert len(err.splitlines()) == 1
    assert said in err


def test_other_mistakes_get_one_sentence(files, model, tmp_path, capsys):
    np.save(tmp_path / "wide.npy", np.zeros((5, 7)))
    np.save(tmp_path / "flat.npy", np.zeros(5))
    np.savez(tmp_path / "two.npz", a=np.zeros((5, 7)), b=np.zeros((5, 7)))
    mistakes = {
        "absent.csv: no such file": ("fit", tmp_path / "absent.csv"),
        "model.gasg21 has 20 features": ("score", tmp_path / "wide.npy", model),
        "shape (5,)": ("fit", tmp_path / "flat.npy"),
        "--key names the one to read": ("fit", tmp_path / "two.npz"),
        "has no array 'c'": ("fit", tmp_path / "two.npz", "--key", "c"),
        "n_components=25 must be": ("fit", files / "data.csv", "-d", 25),
        "is no model of gasg21": ("score", files / "data.csv", files / "data.npy"),
        "none of": ("complete", files / "data.csv", model, "-o", tmp_path / "out.xls"),
        "there is no directory": ("fit", files / "data.csv", "-o", tmp_path / "none" / "model.gasg21"),
        f"no directory {tmp_path / 'no'}": ("demo", "--output", tmp_path / "no" / "demo.png"),
    }
    for said, arguments in mistakes.items():
        code, _, err = call(capsys, *arguments)
        assert code == 1, said
        assert said in err
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["x.csv", "--max-passes", "0"],
        ["x.csv", "--tol", "-1"],
        ["x.csv", "--seed", "one"],
        ["x.csv", "--contamination", "2"],
    ],
)
def test_bad_arguments_exit_with_2(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["fit", *arguments])
    assert "gasg21 fit: error: " in capsys.readouterr().err


def test_arguments_that_do_not_suit_the_file_exit_with_2(files, model, capsys):
    mistakes = {
        "-d many must be": ("-d", "many"),
        "there is no column 'z'": ("--columns", "z"),
        "--delimiter ;; must be one character": ("--delimiter", ";;"),
        "data.csv is named twice": ("-o", files / "data.csv"),
    }
    for said, arguments in mistakes.items():
        code, _, err = call(capsys, "fit", files / "data.csv", *arguments)
        assert code == 2, said
        assert said in err
        assert len(err.splitlines()) == 1


def test_infinite_entries_can_be_missing_ones(tmp_path, capsys):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n3,inf\n")
    code, out, _ = call(capsys, "info", tmp_path / "data.csv", "--missing", "inf", "--json")
    assert code == 0
    assert json.loads(out)["missing"] == 0.25


def test_a_file_larger_than_the_memory_is_for_blocks(files, monkeypatch, capsys):
    monkeypatch.setattr(_files, "_memory", lambda: 1000)
    code, _, err = call(capsys, "fit", files / "data.csv")
    assert code == 1
    assert "gasg21.blocks.BlockSource" in err
    assert len(err.splitlines()) == 1
    assert call(capsys, "fit", files / "data.npy", "-d", 3)[0] == 0  # mapped


def test_no_memory_is_said_in_a_sentence(files, monkeypatch, capsys):
    def fail(*arguments, **parameters):
        raise MemoryError

    monkeypatch.setattr(GASG21, "fit", fail)
    code, _, err = call(capsys, "fit", files / "data.csv")
    assert code == 1
    assert "does not fit into memory; the command line reads whole files" in err


def test_strict_exits_with_3_if_the_fit_did_not_converge(tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((60, 20)))
    code, _, err = call(capsys, "fit", tmp_path / "noise.npy", "-d", 5, "--strict")
    assert code == 3
    assert "gasg21: warning: " in err


def test_an_interrupt_exits_with_130(files, monkeypatch, capsys):
    def interrupt(*arguments, **parameters):
        raise KeyboardInterrupt

    monkeypatch.setattr(GASG21, "fit", interrupt)
    code, _, err = call(capsys, "fit", files / "data.csv")
    assert code == 130
    assert err == "gasg21: error: interrupted\n"


def test_verbose_prints_a_line_for_each_pass(files, capsys):
    _, out, _ = call(capsys, "fit", files / "data.csv", "-d", 3, "--verbose")
    assert out.startswith("pass   1  stream")
