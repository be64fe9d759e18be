"""The C++ headers refuse compilers and flags with which they give wrong results."""

import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).parents[2] / "cpp" / "include"
pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="needs g++")


def preprocess(header, *flags):
    """Return what the preprocessor reports as errors."""
    command = ["g++", "-E", "-x", "c++", f"-I{INCLUDE}", *flags, "-o", "/dev/null", "-"]
    text = f"#include <gasg21/{header}>\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("header", ["tracker.hpp", "kernels/tracked_basis.hpp"])
@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["-std=c++17", "-ffast-math"], "marks missing entries by NaN"),
        (["-std=c++17", "-Ofast"], "marks missing entries by NaN"),
        (["-std=c++20", "-O2", "-ffinite-math-only"], "marks missing entries by NaN"),
        (["-std=c++14"], "needs C++17 or newer"),
    ],
)
def test_flags_that_give_wrong_results_are_refused(header, flags, reason):
    assert f'#error "gasg21 {reason}' in preprocess(header, *flags)


@pytest.mark.parametrize("flags", ["-O2", "-O3 -march=native", "-O3 -ffp-contract=fast"])
def test_other_flags_are_accepted(flags):
    assert preprocess("tracker.hpp", "-std=c++17", *flags.split()) == ""
