"""Write the files of the version that is installed: python tests/data/make_golden.py FOLDER."""

import pickle
import sys
import warnings
from pathlib import Path

import numpy as np

import gasg21

HERE = Path(__file__).parent
X = np.random.default_rng(0).standard_normal((60, 2)) @ np.random.default_rng(1).standard_normal((2, 6))


def flats():
    """Return samples near two lines off the origin, some a little farther off, some anywhere, with gaps."""
    rng = np.random.default_rng(3)
    lines, points = rng.standard_normal((2, 6)), rng.standard_normal((2, 6))
    kind = np.arange(70) % 2
    made = points[kind] + rng.standard_normal((70, 1)) * lines[kind] + 0.01 * rng.standard_normal((70, 6))
    made[60:65] += 0.3 * rng.standard_normal((5, 6))
    made[65:] = 3 * rng.standard_normal((5, 6))
    return np.where(rng.random(made.shape) < 0.03, np.nan, made)


def models():
    """Return small fitted models, by name."""
    noisy = X + 0.01 * np.random.default_rng(2).standard_normal(X.shape)
    return {
        "gasg21": gasg21.GASG21(2, random_state=0).fit(noisy),
        "stream": gasg21.GASG21(2, center=True, random_state=0).partial_fit(noisy),
        "single": gasg21.GASG21(2, random_state=0).partial_fit(noisy.astype(np.float32)),
        "grouse": gasg21.GROUSE(2, random_state=0).partial_fit(noisy),
        "grasta": gasg21.GRASTA(2, random_state=0).partial_fit(noisy),
        "kgasg21": gasg21.KGASG21(2, 1, random_state=0).fit(noisy),
        "affine": gasg21.KGASG21(2, 1, center=True, reject_outliers=True, random_state=0).fit(noisy),
        "whitened": gasg21.KGASG21(2, 1, whiten=True, random_state=0).fit(noisy),
        "chosen": gasg21.KGASG21("auto", "auto", random_state=0).fit(noisy),
        **unions(),
        "imputer": gasg21.SubspaceImputer(2, random_state=0).fit(noisy),
        "pca": gasg21.baselines.PCA(2).fit(noisy),
    }


def unions():
    """Return unions with all that one can hold: a lift, a whitening with its screening, a split of the residuals."""
    settings = {"reject_outliers": True, "random_state": 0}
    return {
        "union_affine": gasg21.KGASG21(2, 1, center=True, **settings).fit(flats()),
        "union_whitened": gasg21.KGASG21(2, 1, center=True, whiten=True, **settings).fit(flats()),
        "union_screened": gasg21.KGASG21(2, 2, screen=True, **settings).fit(flats()),
        "union_single": gasg21.KGASG21(2, 1, center=True, random_state=0).partial_fit(flats().astype(np.float32)),
    }


def answers(model, data):
    """Return what a union says about samples: later versions must say the same of the files."""
    return {
        "predict": model.predict(data),
        "transform": model.transform(data),
        "complete": model.complete(data),
        "score": model.score(data),
        "means": model.means_,
    }


if __name__ == "__main__":
    folder = HERE / sys.argv[1]
    if folder.exists():
        sys.exit(f"{folder} exists: files of a version are written once")
    folder.mkdir()
    warnings.simplefilter("ignore")
    for name, model in models().items():
        model.save(folder / f"{name}.gasg21")
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model, 4))
        if isinstance(model, gasg21.KGASG21):
            data = flats() if name.startswith("union_") else X
            np.savez_compressed(folder / f"{name}.npz", **answers(model, data))
