"""Small problems and models that the attacks share."""

import warnings

import numpy as np

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer, baselines
from gasg21.datasets import make_low_rank, make_union_of_subspaces

X = make_low_rank(200, 20, 2, outlier_fraction=0.2, observed_fraction=0.8, random_state=0).data
COMPLETE = make_low_rank(200, 20, 2, outlier_fraction=0.2, random_state=0).data
UNION = make_union_of_subspaces(200, 12, 2, 2, observed_fraction=0.9, random_state=0).data


def streaming():
    """Return estimators that stream, with vectors for them."""
    return [
        (GASG21(2, random_state=0), X),
        (GASG21(2, center=True, random_state=0), X),
        (GASG21(2, metric="canonical", polish=False, random_state=0), X),
        (GASG21(2, contamination=0.2, random_state=0), X),
        (GASG21(2, random_state=0), X.astype(np.float32)),
        (GROUSE(2, random_state=0), X),
        (GROUSE(2, step_size="greedy", random_state=0), X),
        (GRASTA(2, random_state=0), X),
        (KGASG21(2, 2, random_state=0), UNION),
        (KGASG21(2, [1, 2], metric="canonical", random_state=0), UNION),
        (KGASG21(2, 2, center=True, random_state=0), UNION),
        (KGASG21(2, 2, whiten=True, reject_outliers=True, random_state=0), UNION),
        (KGASG21("auto", "auto", random_state=0), UNION),
    ]


def fitted():
    """Return one fitted model of each class."""
    models = [
        GASG21(2, random_state=0).fit(X),
        GASG21(2, center=True, random_state=0).partial_fit(X),
        GROUSE(2, random_state=0, max_passes=2, tol=0).fit(X),
        GRASTA(2, random_state=0, max_passes=2, tol=0).fit(X),
        SubspaceImputer(2, random_state=0).fit(X),
        KGASG21(2, 2, random_state=0).fit(UNION),
        KGASG21(2, 2, center=True, whiten=True, reject_outliers=True, random_state=0).fit(UNION),
        KGASG21("auto", "auto", random_state=0).fit(UNION),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models += [getattr(baselines, name)(2).fit(COMPLETE) for name in ("PCA", "FMS", "TME", "SphericalPCA")]
        models.append(baselines.RobustMD(2, max_iter=1).fit(COMPLETE))
    return models


def data_for(model):
    """Return samples that a model accepts."""
    if isinstance(model, KGASG21):
        return UNION
    return X if isinstance(model, GASG21 | GROUSE | GRASTA | SubspaceImputer) else COMPLETE


def fingerprint(model):
    """Return everything that a model holds, as bytes."""
    return model.__getstate__()["model"]
