"""The attacks of docs/reliability.md with small counts. None depends on the speed of the machine.

`threads` and `fork` are in test_sharing.py.
"""

import contextlib
import importlib
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attacks import binding, disk_full

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def survives(name, count, **options):
    ran, failures, _ = importlib.import_module(f"attacks.{name}").attack(count, 1, **options)
    assert not failures
    assert ran > 0


def test_random_arguments_to_the_core():
    code = "from attacks import binding; _, failures, _ = binding.attack(1500, 1); assert not failures, failures"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment, check=True)


def test_the_attack_on_the_core_reaches_the_rows(tmp_path):
    rows = [each for each in binding.signatures() if any(parameter == "row" for parameter, *_ in each[2])]
    assert len(rows) == 12  # five methods of a subspace and one of a tracker, in two precisions
    for signature in rows:
        answers = []
        for seed in range(20):
            with contextlib.suppress(TypeError):
                arguments = binding.Arguments(np.random.default_rng(seed), tmp_path, signature[0])
                answers.append(binding.call(arguments, *signature))
        assert sum(each is not binding.REFUSED for each in answers) > 5, signature


@linux
def test_damaged_models():
    survives("corruption", 450)


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
