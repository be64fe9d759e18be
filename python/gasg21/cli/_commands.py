"""The commands on files: each reads, calls an estimator, and says what came out."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gasg21 import GASG21, KGASG21, SubspaceImputer, _core, load
from gasg21._estimators.fit_warnings import DOMINATES
from gasg21._support.arrays import Array
from gasg21.cli import _summary
from gasg21.cli._errors import CommandError, UsageError
from gasg21.cli._files import Table, kind_of, read, write

NOT_CONVERGED = 3  # exit code with --strict


def fit(options: argparse.Namespace) -> int:
    """Find the subspace of the good samples of a file."""
    table, seconds = _read_timed(options)
    center = options.center
    if center is None:
        center = _core.offset_ratio(np.ascontiguousarray(table.data), None, table.data.shape[1]) > DOMINATES
    model = GASG21(
        _dimension(options.components),
        center=center,
        contamination="auto" if options.contamination is None else options.contamination,
        **_fitting(options),
    )
    took = _fitted(model, table)
    if options.output is not None:
        model.save(options.output)
    with _quiet_about_names():
        found = _summary.of_fit(model, table, model.predict(table.data), {"read": seconds, "fit": took})
    _summary.show(found, options, written=options.output)
    return NOT_CONVERGED if options.strict and not model.converged_ else 0


def cluster(options: argparse.Namespace) -> int:
    """Find the subspaces of a file."""
    table, seconds = _read_timed(options)
    model = KGASG21(
        _number_or_auto(options.clusters, "-k"),
        _dimensions(options.components),
        center=options.center,
        reject_outliers=options.reject_outliers,
        **_fitting(options),
    )
    took = _fitted(model, table)
    if options.model is not None:
        model.save(options.model)
    if options.output is not None:
        write(options.output, {"row": np.arange(len(table.data)), "label": model.labels_})
    found = _summary.of_union(model, table, {"read": seconds, "fit": took})
    _summary.show(found, options, written=options.output or options.model)
    return NOT_CONVERGED if options.strict and not model.converged_ else 0


def score(options: argparse.Namespace) -> int:
    """Say how well the samples of a file fit a model."""
    model, table = _loaded(options)
    with _quiet_about_names():
        columns = _scores(model, table.data)
    if options.output is not None:
        write(options.output, columns)
    _summary.show(_summary.of_scores(columns, table, options.model), options, written=options.output)
    return 0


def complete(options: argparse.Namespace) -> int:
    """Fill in the missing entries of a file."""
    model, table = _loaded(options)
    kind_of(options.output)  # a wrong ending is said before the work
    with _quiet_about_names():
        filled = np.asarray(model.transform(table.data) if _is_imputer(model) else model.complete(table.data))
    write(options.output, filled, table.names)
    _summary.show(_summary.of_completion(filled, table), options, written=options.output)
    return 0


def plot(options: argparse.Namespace) -> int:
    """Draw a picture of a model."""
    from gasg21.cli._drawing import draw

    model = _load(options.model)
    table = None if options.data is None else read(options, _names(model))
    with _quiet_about_names():
        kinds = draw(model, None if table is None else table.data, options.kind, options.output)
    _summary.show({"picture": options.output, "plots": kinds}, options, written=None)
    return 0


def info(options: argparse.Namespace) -> int:
    """Describe a model or a file with data."""
    if Path(options.data).suffix.lower() == ".gasg21" or _is_model(options.data):
        found = _summary.of_model(_load(options.data), options.data)
    else:
        found = _summary.of_data(read(options))
    _summary.show(found, options, written=None)
    return 0


def demo(options: argparse.Namespace) -> int:
    """Run the demo."""
    from gasg21.demo import run_demo

    run_demo(options.output, options.seed)
    return 0


# ---- models


def _fitting(options: argparse.Namespace) -> dict[str, Any]:
    shown = sys.stderr.isatty() and not options.quiet and not options.json
    return {
        "max_passes": options.max_passes,
        "tol": options.tol,
        "random_state": options.seed,
        "n_jobs": options.jobs,
        "verbose": 2 if options.verbose else int(shown and _has_tqdm()),
    }


def _has_tqdm() -> bool:
    import importlib.util

    return importlib.util.find_spec("tqdm") is not None


def _fitted(model: Any, table: Table) -> float:
    """Fit a model, name its features, and return the seconds that it took."""
    began = time.perf_counter()
    model.fit(table.data)
    took = time.perf_counter() - began
    if table.names is not None:
        model.feature_names_in_ = np.asarray(table.names, object)
    return took


def _is_model(path: str) -> bool:
    """Return whether a file without a known ending is a model."""
    if not Path(path).is_file():
        return False
    try:
        load(path)
    except (OSError, ValueError):
        return False
    return True


def _load(path: str) -> Any:
    if not Path(path).is_file():
        msg = f"{path}: no such file"
        raise CommandError(msg)
    try:
        return load(path)
    except ValueError as error:
        msg = f"{path} is no model of gasg21: {error}"
        raise CommandError(msg) from error


def _names(model: Any) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _loaded(options: argparse.Namespace) -> tuple[Any, Table]:
    """Return the model and the data, in the columns that the model was fitted to."""
    model = _load(options.model)
    table = read(options, _names(model))
    if table.data.shape[1] != model.n_features_in_:
        names = _names(model)
        lacking = [] if names is None or table.names is None else [n for n in names if n not in table.names]
        more = f"; {table.path} has no column {lacking[0]!r}" if lacking else ""
        msg = f"{options.model} has {model.n_features_in_} features, {table.path} has {table.data.shape[1]}{more}"
        raise CommandError(msg)
    return model, table


def _is_imputer(model: Any) -> bool:
    return isinstance(model, SubspaceImputer)


def _scores(model: Any, X: Array) -> dict[str, Array]:
    """Return a column per answer."""
    if not hasattr(model, "score_samples"):
        msg = f"a {type(model).__name__} gives no scores; complete fills in missing entries with it"
        raise CommandError(msg)
    columns = {"row": np.arange(len(X)), "score": model.score_samples(X)}
    if isinstance(model, KGASG21):
        return columns | {"label": model.predict(X)}
    decision = model.decision_function(X)
    within, to = np.asarray(model.distances(X)).T
    outlier = ~(decision >= 0)
    return columns | {"decision": decision, "distance_within": within, "distance_to": to, "outlier": outlier}


@contextmanager
def _quiet_about_names() -> Iterator[None]:
    """Columns are matched by name before the data becomes an array without names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def _read_timed(options: argparse.Namespace) -> tuple[Table, float]:
    began = time.perf_counter()
    return read(options), time.perf_counter() - began


# ---- numbers among the arguments


def _dimension(text: str) -> int | float | str:
    if text == "auto" or text.isdigit():
        return text if text == "auto" else int(text)
    try:
        return float(text)
    except ValueError:
        msg = f"-d {text} must be a number of dimensions, a share of the variance such as 0.95, or auto"
        raise UsageError(msg) from None


def _dimensions(text: str) -> int | str | list[int]:
    if "," in text and all(part.strip().isdigit() for part in text.split(",")):
        return [int(part) for part in text.split(",")]
    return _number_or_auto(text, "-d")


def _number_or_auto(text: str, name: str) -> int | str:
    if text == "auto" or text.isdigit():
        return text if text == "auto" else int(text)
    msg = f"{name} {text} must be a whole number or auto"
    raise UsageError(msg)
