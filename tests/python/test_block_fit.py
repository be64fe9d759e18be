"""GASG21 on data in blocks: the same answer as in memory, however the data is divided."""

import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from gasg21 import GASG21, GROUSE
from gasg21._algorithms.block_sample import draw_quotas, draw_sample
from gasg21._data.parts import Reading
from gasg21._support.engines import SerialEngine, ThreadEngine
from gasg21.blocks import BlockSource
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import subspace_angle

D, N, M = 5, 40, 24_000


@pytest.fixture(scope="module")
def noisy():
    return make_low_rank(M, N, D, outlier_fraction=0.4, observed_fraction=0.7, noise=1e-2, random_state=0)


@pytest.fixture(scope="module")
def in_memory(noisy):
    return GASG21(D, random_state=0).fit(noisy.data)


def in_order(data):
    """Rows sorted so that neighbours share two of five directions; all outliers last."""
    weights = np.nan_to_num(data.data) @ data.basis.T
    leading = np.abs(weights).argmax(axis=1) // 2
    return np.argsort(np.where(data.inlier, leading, 9), kind="stable")


def source_of(X, cuts, n_sampled=5000):
    return BlockSource.from_blocks(np.split(X, cuts)).with_limits(n_sampled=n_sampled)


def model_of(n_jobs=1, **parameters):
    return GASG21(D, random_state=0, n_jobs=n_jobs, **parameters)


class Counted(BlockSource):
    """Counts how often each part is read."""

    def __init__(self, blocks, lengths=None):
        self.blocks, self.n_features, self.dtype = blocks, N, np.dtype(float)
        self.lengths = [len(block) for block in blocks] if lengths is None else lengths
        self.reads, self.lock = np.zeros(len(blocks), int), threading.Lock()

    def read(self, i):
        with self.lock:
            self.reads[i] += 1
        return self.blocks[i]


def assert_same_answer(model, reference, truth):
    """The angle to the fit in memory is small beside the estimated error, which is that of the truth."""
    assert model.status_ == reference.status_
    assert subspace_angle(model.components_, reference.components_) <= 0.05 * reference.estimated_angle_
    assert 0.8 <= model.estimated_angle_ / reference.estimated_angle_ <= 1.25
    assert subspace_angle(model.components_, truth.basis) < 3 * model.estimated_angle_


def test_all_engines_give_the_same_bits(noisy):
    blocks = np.array_split(noisy.data, 12)
    one = model_of().fit(BlockSource.from_blocks(blocks).with_limits(n_sampled=5000))
    two = model_of(n_jobs=2).fit(BlockSource.from_blocks(blocks).with_limits(n_sampled=5000))
    loaded = BlockSource.from_blocks([lambda block=block: block for block in blocks]).with_limits(n_sampled=5000)
    three = model_of(n_jobs=3).fit(loaded)
    for other in (two, three):
        assert other.components_.tobytes() == one.components_.tobytes()
        assert other.estimated_angle_ == one.estimated_angle_
        assert other.explained_variance_.tobytes() == one.explained_variance_.tobytes()


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param(list(range(2000, M, 2000)), id="even"),
        pytest.param([1, 2, 50, 51, 9000, 23_999], id="very different lengths"),
        pytest.param([6000, 6000, 12_000, 12_000], id="empty parts"),
    ],
)
def test_sorted_data_gives_the_answer_of_memory(noisy, in_memory, cuts):
    model = model_of().fit(source_of(noisy.data[in_order(noisy)], cuts))
    assert_same_answer(model, in_memory, noisy)


def test_missing_parts_and_outlier_parts_change_nothing(noisy, in_memory):
    order = in_order(noisy)
    parts = [*np.array_split(noisy.data[order], 8), np.full((3000, N), np.nan), np.zeros((0, N))]
    hidden = (np.ones((500, N)), np.zeros((500, N), bool))
    model = model_of().fit(BlockSource.from_blocks([*parts, hidden]).with_limits(n_sampled=6000))
    assert_same_answer(model, in_memory, noisy)
    found = model.diagnostics_
    assert (found["n_seen"], found["n_used"], found["n_all_missing"]) == (M + 3500, M, 3500)
    assert (model.n_iter_, model.n_skipped_) == (M, 3500)


def test_the_data_is_read_at_most_four_times(noisy):
    source = Counted(np.array_split(noisy.data, 10)).with_limits(n_sampled=5000)
    model = model_of().fit(source)
    assert source.reads.max() <= 4
    assert model.history_[-1]["n_samples"] == M
    unknown = Counted(source.blocks, [None] * 10).with_limits(n_sampled=5000)
    again = model_of().fit(unknown)
    assert unknown.reads.max() == source.reads.max() + 1  # to count the rows
    assert again.components_.tobytes() == model.components_.tobytes()


def test_all_fitted_attributes_are_those_of_memory(noisy, in_memory):
    model = model_of().fit(source_of(noisy.data, [7000, 15_000]))
    np.testing.assert_allclose(model.explained_variance_, in_memory.explained_variance_, rtol=0.1)
    np.testing.assert_allclose(model.noise_variance_, in_memory.noise_variance_, rtol=0.1)
    assert model.n_components_ == D
    assert model.n_features_in_ == N
    assert model.converged_
    assert model.n_passes_ == len(model.history_)
    assert set(model.diagnostics_) == set(in_memory.diagnostics_)
    assert set(model.history_[-1]) == set(in_memory.history_[-1])
    agree = model.predict(noisy.data) == in_memory.predict(noisy.data)
    assert agree.mean() > 0.999
    model.partial_fit(noisy.data[:10])
    assert model.n_iter_ == M + 10


def test_clean_data_converges():
    data = make_low_rank(6000, N, 3, outlier_fraction=0.3, random_state=1)
    model = GASG21(3, random_state=0).fit(source_of(data.data, [1000, 2000], 1000))
    assert model.status_ == "converged"
    assert subspace_angle(model.components_, data.basis) < 1e-6


def test_affine_subspaces(noisy):
    X = noisy.data + np.linspace(5, 50, N)
    model, reference = model_of(center=True).fit(source_of(X, [8000, 16_000])), model_of(center=True).fit(X)
    assert model.status_ == reference.status_
    assert subspace_angle(model.components_, reference.components_) <= 0.1 * reference.estimated_angle_
    away = model.mean_ - reference.mean_  # along the subspace, it is the mean of other inliers
    assert np.linalg.norm(away - away @ reference.components_.T @ reference.components_) < 5e-3
    assert np.linalg.norm(away) < 0.5


def test_the_dimension_is_chosen(noisy):
    model = GASG21("auto", random_state=0).fit(source_of(noisy.data, [12_000]))
    assert model.n_components_ == D


def test_working_components_are_kept_apart(rng):
    scales = 0.6 ** np.arange(12)
    X = rng.standard_normal((6000, 12)) * scales @ np.linalg.qr(rng.standard_normal((N, 12)))[0].T
    X += 1e-3 * rng.standard_normal(X.shape)
    plan = {"working_components": 8, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GASG21(3, **plan).fit(source_of(X, [2000, 4000], 2000))
        reference = GASG21(3, **plan).fit(X)
    assert model.components_.shape == (3, N)
    assert subspace_angle(model.components_, reference.components_) <= 0.1 * reference.estimated_angle_


def test_a_numeric_contamination_is_a_quantile_of_all_scores(noisy):
    model = model_of(contamination=0.3).fit(source_of(noisy.data, [9000, 10_000]))
    reference = model_of(contamination=0.3).fit(noisy.data)
    assert model.offset_ == pytest.approx(reference.offset_, rel=2e-3)
    assert (model.predict(noisy.data) == -1).mean() == pytest.approx(0.3, abs=2e-3)


def test_forms_of_parts_give_the_same_bits(noisy):
    parts = np.array_split(noisy.data, 3)
    masks = [~np.isnan(part) for part in parts]
    plain = model_of().fit(BlockSource.from_blocks(parts).with_limits(n_sampled=5000))
    masked = [(np.nan_to_num(part), mask) for part, mask in zip(parts, masks, strict=True)]
    csr = [
        sp.csr_matrix((part[mask], np.nonzero(mask)), shape=part.shape) for part, mask in zip(parts, masks, strict=True)
    ]
    for blocks in (masked, csr, [parts[0], masked[1], csr[2]]):
        other = model_of().fit(BlockSource.from_blocks(blocks).with_limits(n_sampled=5000))
        assert other.components_.tobytes() == plain.components_.tobytes()


def test_absent_entries_can_be_zeros():
    data = make_low_rank(3000, N, 2, outlier_fraction=0.2, random_state=2)
    dense = np.where(np.abs(data.data) > 0.01, data.data, 0)
    blocks = [sp.csr_matrix(part) for part in np.array_split(dense, 3)]
    model = GASG21(2, random_state=0, absent="zero").fit(BlockSource.from_blocks(blocks))
    reference = GASG21(2, random_state=0).fit(BlockSource.from_blocks(np.array_split(dense, 3)))
    assert model.components_.tobytes() == reference.components_.tobytes()


def test_bad_rows_are_refused_by_name_or_skipped(noisy):
    parts = [part.copy() for part in np.array_split(noisy.data, 4)]
    parts[2][17, 3] = np.inf
    source = BlockSource.from_blocks(parts).with_limits(n_sampled=5000)
    with pytest.raises(InvalidInputError, match="part 2: Input X contains infinity at row 17, column 3"):
        model_of().fit(source)
    model = model_of(on_bad="skip").fit(source)
    assert model.diagnostics_["n_nonfinite"] == 1


def test_single_precision(noisy):
    model = model_of().fit(source_of(noisy.data.astype(np.float32), [5000, 11_000]))
    assert model.components_.dtype == np.float32
    assert subspace_angle(model.components_, noisy.basis) < 3 * model.estimated_angle_


def test_features_that_few_rows_observe_are_found():
    data = make_low_rank(8000, N, 3, noise=1e-3, random_state=3)
    X = data.data.copy()
    X[:7900, 7] = np.nan  # only the last part observes feature 7
    model = GASG21(3, random_state=0).fit(source_of(X, [2000, 4000, 6000], 400))
    assert model.status_ == "noise_floor"
    assert subspace_angle(model.components_, data.basis) < 5e-3
    assert not np.isnan(model.complete(X[:5])).any()


def test_a_sample_that_does_not_suffice_is_drawn_again():
    data = make_low_rank(20_000, 60, 4, outlier_fraction=0.3, observed_fraction=0.4, random_state=4)
    source = BlockSource.from_blocks(np.array_split(data.data, 5)).with_limits(n_sampled=100)
    model = GASG21(4, random_state=0).fit(source)
    assert model.history_[0]["n_samples"] >= 400
    assert subspace_angle(model.components_, data.basis) < 1e-5


def test_memory_limits_threads_and_sample(noisy):
    source = source_of(noisy.data, [8000, 16_000]).with_limits(memory=2**24, n_sampled=M)
    model = model_of(n_jobs=2).fit(source)
    most = 2**24 // 4 // (N * 8)
    assert max(r["n_samples"] for r in model.history_ if r["stage"] == "stream") <= most


@pytest.mark.parametrize("estimator", [GROUSE(2), GASG21(2, polish=False)])
def test_only_the_polish_works_on_blocks(noisy, estimator):
    with pytest.raises(InvalidInputError, match="only with the polish"):
        estimator.fit(source_of(noisy.data, [10_000]))


def test_a_mask_belongs_to_the_parts(noisy):
    with pytest.raises(InvalidInputError, match="mask must be None for a BlockSource"):
        model_of().fit(source_of(noisy.data, [10_000]), mask=np.ones((M, N), bool))


def test_an_error_leaves_the_estimator_as_it_was(noisy, in_memory):
    model = model_of().fit(noisy.data[:2000])
    before = model.components_.copy()
    with pytest.raises(InvalidInputError, match="part 1: it has 39 features"):
        model.fit(BlockSource.from_blocks([noisy.data, noisy.data[:, 1:]]))
    np.testing.assert_array_equal(model.components_, before)
    with pytest.raises(InvalidInputError, match="all 1 parts are empty"):
        model.fit(BlockSource.from_blocks([np.zeros((0, N))], n_features=N, dtype=float))


class Stopping(Counted):
    """Raises KeyboardInterrupt, as Ctrl-C does, when parts have been read so often."""

    most = 14

    def read(self, i):
        if self.reads.sum() >= self.most:
            raise KeyboardInterrupt
        return super().read(i)


def test_ctrl_c_keeps_what_was_reached(noisy):
    model = model_of()
    with pytest.raises(KeyboardInterrupt):
        model.fit(Stopping(np.array_split(noisy.data, 10)).with_limits(n_sampled=5000))
    assert model.status_ == "interrupted"
    assert subspace_angle(model.components_, noisy.basis) < 0.1


@pytest.mark.parametrize("method", ["transform", "score_samples", "predict", "complete", "decision_function"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_methods_yield_one_array_per_part(noisy, in_memory, method, n_jobs):
    blocks = [noisy.data[:1000], np.zeros((0, N)), noisy.data[1000:1500]]
    in_memory.set_params(n_jobs=n_jobs)
    results = getattr(in_memory, method)(BlockSource.from_blocks(blocks))
    assert iter(results) is results
    results = list(results)
    expected = getattr(in_memory, method)(noisy.data[:1500])
    assert [len(part) for part in results] == [1000, 0, 500]
    np.testing.assert_array_equal(np.concatenate(results), expected)


def test_methods_refuse_other_features(in_memory):
    with pytest.raises(InvalidInputError, match="X has 3 features, but GASG21 is expecting 40"):
        in_memory.predict(BlockSource.from_blocks([np.zeros((5, 3))]))


def test_very_many_samples_are_polished_in_stages(rng):
    direction = np.ones(6) / np.sqrt(6)
    X = np.outer(rng.standard_normal(800_000), direction).astype(np.float32)
    X += 0.01 * rng.standard_normal(X.shape, np.float32)
    X[::3] = rng.standard_normal((len(X[::3]), 6), np.float32)
    model = GASG21(1, random_state=0).fit(X)
    assert sorted({record["n_samples"] for record in model.history_}) == [20_000, 100_000, 800_000]
    assert model.diagnostics_["n_seen"] == 800_000
    assert subspace_angle(model.components_, direction[None]) < 3 * model.estimated_angle_


@pytest.mark.parametrize("lengths", [[5, 0, 1000, 3], [10**9, 10**9]])
def test_quotas_add_up_to_the_sample(lengths):
    quotas = draw_quotas(lengths, 300, 0)
    assert sum(quotas) == 300
    assert all(q <= length for q, length in zip(quotas, lengths, strict=True))


def test_the_sample_is_uniform():
    """Each of 40 rows in parts of 1, 9 and 30 is drawn in half of the samples of 20."""
    rows = np.arange(40.0)[:, None] + 1
    source = BlockSource.from_blocks(np.split(rows, [1, 10]))
    counts = np.zeros(40)
    for seed in range(2000):
        drawn = draw_sample(source, [1, 9, 30], 20, seed, Reading(), SerialEngine(), None).data
        assert len(np.unique(drawn)) == 20
        counts[drawn[:, 0].astype(int) - 1] += 1
    assert np.abs(counts / 2000 - 0.5).max() < 5 * np.sqrt(0.25 / 2000)  # 5 standard deviations


def test_progress_is_over_parts_and_passes(noisy, capsys):
    model_of(verbose=1).fit(source_of(noisy.data, [6000, 12_000, 18_000]))
    assert "part" in capsys.readouterr().err


def test_threads_and_serial_draw_the_same_sample(noisy):
    source = source_of(noisy.data, [100, 15_000])
    lengths = [100, 14_900, 9000]
    one = draw_sample(source, lengths, 50, 1, Reading(), SerialEngine(), None)
    two = draw_sample(source, lengths, 50, 1, Reading(), ThreadEngine(2), None)
    np.testing.assert_array_equal(one.data, two.data)
