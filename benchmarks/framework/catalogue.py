"""All benchmarks: the experiments in the paper's order, with their figures and tables, and the measurements."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from benchmarks import experiments, measurements, speed
from benchmarks.framework.experiment import Experiment
from benchmarks.framework.measurement import Measurement

# The labels of the paper's figures and tables, with their printed numbers.
PAPER = {
    "fig:outlier_model": "Fig. 1",
    "fig:spherific_data": "Fig. 2",
    "fig:k-selection": "Fig. 3",
    "fig:convergence": "Fig. 4",
    "fig:subsampling-outlier": "Fig. 5",
    "fig:cond-mu": "Fig. 6",
    "fig:time-cmp-outlier-all": "Fig. 7",
    "fig:time-cmp-outlier-dimension": "Fig. 8",
    "fig:rpcasgd-gasg21-cmp": "Fig. 9",
    "fig:face-inlier-outlier": "Fig. 10",
    "fig:face-recovery": "Fig. 11",
    "tbl:face-residual": "Table I",
    "tbl:face-runningtime": "Table II",
    "fig:k20d3converge": "Fig. 12",
    "tbl:ksubspace-performance": "Table III",
    "tbl:ksubspace-outlier-candidate": "Table IV",
    "tbl:hopkins_free": "Table V",
    "tbl:hopkins_outlier": "Table VI",
}


class UnknownName(Exception):
    """Raised for a name that no experiment has."""


def name_of(module: Experiment | Measurement) -> str:
    """Return the name that calls a benchmark: that of its file, with dashes."""
    return module.__name__.rpartition(".")[2].replace("_", "-")


def places_of(experiment: Experiment) -> str:
    """Return the figures and tables that it repeats: "Fig. 10, Table I"."""
    return ", ".join(PAPER[label] for label in sorted(experiment.LABELS, key=list(PAPER).index))


def modules_of(package: ModuleType) -> list[Any]:
    """Import the modules of a package, without those whose name begins with an underscore."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name[0] != "_"]
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def all_experiments() -> list[Experiment]:
    """Return all experiments, in the paper's order."""
    return sorted(modules_of(experiments), key=lambda module: min(list(PAPER).index(label) for label in module.LABELS))


def all_measurements() -> list[Measurement]:
    """Return all measurements, those of speed last."""
    return [module for package in (measurements, speed) for module in modules_of(package) if hasattr(module, "PARTS")]


def choose(names: list[str], known: list[Experiment]) -> list[Experiment]:
    """Return the experiments with these names, in the paper's order; "all" stands for all of them."""
    wanted = {name.replace("_", "-") for name in names}
    allowed = [name_of(experiment) for experiment in known]
    unknown = sorted(wanted - {"all", *allowed})
    if unknown:
        message = f"no experiment is called {', '.join(unknown)}; there are: {', '.join(['all', *allowed])}"
        raise UnknownName(message)
    return [experiment for experiment in known if "all" in wanted or name_of(experiment) in wanted]
