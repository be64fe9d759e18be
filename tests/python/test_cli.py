"""The command line and the demo."""

import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

import gasg21
from gasg21.cli import main


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


def test_demo_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"gasg21\[plot\]"):
        main(["demo"])
