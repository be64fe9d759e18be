"""Sources of parts, and parts as samples."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from gasg21._data.parts import Reading, read_part
from gasg21.blocks import BlockSource, block_sums
from gasg21.exceptions import InvalidInputError


def test_arrays_and_callables_are_parts():
    blocks = [np.zeros((3, 4)), lambda: np.ones((2, 4)), np.zeros((0, 4))]
    source = BlockSource.from_blocks(blocks)
    assert len(source) == 3
    assert source.lengths == [3, None, 0]
    assert (source.n_features, source.dtype) == (4, np.float64)
    assert "3 parts, an unknown number of rows, 4 features, float64" in repr(source)
    np.testing.assert_array_equal(source.read(1), np.ones((2, 4)))


def test_the_first_part_with_rows_says_what_the_others_are():
    empty = [np.zeros((0, 0)), np.zeros((5, 7), np.float32)]
    source = BlockSource.from_blocks(empty)
    assert (source.n_features, source.dtype) == (7, np.float32)
    assert BlockSource.from_blocks([np.zeros((5, 7), int)]).dtype == np.float64
    with pytest.raises(InvalidInputError, match="all 2 parts are empty"):
        BlockSource.from_blocks([np.zeros((0, 3)), np.zeros((0, 3))])
    assert BlockSource.from_blocks([np.zeros((0, 3))], n_features=3, dtype="f4").dtype == np.float32


def test_what_cannot_be_a_source_is_refused():
    with pytest.raises(InvalidInputError, match="blocks is a ndarray; it must be a list"):
        BlockSource.from_blocks(np.zeros((3, 4)))
    with pytest.raises(InvalidInputError, match="at least one part"):
        BlockSource.from_blocks([])
    with pytest.raises(InvalidInputError, match=r"part 1 has shape \(4,\)"):
        BlockSource.from_blocks([np.zeros((3, 4)), np.zeros(4)])
    with pytest.raises(InvalidInputError, match="dtype='int32' must be float64 or float32"):
        BlockSource.from_blocks([np.zeros((3, 4))], dtype="int32")


def test_limits_are_checked_and_do_not_change_the_source():
    source = BlockSource.from_blocks([np.zeros((3, 4))])
    limited = source.with_limits(n_sampled=500, memory=2e9)
    assert (limited.n_sampled, limited.memory) == (500, 2_000_000_000)
    assert source.n_sampled == BlockSource.n_sampled
    with pytest.raises(InvalidInputError, match="n_sampled=5 must be an integer of at least 100"):
        source.with_limits(n_sampled=5)
    with pytest.raises(InvalidInputError, match="memory=1 must be a number of bytes"):
        source.with_limits(memory=1)


def test_a_source_of_arrays_pickles():
    source = pickle.loads(pickle.dumps(BlockSource.from_blocks([np.arange(12.0).reshape(3, 4)])))
    np.testing.assert_array_equal(source.read(0), np.arange(12.0).reshape(3, 4))


def test_forms_of_parts(rng):
    X = rng.standard_normal((6, 4))
    mask = rng.random((6, 4)) < 0.5
    csr = sp.csr_matrix(np.where(mask, X, 0))
    source = BlockSource.from_blocks([X, (X, mask), csr, np.ma.MaskedArray(X, ~mask), X.astype(object)])
    parts = [read_part(source, i, Reading()) for i in range(5)]
    np.testing.assert_array_equal(parts[0].dense(), X)
    for i in (1, 2, 3):
        np.testing.assert_array_equal(parts[i].dense(), np.where(mask, X, np.nan))
    np.testing.assert_array_equal(parts[4].dense(), X)


def test_empty_and_missing_parts_are_parts():
    source = BlockSource.from_blocks([np.ones((2, 3)), np.zeros((0, 3)), (np.ones((2, 3)), np.zeros((2, 3), bool))])
    assert read_part(source, 1, Reading()).n_samples == 0
    assert np.isnan(read_part(source, 2, Reading()).dense()).all()


class Named(BlockSource):
    n_features, dtype, lengths = 3, np.dtype(float), [4]

    def __init__(self, part):
        self.part = part

    def read(self, i):
        if isinstance(self.part, Exception):
            raise self.part
        return self.part

    def name(self, i):
        return f"file{i}.npy"


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        (np.ones((4, 2)), "file0.npy: it has 2 features; it must have 3"),
        (np.ones((3, 3)), "file0.npy: it has 3 rows; 4 were expected"),
        (np.full((4, 3), np.inf), "file0.npy: Input X contains infinity at row 0, column 0"),
        (np.full((4, 3), "a"), "file0.npy: X has shape .* hold numbers"),
        (np.full((4, 3), "a", object), "file0.npy: X has dtype object, which does not convert"),
        ((np.ones((4, 3)), np.ones((4, 2), bool)), "file0.npy: mask has shape"),
        (OSError("truncated"), "file0.npy cannot be read: OSError: truncated"),
    ],
)
def test_errors_name_the_part(part, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        read_part(Named(part), 0, Reading())


def test_rows_with_an_infinity_can_be_skipped():
    assert read_part(Named(np.full((4, 3), np.inf)), 0, Reading(on_bad="skip")).n_samples == 4


def test_the_layout_of_a_part_changes_no_bit(rng):
    """Dask hands over arrays that are not aligned, and a large one must not be summed in other batches for that."""
    X = rng.standard_normal((30_000, 20))
    shifted = np.frombuffer(b"." + X.tobytes(), np.uint8)[1:].view()
    unaligned = np.ndarray(X.shape, X.dtype, shifted.data)
    assert not unaligned.flags.aligned
    basis = np.linalg.qr(rng.standard_normal((20, 3)))[0].T.copy()
    expected = block_sums(basis, X).rows.tobytes()
    for form in (unaligned, np.asfortranarray(X), X.astype(">f8"), np.hstack([X, X])[:, :20]):
        assert block_sums(basis, form).rows.tobytes() == expected
