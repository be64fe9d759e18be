"""KGASG21 on data in blocks, sorted by cluster or not: the subspaces of the fit in memory."""

import numpy as np
import pytest
from conftest import worst_angle

from gasg21 import KGASG21
from gasg21.blocks import BlockPolish, BlockSource, block_sums, repair, start_scatter, union_sums
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import clustering_error, subspace_angle


@pytest.fixture(scope="module")
def union():
    """Four clusters and outliers, sorted by cluster."""
    data = make_union_of_subspaces(
        12_000, 40, 3, 4, outlier_fraction=0.2, observed_fraction=0.8, noise=1e-2, random_state=0
    )
    order = np.argsort(data.labels, kind="stable")
    data.data, data.labels = data.data[order], data.labels[order]
    return data


@pytest.fixture(scope="module")
def in_memory(union):
    return KGASG21(4, 3, random_state=0).fit(union.data)


@pytest.fixture(scope="module")
def source(union):
    return BlockSource.from_blocks(np.array_split(union.data, 7)).with_limits(n_sampled=4000)


@pytest.fixture(scope="module")
def in_blocks(source):
    return KGASG21(4, 3, random_state=0, n_jobs=1).fit(source)


def test_sorted_clusters_give_the_subspaces_of_memory(in_blocks, in_memory):
    assert in_blocks.status_ == in_memory.status_
    assert worst_angle(in_blocks.subspaces_, in_memory.subspaces_) <= 1e-6
    np.testing.assert_allclose(sorted(in_blocks.estimated_angles_), sorted(in_memory.estimated_angles_), rtol=0.05)


def test_all_samples_are_labelled_and_counted(in_blocks, union, source):
    inliers = union.labels >= 0
    assert len(in_blocks.labels_) == len(union.data)
    assert clustering_error(union.labels[inliers], in_blocks.labels_[inliers]) < 0.01
    assert (np.concatenate(list(in_blocks.predict(source))) == in_blocks.labels_).mean() > 0.999
    assert in_blocks.diagnostics_["n_seen"] == len(union.data)
    assert in_blocks.history_[-1]["members"].sum() == in_blocks.diagnostics_["n_used"]
    assert in_blocks.n_passes_ == len(in_blocks.history_)


def test_threads_give_the_same_bits(in_blocks, source):
    other = KGASG21(4, 3, random_state=0, n_jobs=2).fit(source)
    for U, V in zip(other.subspaces_, in_blocks.subspaces_, strict=True):
        assert U.tobytes() == V.tobytes()
    np.testing.assert_array_equal(other.labels_, in_blocks.labels_)


def test_outliers_are_rejected(union, source):
    model = KGASG21(4, 3, reject_outliers=True, random_state=0).fit(source)
    assert clustering_error(union.labels, model.labels_, outlier_label=-1) < 0.02
    np.testing.assert_array_equal(np.concatenate(list(model.predict(source))), model.labels_)


def test_affine_clusters(union):
    labels = union.labels[union.labels >= 0]
    X = union.data[union.labels >= 0] + np.random.default_rng(1).standard_normal((4, 40))[labels]
    source = BlockSource.from_blocks(np.array_split(X, 5)).with_limits(n_sampled=3000)
    model = KGASG21(4, 3, center=True, random_state=0).fit(source)
    reference = KGASG21(4, 3, center=True, random_state=0).fit(X)
    assert worst_angle(model.subspaces_, reference.subspaces_) < 0.3 * reference.estimated_angles_.max()


def test_a_stream_goes_on(in_blocks, source, union):
    model = KGASG21(4, 3, random_state=0).fit(source)
    model.partial_fit(union.data[:50])
    assert worst_angle(model.subspaces_, in_blocks.subspaces_) < 0.05


def test_it_needs_the_polish(source):
    with pytest.raises(InvalidInputError, match="only with polish=True"):
        KGASG21(4, 3, polish=False).fit(source)


@pytest.mark.parametrize("method", ["transform", "score_samples", "complete"])
def test_methods_yield_one_array_per_part(in_blocks, union, method):
    blocks = [union.data[:300], np.zeros((0, 40)), union.data[300:400]]
    parts = list(getattr(in_blocks, method)(BlockSource.from_blocks(blocks)))
    assert [len(part) for part in parts] == [300, 0, 100]
    np.testing.assert_array_equal(np.concatenate(parts), getattr(in_blocks, method)(union.data[:400]))


# ---- the public functions


def test_rounds_by_hand_give_the_same(union, in_memory):
    sample = union.data[::4]
    start = KGASG21(4, 3, random_state=0).fit(sample)
    polish = [BlockPolish(U, start_scatter(U, sample[start.labels_ == k])) for k, U in enumerate(start.subspaces_)]
    for _ in range(6):
        subspaces, scatters = [p.components for p in polish], [p.scatter for p in polish]
        total = sum(union_sums(subspaces, block, scatters) for block in np.array_split(union.data, 5))
        for p, sums in zip(polish, total.clusters, strict=True):
            p.update(sums)
    assert worst_angle([p.components for p in polish], in_memory.subspaces_) <= 1e-6
    assert len(total.labels) == total.diagnostics["n_seen"] == len(union.data)


def test_a_missed_cluster_is_found_again(union, in_memory, rng):
    missed = [*in_memory.subspaces_[:3], np.linalg.qr(rng.standard_normal((40, 3)))[0].T.copy()]
    subspaces, replaced = repair(missed, union.data[::6])
    assert replaced == [3]
    polish = BlockPolish(subspaces[3], start_scatter(subspaces[3], union.data))  # a candidate is a rough start
    for _ in range(6):
        polish.update(block_sums(polish.components, union.data, polish.scatter))
    assert subspace_angle(polish.components, in_memory.subspaces_[3]) < 0.01
    assert repair(in_memory.subspaces_, union.data[::6])[1] == []
