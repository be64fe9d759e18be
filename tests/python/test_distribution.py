"""What people install: a light import, types for their programs, one version everywhere."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gasg21
from gasg21 import _core

ROOT = Path(__file__).parents[2]
HEAVY = ("matplotlib", "dask", "distributed", "pandas", "polars", "pyarrow", "h5py", "zarr", "tqdm")


def test_the_import_loads_no_optional_package():
    code = f"import sys, gasg21; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_loads_no_optional_package_before_it_needs_one():
    code = f"import sys, gasg21.cli; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_fit_of_one_subspace_does_not_wait_for_the_estimators_of_scikit_learn():
    slow = "{'sklearn.cluster', 'sklearn.metrics', 'scipy.io'}"
    code = f"import sys; from gasg21 import GASG21; print([*{slow} & {{*sys.modules}}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_users_program_passes_mypy_strict(tmp_path):
    program = ROOT / "tests" / "typing" / "user_program.py"
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", "--config-file=", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_package_says_that_it_is_typed():
    assert (Path(gasg21.__file__).parent / "py.typed").is_file() or (ROOT / "python" / "gasg21" / "py.typed").is_file()


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("nm") is None, reason="needs nm of Linux")
def test_the_module_exports_its_entry_only():
    command = ["nm", "--dynamic", "--defined-only", _core.__file__]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == ["PyInit__core"]


def test_one_version_everywhere():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]
    assert gasg21.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f'set version = "{version}"' in (ROOT / "conda" / "meta.yaml").read_text()
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_extras_of_all_are_there():
    text = (ROOT / "pyproject.toml").read_text()
    extras = re.search(r'^all = \["gasg21\[(.+)\]"\]$', text, re.M)[1].split(",")
    assert {"plot", "progress", "files", "dask"} <= set(extras)
    assert all(re.search(rf"^{extra} = \[", text, re.M) for extra in extras)


def test_the_recipe_needs_what_the_package_needs():
    project = (ROOT / "pyproject.toml").read_text()
    needed = re.findall(r'"([\w-]+)>=([\d.]+)"', re.search(r"^dependencies = \[(.+)\]$", project, re.M)[1])
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    assert len(needed) >= 4
    assert [name for name, version in needed if f"- {name} >={version}\n" not in recipe] == []


@pytest.mark.parametrize("name", ["whitened", "imputer"])
def test_a_new_process_loads_any_estimator(name):
    file = ROOT / "tests" / "data" / "format-1" / f"{name}.gasg21"
    code = "import sys, gasg21; print(gasg21.load(sys.argv[1]).n_features_in_)"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "6\n"
