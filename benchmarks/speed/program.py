"""The C++ programs of the speed measurements: how they are built and run."""

from __future__ import annotations

import functools
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "speed"
PROGRAM = BUILD / "benchmarks" / "speed" / "gasg21_speed"
CLUSTERS = PROGRAM.with_name("gasg21_clusters")

Record = dict[str, Any]


def build() -> None:
    """Build the programs as users build the library: Release, for any machine with this architecture."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DGASG21_BENCHMARKS=ON", "-DGASG21_INSTALL=OFF"]
    configure = ["cmake", "-S", ROOT, "-B", BUILD, *options]
    if shutil.which("valgrind") is None or call(configure).returncode:  # it may be OpenBLAS that is missing
        subprocess.run([ROOT / "scripts" / "bootstrap", "speed"], check=True)
    for command in (configure, ["cmake", "--build", BUILD, "--target", PROGRAM.name, CLUSTERS.name]):
        if (done := call(command)).returncode:
            raise SystemExit(done.stdout)


def call(command: list[Any]) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it prints."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@functools.cache
def environment() -> dict[str, str]:
    """Return the environment of the program, in which OpenBLAS uses the instruction set of the machine.

    OpenBLAS before 0.3.22 does not know newer processors and falls back to the kernels of 2004.
    """
    settings = dict(os.environ)
    flags = Path("/proc/cpuinfo").read_text().split() if Path("/proc/cpuinfo").exists() else []
    about = json.loads(subprocess.check_output([PROGRAM, "about"], text=True))
    if about["core"] == "Prescott" and "avx2" in flags:
        settings["OPENBLAS_CORETYPE"] = "SkylakeX" if "avx512dq" in flags else "Haswell"
    return settings


def run(command: str, **arguments: Any) -> list[Record]:
    """Run the program and return the JSON objects that it prints."""
    words = [PROGRAM, command, *(f"{name}={value}" for name, value in arguments.items())]
    return [json.loads(line) for line in subprocess.check_output(words, text=True, env=environment()).splitlines()]


def read_problem(file: Path, n: int, d: int) -> tuple[np.ndarray, ...]:
    """Return what the command "write" wrote: start, subspace that arma::solve reaches, truth (n, d); samples as rows."""
    numbers = np.fromfile(file)
    bases = numbers[: 3 * n * d].reshape(3, d, n)
    return *(np.ascontiguousarray(basis.T) for basis in bases), numbers[3 * n * d :].reshape(-1, n)


def run_clusters(**arguments: Any) -> Record:
    """Run the program for K subspaces and return the JSON object that it prints."""
    words = [CLUSTERS, *(f"{name}={value}" for name, value in arguments.items())]
    return json.loads(subprocess.check_output(words, text=True, env=environment()))


def machine() -> str:
    """Return one line about this machine, its BLAS and the compiler."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    about = run("about")[0]
    return f"{name}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {about['blas']}; {about['compiler']}"
