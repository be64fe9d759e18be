"""
Embedding in C++
================

The core of gasg21 is a C++17 library on Armadillo. A program needs one header and one object, and no Python. This
tutorial writes such a program: it reads vectors from a pipe, flags outliers, raises an alarm when the subspace
changes, and saves a model file that Python opens.
"""

# %%
# The program
# -----------
# ``Tracker::update`` takes one vector, NaN for missing entries, and returns a ``StepReport``.

import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gasg21
from gasg21.datasets import make_low_rank
from gasg21.metrics import subspace_angle

program = r"""
#include <gasg21/gasg21.hpp>
#include <iostream>

int main(int, char** arguments) {
  gasg21::Tracker<double> tracker(/*n=*/30, /*d=*/3, gasg21::AdaptiveStep{}, /*seed=*/1);
  arma::vec x(30);
  while (std::cin.read(reinterpret_cast<char*>(x.memptr()), 30 * sizeof(double))) {
    const gasg21::StepReport report = tracker.update(x);
    std::cout << report.residual << " " << gasg21::to_string(report.status) << " " << report.changed << "\n";
  }
  gasg21::save(tracker, arguments[1]);
}
"""

# %%
# Build it
# --------
# The headers come with the Python package: ``python -m gasg21 --include-dir`` prints where they are. That is
# enough for a compiler, with Armadillo 10.8 or newer:

folder = Path(tempfile.mkdtemp())
(folder / "monitor.cpp").write_text(program)
include = gasg21.get_include()
command = f"g++ -std=c++17 -O2 -I{include} monitor.cpp -o monitor -larmadillo -pthread"
subprocess.run(command.split(), cwd=folder, check=True)

# %%
# For a program of your own add ``-march=native``, or let CMake do it. The installed library has its kernels
# compiled for each instruction set, so that your program compiles in a few seconds:
#
# .. code-block:: cmake
#
#    find_package(gasg21 REQUIRED)  # cmake -Dgasg21_DIR=$(python -m gasg21 --cmake-dir) ...
#    target_link_libraries(monitor PRIVATE gasg21::gasg21)
#
# Run it
# ------
# 4000 vectors, a quarter of them outliers, some entries missing. After 2000 the subspace is another one.

settings = {"outlier_fraction": 0.25, "observed_fraction": 0.9, "noise": 0.01}
before, after = (make_low_rank(2000, 30, 3, random_state=seed, **settings) for seed in (1, 2))
stream = np.vstack([before.data, after.data])
command = [folder / "monitor", folder / "monitor.gasg21"]
said = subprocess.run(command, input=stream.tobytes(), capture_output=True, check=True)
lines = [line.split() for line in said.stdout.decode().splitlines()]
residual = np.array([float(line[0]) for line in lines])
changes = [j for j, line in enumerate(lines) if line[2] == "1"]
print("alarms after", changes, "vectors; status at the end:", lines[-1][1])

# %%

inlier = np.concatenate([before.inlier, after.inlier])
fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(np.flatnonzero(inlier), residual[inlier], ".", ms=2, color="#2471a3", label="inliers")
ax.plot(np.flatnonzero(~inlier), residual[~inlier], ".", ms=2, color="#d35400", label="outliers")
for change in changes:
    ax.axvline(change, color="#c0392b", lw=1.5, label="alarm")
ax.set(xlabel="vector", ylabel="residual", ylim=(0, 1.3))
ax.legend(frameon=False, ncols=3, markerscale=5, loc="upper left")
plt.show()

# %%
# Continue in Python
# ------------------
# The file holds the whole stream. Python goes on where the program has stopped, and the other way round.

model = gasg21.load(folder / "monitor.gasg21")
print(f"angle to the truth: {subspace_angle(model.components_, after.basis):.3f} radians")
model.partial_fit(after.data[:100])

# %%
# Stored data: ``gasg21::recover(X, d)`` does what ``GASG21.fit`` does, and ``gasg21::recover_union(X, K, d)`` what
# ``KGASG21.fit`` does. :doc:`/api/cpp` lists the classes and functions, and ``cpp/example`` is a whole project.
