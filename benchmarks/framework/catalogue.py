"""Which experiments there are, in the paper's order, and what the paper calls its figures and tables."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks import experiments
from benchmarks.framework.experiment import Experiment

# The paper's labels that are remade, with the number printed there.
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
    """A name that no experiment has."""


def name_of(experiment: Experiment) -> str:
    """Return the name by which an experiment is called: that of its file, with dashes."""
    return experiment.__name__.rpartition(".")[2].replace("_", "-")


def places_of(experiment: Experiment) -> str:
    """Return where in the paper it is: "Fig. 10, Table I"."""
    return ", ".join(PAPER[label] for label in sorted(experiment.LABELS, key=list(PAPER).index))


def all_experiments() -> list[Experiment]:
    """Return every experiment, in the paper's order."""
    names = [module.name for module in pkgutil.iter_modules(experiments.__path__) if module.name[0] != "_"]
    modules = [importlib.import_module(f"{experiments.__name__}.{name}") for name in names]
    return sorted(modules, key=lambda module: min(list(PAPER).index(label) for label in module.LABELS))


def choose(names: list[str], known: list[Experiment]) -> list[Experiment]:
    """Return the experiments of these names, in the paper's order; "all" stands for every one."""
    wanted = {name.replace("_", "-") for name in names}
    allowed = [name_of(experiment) for experiment in known]
    unknown = sorted(wanted - {"all", *allowed})
    if unknown:
        message = f"no experiment is called {', '.join(unknown)}; there are: {', '.join(['all', *allowed])}"
        raise UnknownName(message)
    return [experiment for experiment in known if "all" in wanted or name_of(experiment) in wanted]
