"""Robust subspace recovery from data with outliers and missing entries, one vector at a time."""

from gasg21 import baselines, blocks, datasets, exceptions, metrics, step_size
from gasg21._core import __version__
from gasg21._estimators.gasg21 import GASG21
from gasg21._estimators.grasta import GRASTA
from gasg21._estimators.grouse import GROUSE
from gasg21._estimators.imputer import SubspaceImputer
from gasg21._estimators.kgasg21 import KGASG21
from gasg21._estimators.saving import load
from gasg21._support.embedding import get_cmake_dir, get_include

__all__ = [
    "GASG21",
    "GRASTA",
    "GROUSE",
    "KGASG21",
    "SubspaceImputer",
    "__version__",
    "baselines",
    "blocks",
    "datasets",
    "exceptions",
    "get_cmake_dir",
    "get_include",
    "load",
    "metrics",
    "step_size",
]
