"""GASG21 on a Ray cluster, by the block functions of gasg21. Needs ray and ``gasg21[zarr]``.

    python fit_on_ray.py [data.zarr n_components]

All tasks are pure functions, so Ray runs them again when a node dies.
"""

import sys
import tempfile

import numpy as np
import ray

from gasg21 import GASG21
from gasg21.blocks import BlockPolish, BlockSource, block_sums, start_scatter

task = ray.remote(num_cpus=1, max_retries=-1)


@task
def draw_rows(source, i, count, seed):
    """Return some rows of part i, drawn at random."""
    X = source.read(i)
    return X[np.sort(np.random.default_rng([seed, i]).choice(len(X), count, replace=False))]


@task
def sum_part(source, i, components, scatter):
    """Return the sums of part i."""
    return block_sums(components, source.read(i), scatter)


@task
def add(*sums):
    """Return the sum of some sums."""
    return sum(sums)


def fit(source, n_components, n_sampled=20_000, seed=0, max_rounds=40):
    """Sample, solve, polish."""
    rng, parts = np.random.default_rng(seed), range(len(source))
    quotas = rng.multivariate_hypergeometric(source.lengths, min(n_sampled, sum(source.lengths)), method="marginals")
    rows = [draw_rows.remote(source.only(i), i, int(quotas[i]), seed) for i in parts if quotas[i]]
    sample = np.concatenate(ray.get(rows))
    model = GASG21(n_components, random_state=seed).fit(sample)
    start = np.ascontiguousarray(model.components_)
    polish = BlockPolish(start, start_scatter(start, sample))
    for _ in range(max_rounds):
        components, scatter = ray.put(polish.components), ray.put(polish.scatter)
        level = [sum_part.remote(source.only(i), i, components, scatter) for i in parts]
        while len(level) > 1:  # a tree of fixed shape: the same bits, whichever node adds
            level = [add.remote(*level[i : i + 8]) for i in range(0, len(level), 8)]
        total = ray.get(level[0])
        moved = polish.update(total)
        print(f"moved by {moved:.1e} rad, estimated angle {total.estimated_angle:.1e}")
        if moved < 0.1 * total.estimated_angle:
            break
    return GASG21.from_components(polish.components)


def example(folder):
    """Return the path of some data, and the true subspace."""
    import zarr

    from gasg21.datasets import make_low_rank

    made = make_low_rank(40_000, 50, 5, outlier_fraction=0.4, observed_fraction=0.7, noise=0.01, random_state=0)
    path = f"{folder}/data.zarr"
    zarr.create_array(path, shape=made.data.shape, chunks=(4000, 50), dtype="f8")[:] = made.data
    return path, made.basis


if __name__ == "__main__":
    ray.init()  # on a cluster: ray.init(address="auto")
    if len(sys.argv) > 1:
        found = fit(BlockSource.from_zarr(sys.argv[1]), int(sys.argv[2]))
        found.save("model.gasg21")
    else:
        from gasg21.metrics import subspace_angle

        with tempfile.TemporaryDirectory() as folder:
            path, truth = example(folder)
            found = fit(BlockSource.from_zarr(path), 5)
            print(f"angle to the truth {subspace_angle(found.components_, truth):.1e}")
