"""What the parameters of KGASG21 mean: checks, dimensions, and the plan of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._algorithms.clusters import UnionPlan
from gasg21._algorithms.model_order import Selection, choose_n_clusters, choose_order
from gasg21._data.constructor import check_parameters
from gasg21._data.parameters import check_choice, check_components, check_integer, n_threads, seed_of
from gasg21._data.samples import Array, Samples
from gasg21._estimators.parameter_tables import UnionTable
from gasg21._estimators.union import finite_rows
from gasg21.exceptions import InvalidInputError

_INITS = ("density", "farthest", "spectral", "auto")


class UnionParameters(UnionTable):
    """Parameters of `KGASG21`, checked."""

    _selection: Selection | None = None  # what the data chose; None: both numbers are given

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _decides_by_data(self) -> bool:
        """Whether the data may decide how the clusters are found."""
        return bool(self.polish) and is_auto(self.init) and is_auto(self.whiten) and is_auto(self.n_ensemble)

    def _given_dimensions(self, n_features: int) -> tuple[int, ...]:
        """Return the dimensions of the clusters, as far as they are given: one number stands for all."""
        given = self.n_components
        if is_auto(given):
            return ()
        if isinstance(given, list | tuple | np.ndarray):
            if is_auto(self.n_clusters) or len(given) != self.n_clusters:
                msg = f"n_components={given!r} must be one integer or a list of n_clusters={self.n_clusters} integers"
                raise InvalidInputError(msg)
            return tuple(check_components(d, n_features) for d in given)
        count = 1 if is_auto(self.n_clusters) else int(self.n_clusters)
        return (check_components(given, n_features),) * count

    def _dimensions(self, n_features: int) -> tuple[int, ...]:
        """Return the dimensions of the clusters in the data's own coordinates."""
        if self._selection is not None:
            return self._selection.n_components
        return self._given_dimensions(n_features)

    def _choose_order(self, lifted: Samples, n_features: int) -> Selection | None:
        """Choose what is "auto" of n_clusters and n_components; None: nothing is."""
        auto_clusters, auto_components = is_auto(self.n_clusters), is_auto(self.n_components)
        if not auto_clusters and not auto_components:
            return None
        extra = int(self.center)
        plan = self._plan_of((1 + extra,), "density")
        if auto_components:
            count = None if auto_clusters else int(self.n_clusters)
            chosen = choose_order(lifted, count, plan, finite_rows)
        else:
            given = self._given_dimensions(n_features)[0]
            chosen = choose_n_clusters(lifted, given + extra, plan, finite_rows)
        return chosen._replace(n_components=tuple(max(1, d - extra) for d in chosen.n_components))

    def _plan(self, working: Samples, n_features: int) -> UnionPlan:
        """Return the plan of a run in the working coordinates."""
        dimensions = tuple(d + int(self.center) for d in self._dimensions(n_features))
        init: str | list[Array]
        if isinstance(self.init, str):
            check_choice("init", self.init, _INITS)
            init = "density" if self.init == "auto" else self.init
            if self.whiten is True and init == "density":
                init = "farthest"  # whitening leaves outliers out, which density avoids
        else:
            init = self._given_subspaces(dimensions, working)
        if self.n_candidates is not None:
            check_integer("n_candidates", self.n_candidates, len(dimensions))
        return self._plan_of(dimensions, init)

    def _plan_of(self, dimensions: tuple[int, ...], init: str | list[Array]) -> UnionPlan:
        return UnionPlan(
            dimensions=dimensions,
            init=init,
            n_candidates=self.n_candidates or 0,
            n_neighbors=self.n_neighbors or (2 * max(dimensions) + 2 if self.whiten is True else 0),
            scaling=self._is_scaled(),
            polish=bool(self.polish),
            step_size=self.step_size,
            max_passes=self.max_passes,
            tol=self.tol,
            seed=seed_of(self.random_state),
            n_threads=n_threads(self.n_jobs),
            replay=self.replay,
        )

    def _given_subspaces(self, dimensions: tuple[int, ...], working: Samples) -> list[Array]:
        if self.whiten is True or self.center:
            msg = "init must be a string with whiten=True or center=True, which change the coordinates"
            raise InvalidInputError(msg)
        wanted = [(d, working.n_features) for d in dimensions]
        try:
            arrays = [np.array(each, working.dtype, order="C") for each in self.init]
        except (ValueError, TypeError) as error:
            msg = f"init={self.init!r} must be one of {_INITS} or a list of arrays of numbers"
            raise InvalidInputError(msg) from error
        if [a.shape for a in arrays] != wanted:
            msg = f"init has the shapes {[a.shape for a in arrays]}; they must be (d_i, n_features) = {wanted}"
            raise InvalidInputError(msg)
        for k, a in enumerate(arrays):
            if not np.isfinite(a).all() or np.linalg.matrix_rank(a) < len(a):
                msg = f"init[{k}] must have finite, linearly independent rows"
                raise InvalidInputError(msg)
        return [np.ascontiguousarray(np.linalg.qr(a.T)[0].T) for a in arrays]


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the data."""
    return isinstance(value, str) and value == "auto"
