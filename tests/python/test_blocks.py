"""The polish over blocks: sums of blocks are the sums of the whole."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import unaligned

from gasg21 import GASG21
from gasg21.blocks import BlockPolish, BlockSums, Scatter, block_sums, new_basis, start_scatter, write_blocks
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


def test_sum_adds_blocks(problem, start):
    parts = [block_sums(start, block) for block in np.array_split(problem.data, 3)]
    total = sum(parts)
    assert total.rows.tobytes() == (parts[0] + parts[1] + parts[2]).rows.tobytes()
    assert total.diagnostics["n_seen"] == len(problem.data)


def test_empty_and_missing_blocks_add_nothing(problem, start):
    whole = block_sums(start, problem.data)
    empty = block_sums(start, np.zeros((0, 60)))
    assert empty.weight == 0
    assert (whole + empty).rows.tobytes() == whole.rows.tobytes()
    nan = block_sums(start, np.full((3, 60), np.nan))
    masked = block_sums(start, np.ones((3, 60)), mask=np.zeros((3, 60), bool))
    for silent in (nan, masked):
        assert silent.weight == 0
        assert silent.diagnostics["n_all_missing"] == 3
        assert (whole + silent).C.tobytes() == whole.C.tobytes()


def test_unaligned_arrays_are_taken(problem, start):
    scatter = block_sums(start, problem.data).scatter
    expected = block_sums(start, problem.data, scatter)
    moved = Scatter(unaligned(scatter.C), scatter.s)
    found = block_sums(unaligned(start), unaligned(problem.data), moved)
    assert found.rows.tobytes() == expected.rows.tobytes()
    sent = BlockSums(*(unaligned(a) if isinstance(a, np.ndarray) else a for a in vars(expected).values()))
    assert new_basis(unaligned(start), sent, moved)[0].tobytes() == new_basis(start, expected, scatter)[0].tobytes()


def test_sums_of_single_precision_are_double(problem, start):
    U, X = start.astype(np.float32), problem.data.astype(np.float32)
    sums = block_sums(U, X)
    assert sums.rows.dtype == np.float64
    many = sum([sums] * 2000)
    np.testing.assert_allclose(many.rows, 2000 * sums.rows, rtol=1e-11)


def test_the_residuals_are_counted(problem, start):
    sums = block_sums(start, problem.data)
    residuals = -GASG21.from_components(start).score_samples(problem.data)
    for share in (0.1, 0.4, 0.9):  # not where half of them, the outliers, begin
        assert sums.quantile(share) == pytest.approx(np.quantile(residuals, share), rel=0.02)


def test_a_lift_makes_the_subspace_affine(problem, start):
    X = problem.data + 3.0
    lift = (np.full(60, 3.0), 0.5)
    lifted = np.hstack([problem.data, np.full((len(X), 1), 0.5)])
    basis = np.zeros((4, 61))
    basis[:3, :60], basis[3, 60] = start, 1
    found = block_sums(basis, X, lift=lift)
    np.testing.assert_allclose(found.rows, block_sums(basis, lifted).rows, rtol=1e-9, atol=1e-9)


def test_a_secant_needs_fewer_rounds(problem, start):
    blocks, rounds_of = np.array_split(problem.data, 3), []
    for extrapolates in (False, True):
        scatter = start_scatter(start, problem.data)
        polish, components, change, count = BlockPolish(start, scatter), start, 1.0, 0
        while change > 1e-8 and count < 100:
            if extrapolates:
                change = polish.update(sum(block_sums(polish.components, b, polish.scatter) for b in blocks))
            else:
                total = sum(block_sums(components, b, scatter) for b in blocks)
                components, scatter, change = new_basis(components, total, scatter)
            count += 1
        rounds_of.append(count)
    assert subspace_angle(polish.components, problem.basis) < 1e-6
    assert rounds_of[1] <= rounds_of[0]


def test_a_model_of_known_components(problem):
    model = GASG21.from_components(problem.basis)
    assert subspace_angle(model.components_, problem.basis) < 1e-12
    assert (model.predict(problem.data) == np.where(problem.inlier, 1, -1)).mean() > 0.98
    weights = model.transform(problem.data[problem.inlier])
    filled = model.inverse_transform(weights)
    good, seen = problem.data[problem.inlier], problem.mask[problem.inlier]
    np.testing.assert_allclose(filled[seen], good[seen], atol=1e-8)
    assert model.status_ == "starting"
    assert model.n_iter_ == 0
    model.partial_fit(problem.data[:20])
    assert model.n_iter_ > 0


def test_a_model_of_a_known_flat(problem):
    mean = np.linspace(1, 2, 60)
    model = GASG21.from_components(problem.basis, mean, random_state=0)
    X = problem.data[problem.inlier] + mean
    np.testing.assert_allclose(model.mean_, mean, atol=1e-10)
    assert model.score_samples(X).min() > -1e-6
    assert model.center


def test_known_components_are_checked(problem):
    with pytest.raises(InvalidInputError, match="orthonormal"):
        GASG21.from_components(2 * problem.basis)
    with pytest.raises(InvalidInputError, match=r"mean has shape \(3,\)"):
        GASG21.from_components(problem.basis, np.zeros(3))
    with pytest.raises(TypeError):
        GASG21.from_components(problem.basis, unknown=3)


def test_blocks_are_written_one_below_the_other(tmp_path, rng):
    blocks = [rng.standard_normal((n, 3)) for n in (4, 0, 7)]
    assert write_blocks(iter(blocks), tmp_path / "all.npy") == 11
    np.testing.assert_array_equal(np.load(tmp_path / "all.npy"), np.concatenate(blocks))
    out = np.zeros((11, 3))
    assert write_blocks(blocks, out) == 11
    np.testing.assert_array_equal(out, np.concatenate(blocks))
    labels = [np.array([1, -1]), np.array([1])]
    write_blocks(labels, str(tmp_path / "labels.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy", mmap_mode="r"), [1, -1, 1])


def test_blocks_that_cannot_be_written(tmp_path):
    with pytest.raises(InvalidInputError, match=r"must end in \.npy"):
        write_blocks([np.zeros(3)], tmp_path / "all.txt")
    with pytest.raises(InvalidInputError, match="block 1 has dtype int64"):
        write_blocks([np.zeros(3), np.zeros(3, np.int64)], tmp_path / "all.npy")
    with pytest.raises(InvalidInputError, match="out has 2 rows"):
        write_blocks([np.zeros((3, 1))], np.zeros((2, 1)))
    with pytest.raises(InvalidInputError, match="at least one array"):
        write_blocks([], tmp_path / "all.npy")
    assert list(tmp_path.iterdir()) == []
