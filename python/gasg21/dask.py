"""`GASG21` and `KGASG21` on a Dask cluster: the same parameters, attributes and bits as for data in blocks.

Needs ``gasg21[dask]``. `fit` takes a Dask array (chunked in any way), a Dask dataframe, a list of delayed objects, or a
`gasg21.blocks.BlockSource`, whose parts the workers read themselves. `transform`, `predict` and their siblings are
lazy: they return Dask arrays. docs/large_data.md says when a cluster pays, and what happens when a worker dies.

>>> from dask.distributed import Client                              # doctest: +SKIP
>>> from gasg21.blocks import BlockSource                            # doctest: +SKIP
>>> from gasg21.dask import GASG21                                   # doctest: +SKIP
>>> client = Client("scheduler:8786")                                # doctest: +SKIP
>>> source = BlockSource.from_zarr("s3://bucket/data.zarr")          # doctest: +SKIP
>>> model = GASG21(n_components=5, random_state=0).fit(source)       # doctest: +SKIP
>>> labels = model.predict(source)                                   # doctest: +SKIP
>>> labels.to_zarr("s3://bucket/labels.zarr")                        # doctest: +SKIP
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gasg21._data.block_source import N_SAMPLED, BlockSource
from gasg21._data.constructor import parameter, with_parameters
from gasg21._estimators.gasg21 import GASG21 as _GASG21
from gasg21._estimators.kgasg21 import KGASG21 as _KGASG21
from gasg21._estimators.union_blocks import fit_blocks
from gasg21._support.optional import optional
from gasg21._support.progress import PassCallback
from gasg21.exceptions import DataQualityWarning, InvalidInputError

optional("dask.array", extra="dask", user="gasg21.dask")
distributed = optional("distributed", extra="dask", user="gasg21.dask")

from gasg21._dask.engine import DaskEngine  # noqa: E402 (after the check that Dask is there)
from gasg21._dask.lazy import is_lazy, lazily  # noqa: E402
from gasg21._dask.sources import as_source  # noqa: E402

__all__ = ["GASG21", "KGASG21"]

Method = TypeVar("Method", bound=Callable[..., Any])
_OWN = ("n_sampled", "client")  # parameters that the estimators in memory do not have


def _lazy(method: Method) -> Method:
    """Let a method of an estimator in memory be lazy for what is not in memory."""

    @functools.wraps(method)
    def lazy(self: Any, X: Any, mask: Any = None) -> Any:
        if not is_lazy(X):
            return method(self, X, mask)
        check_is_fitted(self)
        model = self.to_memory()
        return lazily(model.set_params(n_jobs=1), method.__name__, X, mask)

    return lazy  # type: ignore[return-value]


def _in_memory_only(method: Method) -> Method:
    """Let a method refuse what is not in memory, which it would load."""

    @functools.wraps(method)
    def strict(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_lazy(X):
            msg = f"{method.__name__} takes arrays in memory; X is a {type(X).__name__}. Give it a part of the data."
            raise InvalidInputError(msg)
        return method(self, X, *args, **kwargs)

    return strict  # type: ignore[return-value]


@with_parameters
class _OnDask:
    """Methods of both estimators on a cluster."""

    _in_memory: ClassVar[type[Any]]

    n_sampled: int = parameter(
        default=N_SAMPLED,
        kind="int",
        text="""Samples that are drawn from all parts and fitted first, in this process; `KGASG21` draws at least 1000
        per cluster.""",
    )
    client: Any = parameter(
        default=None,
        kind="dask.distributed.Client, optional",
        text="The cluster to use; by default the client of this process.",
    )

    def fit(self, X: Any, y: None = None, mask: Any = None, *, callback: PassCallback | None = None) -> Any:
        """Fit all parts on the cluster.

        Parameters
        ----------
        X : Dask array, Dask dataframe, list of delayed objects, or BlockSource
            One sample per row; NaN and NA are missing. A delayed object is an array, a sparse matrix, a data frame, or
            a pair of an array and its mask. Parts must give the same data each time they are computed. If lengths are
            not known, all parts are computed once to count them.
        y : ignored
        mask : Dask array of bool, optional
            For a Dask array: True = observed.
        callback : callable, optional
            Called with the record of each pass; see `gasg21.GASG21.fit`.

        Returns
        -------
        self
        """
        super().fit(X, y, mask, callback=callback)  # type: ignore[misc]
        zeros = self.diagnostics_.get("n_zero", 0)  # type: ignore[attr-defined]
        if zeros and not isinstance(X, BlockSource):
            msg = (
                f"{zeros} samples hold nothing but zeros, and were not used. If these are chunks that a store lacks, "
                "BlockSource.from_zarr and BlockSource.from_hdf5 name them."
            )
            warnings.warn(msg, DataQualityWarning, stacklevel=2)
        return self

    def to_memory(self) -> Any:
        """Return the estimator of gasg21 itself with the same parameters and the same fit."""
        state = vars(self._frozen()).copy()  # type: ignore[attr-defined]
        for name in _OWN:
            state.pop(name, None)
        model = self._in_memory()
        model._replace_attributes(vars(model) | state)
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file. `gasg21.load` returns the estimator of gasg21 itself: see `to_memory`.

        Parameters
        ----------
        path : str or path-like
            Name of the file. A file of that name is replaced.
        """
        self.to_memory().save(path)

    def _engine(self) -> DaskEngine:
        if self.client is not None:
            return DaskEngine(self.client)
        try:
            return DaskEngine(distributed.get_client())
        except ValueError as error:
            msg = "client=None needs a Dask client in this process: create one with dask.distributed.Client(...)"
            raise InvalidInputError(msg) from error

    def _source(self, X: Any, mask: Any, engine: DaskEngine) -> BlockSource:
        return as_source(X, mask, engine).with_limits(n_sampled=self.n_sampled)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not the client, which belongs to this process."""
        frozen = self._frozen()  # type: ignore[attr-defined]
        frozen.client = None
        return super(_OnDask, frozen).__getstate__()  # type: ignore[no-any-return, misc]

    def __sklearn_clone__(self) -> Any:
        """Return an estimator with the same parameters and the same client."""
        parameters: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        own = {name: value if name == "client" else clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**own)


def _documented(cls: type[Any]) -> type[Any]:
    """Put the attributes of the estimator in memory into a docstring."""
    attributes = (cls._in_memory.__doc__ or "").partition("\n\nAttributes\n----------\n")[2]
    for following in ("References", "Examples"):
        attributes = attributes.partition(f"\n\n{following}\n")[0]
    cls.__doc__ = (cls.__doc__ or "").replace("{attributes}", attributes)
    return cls


@_documented
@with_parameters
class GASG21(_OnDask, _GASG21, registered=False):
    """`gasg21.GASG21` on a Dask cluster.

    Parameters and attributes are as in `gasg21.GASG21`, and the result has the bits of its fit to a `BlockSource` of
    the same parts. A uniform sample of all parts is fitted in this process. Then all workers add up sums over their
    parts, in two to four passes over the data.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from gasg21.dask import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(2000, 20, 3, outlier_fraction=0.3, random_state=0)
    >>> X = da.from_array(data.data, chunks=(500, 10))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):
    ...     model = GASG21(n_components=3, random_state=0).fit(X)
    ...     labels = model.predict(X)  # lazy
    ...     share = float((labels == -1).mean().compute())
    >>> print(model.status_, round(share, 2))
    converged 0.3
    """

    _in_memory = _GASG21

    def _fit(self, X: Any, mask: Any, callback: PassCallback | None) -> Any:
        self._check_parameters()
        engine = self._engine()
        return self._fit_blocks(self._source(X, mask, engine), None, callback, engine)

    transform = _lazy(_GASG21.transform)
    complete = _lazy(_GASG21.complete)
    score_samples = _lazy(_GASG21.score_samples)
    decision_function = _lazy(_GASG21.decision_function)
    distances = _lazy(_GASG21.distances)
    predict = _lazy(_GASG21.predict)
    partial_fit = _in_memory_only(_GASG21.partial_fit)
    score = _in_memory_only(_GASG21.score)


@_documented
@with_parameters
class KGASG21(_OnDask, _KGASG21, registered=False):
    """`gasg21.KGASG21` on a Dask cluster.

    Parameters and attributes are as in `gasg21.KGASG21`, and the result has the bits of its fit to a `BlockSource`
    of the same parts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from gasg21.dask import KGASG21
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> data = make_union_of_subspaces(1500, 20, 2, 3, random_state=0)
    >>> X = da.from_array(data.data, chunks=(500, 20))
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):
    ...     model = KGASG21(n_clusters=3, n_components=2, random_state=0).fit(X)
    ...     labels = model.predict(X).compute()
    >>> clustering_error(data.labels, labels)
    0.0
    """

    _in_memory = _KGASG21

    def _fit(self, X: Any, mask: Any, began: float, callback: PassCallback | None) -> Any:
        engine = self._engine()
        return fit_blocks(self, self._source(X, mask, engine), None, began, callback, engine)

    transform = _lazy(_KGASG21.transform)
    complete = _lazy(_KGASG21.complete)
    score_samples = _lazy(_KGASG21.score_samples)
    predict = _lazy(_KGASG21.predict)
    partial_fit = _in_memory_only(_KGASG21.partial_fit)
    score = _in_memory_only(_KGASG21.score)
