"""The attacks of docs/reliability.md with small counts. None depends on the speed of the machine.

`threads` and `fork` are in test_sharing.py.
"""

import importlib
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from attacks import disk_full

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def survives(name, count, **options):
    ran, failures, _ = importlib.import_module(f"attacks.{name}").attack(count, 1, **options)
    assert not failures
    assert ran > 0


def test_random_arguments_to_the_core():
    code = "from attacks import binding; _, failures, _ = binding.attack(1500, 1); assert not failures, failures"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, check=True)


@linux
def test_damaged_models():
    survives("corruption", 450)


@linux
@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_failing_allocations():
    survives("allocation", 12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_killed_while_saving():
    survives("kill", 20)


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_full_disk():
    ran, failures, note = disk_full.attack(2, 1)
    if not ran:
        pytest.skip(note)
    assert not failures


def test_cut_and_resumed_streams():
    survives("resume", 26)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_ctrl_c_leaves_usable_models():
    survives("interrupt", 18, allowed=math.inf, waiting=math.inf)


def test_long_streams():
    survives("soak", 60_000)
