"""Robust subspace recovery from data with outliers and missing entries, one vector at a time.

The names below are imported when the first of them is used. So `import gasg21` alone takes no time, and loads neither
scikit-learn nor what scikit-learn loads.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gasg21._core import __version__

if TYPE_CHECKING:
    from gasg21 import baselines, blocks, datasets, exceptions, metrics, plotting, step_size
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
    "plotting",
    "step_size",
]

_MODULE_OF = {
    "GASG21": "_estimators.gasg21",
    "GRASTA": "_estimators.grasta",
    "GROUSE": "_estimators.grouse",
    "KGASG21": "_estimators.kgasg21",
    "SubspaceImputer": "_estimators.imputer",
    "get_cmake_dir": "_support.embedding",
    "get_include": "_support.embedding",
    "load": "_estimators.saving",
}


def __getattr__(name: str) -> Any:
    """Import the public names when the first of them is used: all at once, because files may hold any estimator."""
    if name not in __all__:
        msg = f"module 'gasg21' has no attribute {name!r}"
        raise AttributeError(msg)
    for each in __all__:
        if each in _MODULE_OF:
            globals()[each] = getattr(importlib.import_module(f"gasg21.{_MODULE_OF[each]}"), each)
        elif each != "__version__":
            importlib.import_module(f"gasg21.{each}")
    return globals()[name]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
