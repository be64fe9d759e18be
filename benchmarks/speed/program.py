"""What the speed benchmarks share: the C++ program, one thread, goals with a verdict."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  (threadpoolctl limits the libraries that are loaded)
from threadpoolctl import threadpool_limits

threadpool_limits(1)
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for gasg21, and what we start

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "speed"
PROGRAM = BUILD / "benchmarks" / "speed" / "gasg21_speed"

Record = dict[str, Any]


def build() -> None:
    """Build the program as users get the library: Release, for any machine of this kind."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DGASG21_BENCHMARKS=ON", "-DGASG21_INSTALL=OFF"]
    configure = ["cmake", "-S", ROOT, "-B", BUILD, *options]
    if shutil.which("valgrind") is None or call(configure).returncode:  # OpenBLAS may be missing
        subprocess.run([ROOT / "scripts" / "bootstrap", "speed"], check=True)
    for command in (configure, ["cmake", "--build", BUILD]):
        if (done := call(command)).returncode:
            raise SystemExit(done.stdout)


def call(command: list[Any]) -> subprocess.CompletedProcess[str]:
    """Run a command; what it prints is kept."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@functools.cache
def environment() -> dict[str, str]:
    """Return the program's environment, in which OpenBLAS uses what the machine has.

    Versions before 0.3.22 take newer processors for one of 2004.
    """
    settings = dict(os.environ)
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    about = json.loads(subprocess.check_output([PROGRAM, "about"], text=True))
    if about["core"] == "Prescott" and "avx2" in flags:
        settings["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512dq" in flags else "Haswell"
    return settings


def run(command: str, **arguments: Any) -> list[Record]:
    """Run the program and return the objects it prints."""
    words = [PROGRAM, command, *(f"{name}={value}" for name, value in arguments.items())]
    return [json.loads(line) for line in subprocess.check_output(words, text=True, env=environment()).splitlines()]


def machine() -> str:
    """Return a line about this machine."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    about = run("about")[0]
    return f"{name}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {about['blas']}; {about['compiler']}"


class Goals:
    """Prints goals with what was reached, and remembers the missed ones."""

    def __init__(self) -> None:
        self.missed: list[str] = []
        self.count = 0

    def at_least(self, text: str, value: float, bound: float, unit: str = " x") -> None:
        """State that the value should be at least the bound."""
        self._state(f"{text}: {value:.3g}{unit}, goal at least {bound:g}{unit}", value >= bound)

    def at_most(self, text: str, value: float, bound: float, unit: str = " x") -> None:
        """State that the value should be at most the bound."""
        self._state(f"{text}: {value:.3g}{unit}, goal at most {bound:g}{unit}", value <= bound)

    def _state(self, line: str, kept: bool) -> None:
        self.count += 1
        if not kept:
            self.missed.append(line)
        print(f"  {'ok    ' if kept else 'MISSED'}  {line}")

    def summary(self) -> None:
        """Print how many were kept, and which were not."""
        print(
            f"\n{self.count - len(self.missed)} of {self.count} goals kept; missed:"
            if self.missed
            else f"\nall {self.count} goals kept"
        )
        print("".join(f"  {line}\n" for line in self.missed), end="")
