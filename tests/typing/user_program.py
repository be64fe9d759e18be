"""A program as a user would write it. mypy --strict accepts it; tests/python/test_distribution.py asks it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import gasg21
from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer, blocks, metrics, plotting
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.step_size import AdaptiveStep

Matrix = npt.NDArray[np.float64]


def outliers(X: Matrix) -> list[int]:
    """Return the rows that are outliers."""
    model = GASG21(n_components=3, center=True, step_size=AdaptiveStep(), random_state=0)
    labels = model.fit(X).predict(X)
    return [int(row) for row in np.flatnonzero(labels == -1)]


def stop_early(record: dict[str, Any]) -> bool:
    """End a fit after some passes."""
    return bool(record["pass"] >= 3)


def main() -> None:
    """Fit some models and look at them."""
    X: Matrix = make_low_rank(200, 20, 3, outlier_fraction=0.2, random_state=0).data
    model = GASG21(0.95).fit(X, callback=stop_early)
    components: npt.NDArray[Any] = model.components_
    angle: float = metrics.subspace_angle(components, components)
    status: str = model.status_
    history: list[dict[str, Any]] = model.history_
    stream = GROUSE(2).partial_fit(X[0])
    filled: npt.NDArray[Any] = SubspaceImputer("auto").fit_transform(X)
    labels: npt.NDArray[Any] = KGASG21(2, [1, 2], reject_outliers=True).fit(X).labels_
    source = blocks.BlockSource.from_blocks([X, X])
    model.save("model.gasg21")
    again = gasg21.load("model.gasg21")
    ax = plotting.scree(model, X)
    print(angle, status, len(history), stream, filled.shape, labels, source, again, ax, GRASTA(), gasg21.__version__)
    print(outliers(X), ConvergenceWarning, InvalidInputError)


if __name__ == "__main__":
    main()
