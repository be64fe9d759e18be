"""The polish over blocks: sums of blocks are the sums of the whole."""

import numpy as np
import pytest
import scipy.sparse as sp

from gasg21 import GASG21
from gasg21.blocks import block_sums, new_basis
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import subspace_angle


def rounds(blocks, components, count, masks=None):
    scatter, change = None, None
    masks = masks or [None] * len(blocks)
    for _ in range(count):
        sums = [block_sums(components, block, scatter, mask) for block, mask in zip(blocks, masks, strict=True)]
        total = sum(sums[1:], sums[0])
        components, scatter, change = new_basis(components, total, scatter)
    return components, change, total


@pytest.fixture
def start(problem):
    return GASG21(3, random_state=0).partial_fit(problem.data[:200]).components_


def test_any_division_gives_the_same(problem, start):
    whole, _, total = rounds([problem.data], start, 8)
    assert subspace_angle(whole, problem.basis) < 1e-6
    assert total.estimated_angle < 1e-5
    for cuts in ([300], [1, 17, 599], [100, 200, 300, 400, 500]):
        parts, _, _ = rounds(np.split(problem.data, cuts), start, 8)
        assert subspace_angle(parts, whole) < 1e-12


def test_sorted_blocks_are_no_trouble(problem, start):
    """Blocks that hold only outliers, or only some directions: what averaging subspaces fails on."""
    order = np.argsort(problem.inlier, kind="stable")
    components, _, _ = rounds(np.split(problem.data[order], 6), start, 10)
    assert subspace_angle(components, problem.basis) < 1e-6


def test_forms_of_blocks(problem, start):
    expected, _, _ = rounds([problem.data], start, 4)
    rows, columns = np.nonzero(problem.mask)
    csr = sp.csr_matrix((problem.data[problem.mask], (rows, columns)), shape=problem.data.shape)
    assert rounds([csr], start, 4)[0].tobytes() == expected.tobytes()
    masked = rounds([np.nan_to_num(problem.data)], start, 4, [problem.mask])[0]
    assert masked.tobytes() == expected.tobytes()
    single = rounds([problem.data.astype(np.float32)], start.astype(np.float32), 8)[0]
    assert single.dtype == np.float32
    assert subspace_angle(single, problem.basis) < 1e-4


def test_the_first_round_only_finds_the_scatter(problem, start):
    components, scatter, change = new_basis(start, block_sums(start, problem.data), None)
    np.testing.assert_array_equal(components, start)
    assert change == np.pi / 2
    np.testing.assert_allclose(scatter.C, scatter.C.T)
    assert np.linalg.eigvalsh(scatter.C)[0] > 0


def test_bad_blocks_are_refused(problem, start):
    with pytest.raises(InvalidInputError, match="X has 59 features; it must have 60"):
        block_sums(start, problem.data[:, 1:])
    with pytest.raises(InvalidInputError, match="float64 or float32"):
        block_sums(np.ones((3, 60), int), problem.data)
    with pytest.raises(InvalidInputError, match="no sample"):
        new_basis(start, block_sums(start, np.zeros((4, 60))), None)
