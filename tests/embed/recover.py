"""Writes the data, the truth and the result of GASG21 for recover.cpp: recover.py DIRECTORY."""

import sys
from pathlib import Path

from gasg21 import GASG21
from gasg21.datasets import make_low_rank

directory = Path(sys.argv[1])
problem = make_low_rank(
    1000, 100, 4, singular_values=[100, 30, 5, 1], outlier_fraction=0.3, observed_fraction=0.7, random_state=3
)
model = GASG21(4, random_state=7).fit(problem.data)
for name, array in (("X", problem.data), ("components", model.components_), ("truth", problem.basis)):
    array.tofile(directory / f"{name}.bin")
