"""Tables in and out: columns that hold no numbers are named, and outputs are tables if `set_output` asks for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn import get_config

from gasg21.exceptions import InvalidInputError

Method = TypeVar("Method", bound=Callable[..., Any])

_MOST_NAMED = 5


def raise_for_dimensions(shape: tuple[int, ...]) -> None:
    """Refuse an array of images or frames, and say how to make rows of it."""
    msg = (
        f"X has {len(shape)} dimensions, shape {shape}; it must have 2, one sample per row. "
        f"X.reshape(len(X), -1) makes one row of each of the {shape[0]} arrays."
    )
    raise InvalidInputError(msg)


def refuse_text_columns(X: Any) -> None:
    """Refuse a table with columns that hold no numbers, and name them. Other data passes."""
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "__getitem__"):
        return
    found = [f"{name!r}" for name in names if not _holds_numbers(X[name])]
    if found:
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        which = "column" if len(found) == 1 else "columns"
        msg = f"X must hold numbers; drop or encode the {which} {', '.join(found[:_MOST_NAMED])}{more}"
        raise InvalidInputError(msg)


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, np.float64)
    except (ValueError, TypeError):
        return False
    return True


def tabled(*columns: str) -> Callable[[Method], Method]:
    """Let a method return a table where `set_output` asks for one; without names its columns are the features."""

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def with_names(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
            return as_table(self, method(self, X, *args, **kwargs), columns, X)

        return with_names  # type: ignore[return-value]

    return decorate


def as_table(estimator: Any, values: Any, columns: Sequence[str], like: Any) -> Any:
    """Return an array as `set_output` or `sklearn.set_config` want the outputs of `transform`: often as it is.

    Without columns, they are the features. A pandas table has the index of `like`, the input.
    """
    if not isinstance(values, np.ndarray):
        return values
    chosen = getattr(estimator, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
    if chosen == "pandas":
        import pandas as pd

        index = like.index if isinstance(like, pd.DataFrame) else None
        return pd.DataFrame(values, index=index, columns=list(columns or _feature_names(estimator)), copy=False)
    if chosen == "polars":
        import polars as pl

        return pl.DataFrame(values, schema=[str(name) for name in columns or _feature_names(estimator)], orient="row")
    return values


def _feature_names(estimator: Any) -> list[str]:
    """Return the names of the features, or x0, x1, ... as scikit-learn calls them."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{i}" for i in range(estimator.n_features_in_)] if names is None else list(names)
