"""The experiments on faces, K subspaces and motions: their measurements, and verdicts from given results."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat

from benchmarks.experiments import (
    _faces,
    _hopkins,
    _union,
    face_inlier_outlier,
    face_recovery,
    face_residual,
    face_runningtime,
    hopkins_free,
    hopkins_outlier,
    k20d3converge,
    k_selection,
    ksubspace_outlier_candidate,
    ksubspace_performance,
)
from benchmarks.framework.angles import matched_angles
from benchmarks.framework.data import MissingData
from benchmarks.framework.experiment import Context, Verdict

OF_FACES = (face_inlier_outlier, face_recovery, face_residual, face_runningtime)
OF_MOTIONS = (hopkins_free, hopkins_outlier)


def context(data=None, seeds=1):
    return Context(quick=True, seeds=seeds, data=data, say=lambda line: None)


def verdicts(claims, pattern):
    """Return the verdicts of the claims whose text matches; there must be at least one."""
    found = [claim.verdict for claim in claims if re.search(pattern, claim.text)]
    assert found, pattern
    return found


@pytest.mark.parametrize("experiment", OF_FACES + OF_MOTIONS, ids=lambda e: e.TITLE)
@pytest.mark.parametrize("where", [None, "empty"])
def test_without_data_the_message_says_where_to_get_it(experiment, where, tmp_path):
    with pytest.raises(MissingData, match=r"http://"):
        experiment.run(context(where and tmp_path))


# ---- faces


@pytest.fixture(scope="module")
def face_data(tmp_path_factory):
    """Two persons close to 9 dimensions among pictures of higher dimension."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("faces")
    persons = [255 * rng.random((64, 9)) @ rng.random((9, 900)) / 9 for _ in range(2)]
    background = 255 * rng.random((400, 900))
    np.savez(
        path / "faces.npz",
        faces=np.array(persons).reshape(2, 64, 30, 30).astype(np.uint8),
        background=background.reshape(400, 30, 30).astype(np.uint8),
    )
    return path


def test_images_survive_packing(rng):
    images = rng.integers(0, 256, (3, 900))
    assert np.array_equal(_faces.unpack(_faces.pack(images)).reshape(3, 900), images)
    assert _faces.unpack(_faces.pack(np.full((1, 900), 300.2))).max() == 255


def test_the_face_tables_of_the_paper_are_complete():
    for table in (_faces.PAPER_RESIDUALS, _faces.PAPER_SECONDS):
        assert [len(row) for row in table.values()] == [10] * 4


def test_residuals_of_faces(face_data):
    results = face_residual.run(context(face_data))
    assert set(_faces.NAMES) <= set(results["residuals"])
    assert all(0 < row[0] < 1 for rows in results["residuals"].values() for row in rows)
    better, worse = (copy.deepcopy(results) for _ in range(2))
    better["residuals"][_faces.SCALED_GASG21] = [[1e-3]]
    worse["residuals"][_faces.SCALED_GASG21] = [[0.9]]
    for changed, verdict in ((better, Verdict.HOLDS), (worse, Verdict.FAILS)):
        assert verdicts(face_residual.claims(changed), r"superior to OP \(scaled") == [verdict]
        assert verdicts(face_residual.claims(changed), r"competent to REAPER \(scaled") == [verdict]
    first, _ = face_residual.tables(results)
    assert first.rows[0][1:3] == ["0.1490", f"{results['residuals'][_faces.PAPER_GASG21][0][0]:.4f}"]
    assert first.rows[-1][0] == "10"
    assert first.rows[-1][2] is None


def test_boldface_is_judged_for_the_available_persons():
    rows = dict(_faces.PAPER_RESIDUALS)
    found = {_faces.PAPER_GASG21: rows["GASG21"], _faces.SCALED_GASG21: [1e-3] * 10} | rows
    as_published = face_residual.boldface_claim(_faces.PAPER_GASG21, found)
    assert (as_published.verdict, as_published.paper) == (Verdict.HOLDS, "REAPER for 9, GASG21 for 1")
    better = face_residual.boldface_claim(_faces.SCALED_GASG21, found)
    assert (better.verdict, better.ours) == (Verdict.FAILS, "GASG21 for 10")
    assert "face 1 (GASG21 0.0010, REAPER 0.1456), 2" in better.reason
    assert "8 (" not in better.reason


@pytest.mark.parametrize(("count", "named"), [(1, "2 to 10"), (5, "6 to 10"), (9, "10"), (10, "")])
def test_persons_that_were_not_run_are_named(count, named):
    assert _faces.left_out(count) == named
    assert bool(_faces.fewer(count)) == bool(named)
    cut = {name: row[:count] for name, row in _faces.PAPER_RESIDUALS.items()}
    ours = {name: cut[paper] for name, paper in _faces.NAMES.items()}
    recovered = face_recovery.claims({"residuals": ours, "people": count})
    timed = face_runningtime.claims({"seconds": ours, "residuals": ours, "people": count})
    extra = {name: cut["GASG21"] for name in (*_faces.EXTRA, face_residual.TIMES_P)}
    left = face_residual.claims({"residuals": {n: [row] for n, row in (ours | extra).items()}, "people": count})
    for claims in (recovered, timed, left):
        texts = [
            claim.text for claim in claims if re.search(r"^The (recovered images|residuals|seconds) of", claim.text)
        ]
        assert len(texts) == bool(named)
        assert all(text.endswith(f" {named}.") for text in texts)
    verdict = face_inlier_outlier.persons_claim(count).verdict
    assert verdict is (Verdict.UNCHECKED if named else Verdict.HOLDS)


def test_times_of_faces_are_ratios(face_data):
    results = face_runningtime.run(context(face_data))
    for seconds, verdict in ((6.3, Verdict.HOLDS), (6.2, Verdict.FAILS)):
        results["seconds"] = {name: [1.0] for name in _faces.METHODS} | {"REAPER": [seconds]}
        assert verdicts(face_runningtime.claims(results), r"REAPER costs around 25 seconds \(paper mode") == [verdict]


def test_recovered_faces_are_shown(face_data):
    results = face_recovery.run(context(face_data))
    (figure,) = face_recovery.figures(results).values()
    assert len(figure.axes) == 6 * results["people"]
    assert all(ax.images for ax in figure.axes)
    del results["images"]  # they are not published
    (figure,) = face_recovery.figures(results).values()
    assert not any(ax.images for ax in figure.axes)


def test_faces_are_closer_to_a_subspace_than_photographs(face_data):
    results = face_inlier_outlier.run(context(face_data))
    assert verdicts(face_inlier_outlier.claims(results), "low-dimensional") == [Verdict.HOLDS]
    assert max(results["residual of faces"]) < 0.1 < results["residual of photographs"]
    (figure,) = face_inlier_outlier.figures(results).values()
    assert [ax.images[0].get_array().shape for ax in figure.axes] == [(192, 192)] * 2


# ---- K subspaces


def test_angles_are_matched(rng):
    bases = [np.linalg.qr(rng.standard_normal((8, 2)))[0].T for _ in range(3)]
    assert matched_angles([bases[2], bases[0], bases[1]], bases).max() < 1e-12
    one_lost = np.sort(matched_angles([bases[0], bases[1], bases[1]], bases))
    assert one_lost[1] < 1e-12
    assert one_lost[2] > 0.1


def test_the_summary_of_runs():
    found = _union.summary([[1e-9, 1e-9, 1.0], [1e-9, 1e-9, 1e-9]])
    assert found["worst"] == pytest.approx(0.5)
    assert found["median"] == pytest.approx(1e-9)
    assert found["lost"] == 0.5
    assert found["largest"] == 1.0


def test_straight_and_bent_curves(rng):
    step = np.arange(1000)
    noise = 10 ** rng.uniform(-0.3, 0.3, 1000)
    straight, slope = k20d3converge.straightness(10 ** (-8.0 * step / 1000) * noise)
    assert straight > 0.98
    assert slope == pytest.approx(8 * 50 / 1000, rel=0.05)
    floored = np.maximum(10 ** (-16.0 * step / 1000), 1e-11) * noise
    assert k20d3converge.straightness(floored)[0] > 0.98
    assert k20d3converge.straightness(noise / (1.0 + step))[0] < k20d3converge.STRAIGHT
    assert k20d3converge.straightness(noise)[0] < 0.5
    assert k20d3converge.straightness(10 ** (8.0 * step / 1000))[0] == 0


def test_selection_in_space():
    results = k_selection.run(context(seeds=4))
    assert [len(results[mode]["candidates"]) for mode in k_selection.MODES] == [20, 6]
    for mode in k_selection.MODES:
        assert len(set(results[mode]["chosen"])) == 2
        results[mode]["selected"], results[mode]["refined"] = [0.01] * 4, [1e-8, 1e-8, 1e-8, 0.5]
    claims = k_selection.claims(results)
    assert verdicts(claims, "approximate") == [Verdict.HOLDS] * 2
    assert verdicts(claims, "not optimal") == [Verdict.HOLDS] * 2
    assert verdicts(claims, "global convergence") == [Verdict.FAILS] * 2


def row(angle, **seconds):
    runs = [[angle if k == 0 else 1e-9 for k in range(20)]]
    return _union.summary(runs) | {"seed": 1.0, "select": 1.0, "refine": 1.0} | seconds


def test_candidates_that_are_enough():
    found = [row(1.0), row(1e-8, seed=5.0)]
    results = {"Q": [2, 10], "seeds": {"paper mode": 1, "scaled": 1}, "paper mode": found, "scaled": found}
    results["without outliers"] = {"paper mode": row(1.0), "scaled": row(1e-9)}
    claims = ksubspace_performance.claims(results)
    assert verdicts(claims, "more than Q = 10 K") == [Verdict.HOLDS] * 2
    assert verdicts(claims, "more running time") == [Verdict.HOLDS] * 2
    assert verdicts(claims, "outlier free") == [Verdict.FAILS, Verdict.HOLDS]
    results["paper mode"] = [row(1.0), row(1.0)]
    assert verdicts(ksubspace_performance.claims(results), "more than Q = 10 K") == [Verdict.FAILS, Verdict.HOLDS]
    assert verdicts(ksubspace_performance.claims(results), "tradeoff") == [Verdict.UNCHECKED] * 2
    angle_table, time_table = ksubspace_performance.tables(results)
    assert angle_table.rows[0][:4] == ["2 K", "1.17", "1.00", "1.00"]
    assert time_table.rows[1][:4] == ["10 K", 3.97, 1.0, 5.0]


def test_ten_candidates_a_subspace_are_a_tradeoff():
    slow, slower = {"seed": 3.0}, {"seed": 9.0}
    few_lose = [row(1.0), row(1e-9, **slow), row(1e-9, **slower)]
    results = {"Q": [2, 10, 20], "seeds": {"paper mode": 5, "scaled": 3}, "paper mode": few_lose}
    results["scaled"] = [row(1e-9, seed=0.1), *few_lose[1:]]
    enough, too_many = (ksubspace_performance.tradeoff_claim(results, mode) for mode in ksubspace_performance.MODES)
    assert enough.verdict is Verdict.HOLDS
    assert enough.ours == "none lost from 10 K on; 5.000 s at 10 K, 11.000 s at 20 K"
    assert too_many.verdict is Verdict.FAILS
    assert too_many.reason == "2 K candidates lose none, either, in 0.42 of the time."
    results["paper mode"] = [row(1e-9), row(1e-9), row(1.0)]
    lossy = ksubspace_performance.tradeoff_claim(results, "paper mode")
    assert lossy.ours.startswith("some lost at 20 K")
    assert lossy.verdict is Verdict.FAILS
    assert lossy.reason == "Lost of 20 subspaces, mean of the runs: 0.0 at 10 K, 1.0 at 20 K."


def test_the_reason_names_how_the_time_of_the_updates_varies():
    rows = [row(1e-9, refine=seconds) for seconds in (1.0, 2.0, 1.5, 1.5)]
    results = {"Q": [2, 4, 10, 20], "seeds": {"paper mode": 5}, "paper mode": rows}
    _, claim = ksubspace_performance.time_claims(results, "paper mode")
    assert claim.verdict is Verdict.FAILS
    assert "At Q = 4 K it took 2.00 times as long as at 2 K, each the least of 5 runs" in claim.reason


def test_outliers_need_candidates():
    angles = {share: [1.0] * (len(column) - 1) + [1e-9] for share, column in ksubspace_outlier_candidate.PAPER.items()}
    angles[0.1] = [1.0, 1e-9, 1e-9]
    cells = [
        {"outliers": share, "Q": q, "updates": updates, "paper mode": row(angle), "scaled": row(1e-9)}
        for share, column in ksubspace_outlier_candidate.PAPER.items()
        for (q, updates), angle in zip(column, angles[share], strict=True)
    ]
    results = {"cells": cells, "seeds": {"paper mode": 1, "scaled": 1}}
    claims = ksubspace_outlier_candidate.claims(results)
    assert {claim.verdict for claim in claims} == {Verdict.HOLDS}
    assert [claim.ours for claim in claims if "larger fraction" in claim.text] == ["2 K, 6 K, 10 K, 20 K"]
    cells[1]["paper mode"] = row(1.0)  # 10 %, Q = 2 K
    (claim,) = (c for c in ksubspace_outlier_candidate.claims(results) if "at least Q = 2 K" in c.text)
    assert claim.verdict is Verdict.FAILS
    assert claim.reason == "Lost of 20 subspaces, mean of 1 runs: at 10% outliers 1.0 with 1 K, 1.0 with 2 K."
    cells[0]["scaled"] = row(1.0)
    assert verdicts(ksubspace_outlier_candidate.claims(results), r"\(scaled\)") == [Verdict.FAILS]
    assert len(ksubspace_outlier_candidate.tables(results)) == 4


# ---- motions


@pytest.fixture(scope="module")
def motions(tmp_path_factory):
    """Three made-up sequences in the layout of the data set."""
    rng = np.random.default_rng(1)
    root = tmp_path_factory.mktemp("motions")
    for name, K in (("1R2RC", 3), ("articulated_g13", 2), ("kanatani2", 2)):
        labels = np.repeat(np.arange(K), 25)
        X = np.concatenate([rng.standard_normal((25, 4)) @ rng.standard_normal((4, 40)) for _ in range(K)])
        points = np.ones((3, len(X), 20))
        points[:2] = X.reshape(len(X), 20, 2).transpose(2, 0, 1)
        directory = root / "hopkins155" / name
        directory.mkdir(parents=True)
        savemat(directory / f"{name}_truth.mat", {"x": points, "s": labels[:, None] + 1})
    return root


@pytest.fixture(scope="module", params=OF_MOTIONS, ids=lambda e: e.LABELS[0])
def segmented(request, motions):
    return request.param, request.param.run(context(motions))


def test_motions_are_segmented(segmented):
    experiment, results = segmented
    assert [name for name, _, _ in results["sequences"]] == ["1R2RC", "articulated_g13", "kanatani2"]
    names = [f"{_hopkins.name_of(q)}, {mode}" for q in results["Q"] for mode in ("paper mode", "scaled")]
    assert list(results["errors"]) == names + list(_hopkins.OTHERS)
    assert results["errors"][_hopkins.ENSEMBLE] == [0, 0, 0]
    # A few sequences are not enough for a verdict.
    assert {claim.verdict for claim in experiment.claims(results)} == {Verdict.UNCHECKED}
    titles = [table.title for table in experiment.tables(results)]
    assert len(titles) == 6  # two of two motions and all of them; one of three and all of them; times
    assert "Two motions, Traffic: error in %" in titles
    assert "Two motions, Checker: error in %" not in titles


def test_the_numbers_of_the_paper_are_beside_ours(segmented):
    experiment, results = segmented
    (table,) = (t for t in experiment.tables(results) if t.title.startswith("Three motions, All"))
    rows = {row[0]: row for row in table.rows}
    paper = experiment.PAPER[3]["K-GASG21 (Q=K)"]
    ours = [results["errors"][f"K-GASG21 (Q=K), {mode}"][0] for mode in ("paper mode", "scaled")]
    assert rows["K-GASG21 (Q=K)"][1:4] == [f"{paper[6]:.2f}", *(f"{error:.2f}" for error in ours)]
    assert rows["K-GASG21 (Q=K)"][4] == f"{paper[7]:.2f}"
    assert rows["SSC"][1] is None


@pytest.mark.parametrize(("ours", "verdict"), [(1.0, Verdict.HOLDS), (30.0, Verdict.FAILS)])
def test_enough_sequences_give_a_verdict(segmented, ours, verdict):
    experiment, results = segmented
    many = copy.deepcopy(results)
    many["sequences"] = [[f"{i}", 2 + i % 2, "traffic"] for i in range(_hopkins.ENOUGH)]
    many["errors"] = {name: [ours if "GASG21" in name else 10.0] * _hopkins.ENOUGH for name in results["errors"]}
    assert set(verdicts(experiment.claims(many), "LBF with Q = 70 K|better than LBF")) == {verdict}


@pytest.mark.parametrize(
    ("count", "off", "verdict"), [(155, 0.1, "holds"), (155, 9, "does not hold"), (154, 0.1, "can't be checked")]
)
def test_the_means_of_the_table_are_judged_if_all_sequences_are_available(count, off, verdict):
    rng = np.random.default_rng(0)
    name, theirs = _hopkins.LBF_70, (4.62, 11.44)
    motions = [2 if i < 120 else 3 for i in range(count)]
    errors = np.array([theirs[m - 2] for m in motions]) + off
    for m in (2, 3):  # a spread whose mean is zero
        of = np.array(motions) == m
        noise = rng.standard_normal(of.sum())
        errors[of] += noise - noise.mean()
    results = {"sequences": [[str(i), m, "traffic"] for i, m in enumerate(motions)], "errors": {name: errors.tolist()}}
    paper = {2: {name: (0.0,) * 6 + (theirs[0], 0.0)}, 3: {name: (0.0,) * 6 + (theirs[1], 0.0)}}
    assert _hopkins.whole_claim(results, paper, name, "The mean errors.").verdict == verdict


def test_settings_are_compared_on_the_same_sequences():
    sequences = [[str(i), 2 + i // 4, "traffic"] for i in range(8)]
    results = {"sequences": sequences, "errors": {"a": [1, 12, 21, 32] * 2, "b": [0, 10, 20, 30, *[5] * 4]}}
    assert _hopkins.paired(results, "a", "b", 2) == "+1.50 ± 0.29"  # much less than the standard error of either mean
    assert _hopkins.difference(results, "b", "a").startswith(
        "-1.50 ± 0.29 points for two motions, -11.50 ± 6.59 for three"
    )


@pytest.mark.parametrize(("more", "verdict"), [(9.0, Verdict.HOLDS), (11.0, Verdict.FAILS)])
def test_lbf_with_more_candidates(segmented, more, verdict):
    experiment, results = segmented
    count = len(results["sequences"])
    results = results | {
        "errors": results["errors"] | {_hopkins.LBF_70: [10.0] * count, _hopkins.LBF_200: [more] * count}
    }
    other = {Verdict.HOLDS: Verdict.FAILS, Verdict.FAILS: Verdict.HOLDS}
    # The paper claims that it improves without outliers, and that it becomes worse with them.
    improves = experiment is hopkins_free
    claim = _hopkins.lbf_claim(results, experiment.PAPER, "The claim.", improves=improves)
    assert claim.verdict is (verdict if improves else other[verdict])


def test_a_ratio_near_the_bound_has_one_more_digit():
    assert [hopkins_free.times(ratio) for ratio in (3.988, 4.04, 4.3, 33.21)] == ["3.99", "4.04", "4.3", "33.2"]


def test_the_share_of_outliers(rng):
    sequence = SimpleNamespace(data=rng.standard_normal((70, 20)), labels=np.arange(70) % 2)
    X, truth = hopkins_outlier.with_outliers(sequence, 0)
    assert (truth == -1).mean() == pytest.approx(0.3)
    assert X[truth == -1].std() == pytest.approx(hopkins_outlier.LARGE * sequence.data.std(), rel=0.1)
    assert {tuple(x) for x in X[truth >= 0]} == {tuple(x) for x in sequence.data}
    again, _ = hopkins_outlier.with_outliers(sequence, 0)
    assert np.array_equal(X, again)


def test_memory_is_measured(motions):
    of_lrr = hopkins_free.megabytes(context(motions), _hopkins.LRR_NAME)
    if Path("/proc/self/clear_refs").exists():
        assert 0 <= of_lrr < 100
    else:
        assert of_lrr is None
