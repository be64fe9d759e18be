"""The types of the compiled module are those that it has."""

import runpy
from pathlib import Path

import pytest

from gasg21 import _core

ROOT = Path(__file__).parents[2]


def test_the_stub_is_what_its_script_writes():
    pytest.importorskip("pybind11", minversion="3.1", reason="older ones write types in another way")
    script = runpy.run_path(str(ROOT / "scripts" / "stub.py"))
    made = script["stub"](_core)
    assert made == script["STUB"].read_text(), "run .venv/bin/python scripts/stub.py"
