"""Fingerprints of results, to show that a change of the code changes no bit of them.

    python tests/fingerprints.py record before.npz       # with the code as it was
    python tests/fingerprints.py compare before.npz      # with the code as it is

Every case is a fit, a stream, a clustering or a transform through the public API. The kernels use the baseline
instruction set, which has no fused multiply-add: there the bits do not depend on what the optimiser does. They do
depend on the machine's mathematical library, so both runs belong on one machine.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, _core, baselines
from gasg21.datasets import make_low_rank, make_union_of_subspaces

Case = Callable[[], list[Any]]


def forms(X: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return the same samples in every form that is accepted."""
    mask = ~np.isnan(X)
    stored = sp.csr_matrix((X[mask], np.nonzero(mask)[1], np.concatenate([[0], np.cumsum(mask.sum(axis=1))])), X.shape)
    return {
        "nan": {"X": X},
        "mask": {"X": np.where(mask, X, 7.0).astype(X.dtype), "mask": mask},
        "csr": {"X": stored},
        "fortran": {"X": np.asfortranarray(X)},
        "strided": {"X": np.repeat(X, 2, axis=0)[::2]},
    }


def fitted(model: Any, data: dict[str, Any]) -> list[Any]:
    """Return what a fitted subspace publishes and computes, before and after more of the stream."""
    model.fit(**data)
    out = [model.components_, model.n_iter_, model.n_skipped_, model.status_, model.estimated_angle_, model.offset_]
    out += [model.step_size_, model.level_, model.n_passes_, sorted(model.diagnostics_.items())]
    out += [[record["moved"], record["median_residual"]] for record in model.history_]
    out += [model.transform(**data), model.score_samples(**data), model.predict(**data), model.complete(**data)]
    model.partial_fit(**data)
    return [*out, model.components_, model.level_, model.n_iter_]


def streamed(model: Any, data: dict[str, Any]) -> list[Any]:
    """Return where a stream stands after two batches."""
    model.partial_fit(**data).partial_fit(**data)
    out = [model.components_, model.n_iter_, model.step_size_, model.level_, model.offset_]
    return [*out, sorted(model.diagnostics_.items()), model.transform(**data), model.predict(**data)]


def clustered(model: Any, data: dict[str, Any], *, stream: bool = False) -> list[Any]:
    """Return what a union of subspaces publishes and computes."""
    if stream:
        model.partial_fit(**data).partial_fit(**data)
        return [*model.subspaces_, model.labels_, model.residuals_, model.n_iter_, sorted(model.diagnostics_.items())]
    model.fit(**data)
    out = [*model.subspaces_, model.labels_, model.n_iter_, model.status_, model.estimated_angles_, model.n_passes_]
    out += [record["moved"] for record in model.history_]
    out += [model.predict(**data), model.transform(**data), model.score_samples(**data), model.complete(**data)]
    model.partial_fit(**data)
    return [*out, *model.subspaces_, model.labels_]


def one_subspace() -> Iterator[tuple[str, Case]]:
    """Yield the cases with one subspace."""
    for seed in (0, 1):
        for dtype in (np.float64, np.float32):
            X = make_low_rank(400, 60, 3, outlier_fraction=0.4, observed_fraction=0.7, noise=1e-3, random_state=seed)
            for form, data in forms(X.data.astype(dtype)).items():
                where = f"{form} {np.dtype(dtype).name} seed {seed}"
                makers: dict[str, Callable[[], Any]] = {
                    "default": lambda seed=seed: GASG21(3, random_state=seed),
                    "paper": lambda seed=seed: GASG21(3, metric="canonical", polish=False, random_state=seed),
                    "scaled stream": lambda seed=seed: GASG21(3, polish=False, random_state=seed),
                    "working": lambda seed=seed: GASG21(3, working_components=5, random_state=seed),
                    "auto": lambda seed=seed: GASG21("auto", random_state=seed),
                    "spherical": lambda seed=seed: GASG21(3, init="spherical_pca", random_state=seed),
                    "contamination": lambda seed=seed: GASG21(3, contamination=0.3, random_state=seed),
                    "grouse": lambda seed=seed: GROUSE(3, max_passes=3, random_state=seed),
                    "grasta": lambda seed=seed: GRASTA(3, max_passes=3, random_state=seed),
                }
                for name, make in makers.items():
                    yield f"fit {name} {where}", lambda make=make, data=data: fitted(make(), data)
                    if name in ("default", "paper", "grouse", "grasta", "contamination"):
                        yield f"stream {name} {where}", lambda make=make, data=data: streamed(make(), data)
    for name, size, observed in (("long", (300, 2000), 0.7), ("few", (500, 1000), 0.1), ("wide", (300, 300), 0.5)):
        for d in (2, 12):
            X = make_low_rank(*size, d, outlier_fraction=0.3, observed_fraction=observed, random_state=5).data
            yield f"fit default {name} d {d}", lambda X=X, d=d: fitted(GASG21(d, random_state=1), {"X": X})
            paper = GASG21(d, metric="canonical", polish=False, max_passes=4, random_state=1)
            yield f"fit paper {name} d {d}", lambda X=X, paper=paper: fitted(paper, {"X": X})
    whole = make_low_rank(500, 80, 4, outlier_fraction=0.5, singular_values=[100, 30, 5, 1], random_state=2).data
    yield "fit default ill-conditioned", lambda: fitted(GASG21(4, random_state=3), {"X": whole})
    yield "fit default scaled up", lambda: fitted(GASG21(4, random_state=3), {"X": 1e180 * whole})
    hopeless = np.random.default_rng(0).standard_normal((200, 30))
    yield "fit default hopeless", lambda: fitted(GASG21(5, random_state=3), {"X": hopeless})
    yield "fit default rank deficient", lambda: fitted(GASG21(6, random_state=3), {"X": whole[:, :20]})
    integers = np.random.default_rng(1).integers(-9, 9, (200, 2)) @ np.random.default_rng(2).integers(-9, 9, (2, 40))
    yield "fit default integers", lambda: fitted(GASG21(2, random_state=3), {"X": integers})
    zeros = sp.csr_matrix(np.where(np.abs(integers) > 20, integers, 0).astype(float))
    yield "fit default absent zero", lambda: fitted(GASG21(2, absent="zero", random_state=3), {"X": zeros})
    for n_jobs in (1, 2):
        yield f"fit default n_jobs {n_jobs}", lambda j=n_jobs: fitted(GASG21(4, random_state=3, n_jobs=j), {"X": whole})


def unions() -> Iterator[tuple[str, Case]]:
    """Yield the cases with several subspaces."""
    for seed in (0, 1):
        for dtype in (np.float64, np.float32):
            X = make_union_of_subspaces(
                400, 30, 2, 3, outlier_fraction=0.2, observed_fraction=0.8, noise=1e-3, random_state=seed
            )
            for form, data in forms(X.data.astype(dtype)).items():
                where = f"{form} {np.dtype(dtype).name} seed {seed}"
                makers: dict[str, Callable[[], Any]] = {
                    "default": lambda seed=seed: KGASG21(3, 2, random_state=seed),
                    "paper": lambda seed=seed: KGASG21(
                        3, 2, init="farthest", metric="canonical", polish=False, random_state=seed
                    ),
                    "reject": lambda seed=seed: KGASG21(3, [1, 2, 3], reject_outliers=True, random_state=seed),
                    "one": lambda seed=seed: KGASG21(1, 2, random_state=seed),
                }
                for name, make in makers.items():
                    yield f"union {name} {where}", lambda make=make, data=data: clustered(make(), data)
                    yield (
                        f"union stream {name} {where}",
                        lambda make=make, data=data: clustered(make(), data, stream=True),
                    )
        some = X.data[:150]
        yield (
            f"union ensemble seed {seed}",
            lambda s=seed, X=some: clustered(KGASG21(3, 2, n_ensemble=4, random_state=s), {"X": X}),
        )
        yield (
            f"union whiten seed {seed}",
            lambda s=seed, X=some: clustered(KGASG21(3, 2, whiten=True, random_state=s), {"X": X}),
        )
    many = make_union_of_subspaces(3000, 60, 3, 12, outlier_fraction=0.4, observed_fraction=0.7, random_state=4).data
    yield "union default K 12", lambda: clustered(KGASG21(12, 3, random_state=0), {"X": many})


def peers() -> Iterator[tuple[str, Case]]:
    """Yield the methods that gasg21 is measured against."""
    X = make_low_rank(200, 30, 2, outlier_fraction=0.3, random_state=0).data
    for name in ("REAPER", "OutlierPursuit", "PCA", "SphericalPCA", "FMS", "TME", "RobustMD"):
        make = getattr(baselines, name)

        def run(make: Any = make) -> list[Any]:
            seeded = {"random_state": 0} if "random_state" in make(2).get_params() else {}
            model = make(2, **seeded).fit(X)
            return [model.components_, model.score_samples(X), model.predict(X)]

        yield f"baseline {name}", run


def results() -> Iterator[tuple[str, list[Any]]]:
    """Run all cases."""
    _core.use_instruction_set("baseline")
    for cases in (one_subspace, unions, peers):
        for name, case in cases():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    yield name, case()
                except Exception as error:  # what is refused must go on being refused
                    yield name, [f"{type(error).__name__}: {error}"]


def flat(values: list[Any]) -> list[np.ndarray]:
    """Return the results of a case as arrays of bytes or numbers."""
    out = []
    for value in values:
        array = np.asarray(value) if not isinstance(value, (str, list)) else np.asarray(str(value))
        out.append(array if array.dtype.kind != "O" else np.asarray(str(value)))
    return out


def fingerprint(arrays: list[np.ndarray]) -> str:
    """Return the hash of the bytes of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def difference(a: list[np.ndarray], b: list[np.ndarray]) -> str:
    """Say how far apart two results of a case are."""
    if len(a) != len(b) or any(x.shape != y.shape for x, y in zip(a, b, strict=True)):
        return "other shapes"
    words = [f"{x} -> {y}" for x, y in zip(a, b, strict=True) if x.dtype.kind == "U" and x != y]
    numbers = [np.nanmax(np.abs(x - y), initial=0.0) for x, y in zip(a, b, strict=True) if x.dtype.kind == "f"]
    labels = sum(int((x != y).sum()) for x, y in zip(a, b, strict=True) if x.dtype.kind in "iu")
    return (
        f"numbers differ by at most {max(numbers, default=0):.1e}; {labels} integers differ; {'; '.join(words)[:300]}"
    )


def main() -> None:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    found = {name: flat(values) for name, values in results() if options.only in name}
    if options.action == "record":
        parts = {f"{name}#{k}": array for name, arrays in found.items() for k, array in enumerate(arrays)}
        np.savez_compressed(options.file, **parts)
        print(f"{len(found)} cases recorded in {options.file}")
        return
    before: dict[str, list[np.ndarray]] = {}
    with np.load(options.file) as stored:
        for key in stored.files:
            before.setdefault(key.rsplit("#", 1)[0], []).append(stored[key])
    changed = 0
    for name, arrays in found.items():
        if name not in before:
            print(f"new:     {name}")
        elif fingerprint(arrays) != fingerprint(before[name]):
            changed += 1
            print(f"changed: {name}: {difference(before[name], arrays)}")
    print(f"{len(found)} cases, {changed} changed")


if __name__ == "__main__":
    main()
