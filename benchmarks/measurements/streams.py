"""Streams in natural order, in storms of outliers and through changes, and what they say about themselves."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from benchmarks.framework.data import highway, highway_truth
from benchmarks.framework.measurement import Run, parts
from benchmarks.measurements._natural_streams import (
    FIRST_SEED,
    LOST,
    Array,
    Rotation,
    Track,
    generator,
    subspace,
    vectors,
)
from benchmarks.measurements.scaling_and_polish import problem, vectors_to
from gasg21 import GASG21

TIME = "2 minutes"
ONE_THREAD = True
FIRST_FRAME = 70  # the truth of the video begins here
BATCH = 10_000


def model_of(d: int, seed: int) -> GASG21:
    """Return a stream with the defaults."""
    return GASG21(d, random_state=FIRST_SEED + seed)


# ---- a video


def best_f(residuals: Array, truth: Array) -> float:
    """Return the best F of foreground masks |residual| > threshold over all thresholds; unscored pixels are left out."""
    bins = np.arange(0, 257, 0.5)
    moving = np.histogram(residuals[truth == 255], bins)[0]
    still = np.histogram(residuals[truth == 0], bins)[0]
    hits, alarms = np.cumsum(moving[::-1]), np.cumsum(still[::-1])
    return float(np.max(2 * hits / (hits + alarms + moving.sum())))


def residuals_of(frames: Array, U: Array) -> Array:
    """Return |x - U w| of each frame, entry by entry."""
    return np.abs(frames - frames @ U.T @ U)


def causal(frames: Array, d: int, seed: int, garbage: float) -> tuple[Any, Array]:
    """Return a stream that has seen all frames among garbage, and each frame's residuals right after its update."""
    rng, model, residuals = generator(seed), model_of(d, seed), []
    for frame in frames:
        while rng.random() < garbage:
            model.partial_fit(rng.normal(128, 60, frame.size))
        model.partial_fit(frame)
        residuals.append(residuals_of(frame, model.components_))
    return model, np.array(residuals)


def video(run: Run) -> None:
    """Find what moves in a traffic video, frame by frame in order: the best F of the masks."""
    frames, truth = highway(run.data), highway_truth(run.data)[FIRST_FRAME:]
    seeds = run.seeds(8, quick=1)
    print(f"highway in order, {len(frames)} frames of {frames.shape[1]} pixels, median F of {len(seeds)} seeds")
    for d in (1, 3):
        late, early = [], []
        for seed in seeds:
            model = causal(frames, d, seed, 0)[0]
            late.append(best_f(residuals_of(frames[FIRST_FRAME:], model.components_), truth))
            early.append(best_f(causal(frames, d, seed, 0.2)[1][FIRST_FRAME:], truth))
        run.goals.at_least(f"d = {d}, subspace of the end", np.median(late), 0.8, note=f"least {min(late):.3f}")
        text = f"d = {d}, causal, 20 % garbage frames"
        run.goals.at_least(text, np.median(early), 0.8, note=f"least {min(early):.3f}")


def after_fit(run: Run) -> None:
    """Go on with the video in order after a fit to its first 40 frames: the step stays small."""
    frames, truth = highway(run.data), highway_truth(run.data)[FIRST_FRAME:]
    print("\nhighway, fit to 40 frames, then the others in order")
    for d in (1, 3):
        model, steps, scores = model_of(d, 0).fit(frames[:40]), [], []
        for t, frame in enumerate(frames[40:]):
            if t in (0, 10, 20, 40, 80, 160):
                scores.append(best_f(residuals_of(frames[FIRST_FRAME:], model.components_), truth))
            steps.append(model.partial_fit(frame).step_size_)
        last = best_f(residuals_of(frames[FIRST_FRAME:], model.components_), truth)
        note = f"from {steps[0]:.1e} to {max(steps):.1e}, at the end {steps[-1]:.1e}"
        run.goals.at_most(f"d = {d}, longest step over the first", max(steps) / steps[0], 2, note=note)
        note = f"least on the way {min(scores):.3f}"
        run.goals.at_least(f"d = {d}, F at the end", last, round(scores[0], 3), note=note)


# ---- order


def bursts(run: Run) -> None:
    """Repeat each vector 25 times in a row."""
    count = 100 if run.quick else 800
    print(f"\neach of {count} vectors 25 times in a row, n = 200, d = 5, 20 % outliers, angle")
    for noise, bound in ((0.0, 1e-6), (0.01, 0.05)):
        found = []
        for seed in run.seeds(5, quick=2):
            rng = generator(seed)
            U = subspace(rng, 200, 5)
            X = np.repeat(vectors(rng, U, count, noise=noise), 25, axis=0)
            found.append(Track().feed(model_of(5, seed), X, U, every=len(X)).angles[-1])
        run.goals.at_most(f"noise {noise:g}, largest of {len(found)}", max(found), bound)


@cache
def correlated_runs(*, quick: bool) -> list[tuple[float, Track, Track]]:
    """Return noise, and the tracks in order and shuffled, of vectors whose weights and noise are AR(1)."""
    runs = []
    for noise in (0.01, 0.1, 0.3):
        for seed in range(1 if quick else 5):
            rng = generator(seed, round(100 * noise))
            U = subspace(rng, 200, 5)
            X = vectors(rng, U, 4000 if quick else 20_000, noise=noise, correlation=0.99)
            orders = X, rng.permutation(X)
            runs.append((noise, *(Track().feed(model_of(5, seed), each, U) for each in orders)))
    return runs


def correlated(run: Run) -> None:
    """Compare autocorrelated vectors in order with the same vectors shuffled."""
    print(
        "\nweights and noise AR(1) .99, n = 200, d = 5, 20 % outliers, 20 000 vectors: angle over that of the shuffled"
    )
    for noise in (0.01, 0.1, 0.3):
        pairs = np.array([[o.angles[-1], s.angles[-1]] for x, o, s in correlated_runs(quick=run.quick) if x == noise])
        ordered, shuffled = np.median(pairs, axis=0)
        note = f"{ordered:.1e} and {shuffled:.1e}, medians of {len(pairs)}; worst ratio {np.max(pairs[:, 0] / pairs[:, 1]):.1f}"
        run.goals.at_most(f"noise {noise:g}, ratio", ordered / shuffled, 3, note=note)


def independent(run: Run) -> None:
    """Count the vectors that a stream of independent vectors needs to reach 1e-6."""
    seeds = run.seeds(8, quick=2)
    print(f"\nindependent, n = 500, d = 5, 50 % outliers, 70 % observed, vectors to 1e-6, median of {len(seeds)}")
    for condition, bound in {1: 1300, 10: 1500, 100: 3300, 1000: 4500}.items():
        used = [
            vectors_to(problem(1000, 500, 5, condition=condition, seed=FIRST_SEED + s), FIRST_SEED + s) for s in seeds
        ]
        run.goals.at_most(f"condition {condition}", np.median(used), bound, note=f"largest {max(used):.0f}")


@cache
def rotating_runs(*, quick: bool) -> list[Track]:
    """Return tracks of subspaces that rotate by 1e-4 a vector, without noise."""
    tracks = []
    for seed in range(1 if quick else 5):
        rotation = Rotation(generator(seed), 200, 5, 1e-4)
        model, track = model_of(5, seed), Track()
        for _ in range(40 if quick else 200):
            track.feed(model, rotation.vectors(100), rotation.basis())
        tracks.append(track)
    return tracks


def rotating(run: Run) -> None:
    """Follow a subspace all of whose directions rotate."""
    tracks = rotating_runs(quick=run.quick)
    floors = [track.floor() for track in tracks]
    print("\nrotation of all directions by 1e-4 a vector, n = 200, d = 5, 20 % outliers, no noise")
    run.goals.at_most(f"angle, median of the last half, largest of {len(floors)}", max(floors), 5e-3)


# ---- storms and changes


@cache
def storm_runs(*, quick: bool) -> list[tuple[float, int, int, Track]]:
    """Return share of outliers, n, d and track of streams that converged and then went through a storm."""
    runs = []
    for share in (0.8, 0.9, 0.95):
        for n in (20, 50, 200):
            for d in (3, 5):
                for seed in range(1 if quick else 6):
                    rng = generator(seed, n, d, round(100 * share))
                    U, noise = subspace(rng, n, d), 0.01 * (seed % 2)
                    model = model_of(d, seed).partial_fit(vectors(rng, U, 5000, noise=noise))
                    X = vectors(rng, U, 3000 if quick else 30_000, outliers=share, noise=noise)
                    runs.append((share, n, d, Track().feed(model, X, U, every=500)))
    return runs


def storms(run: Run) -> None:
    """Let 80 to 95 % of 30 000 vectors be outliers."""
    runs = storm_runs(quick=run.quick)
    print("\nstorms of 80, 90 and 95 % outliers on converged streams, n = 20, 50, 200, d = 3, 5, noise 0 and .01")
    lost = [each for each in runs if each[-1].angles[-1] > LOST]
    where = [f"{share:.0%} n = {n} d = {d} says {track.statuses[-1]}" for share, n, d, track in lost]
    run.goals.at_most(f"of {len(runs)}, lost at the end", len(lost), len(runs) // 100, note="; ".join(where))
    silent = sum(track.statuses[-1] == "tracking" for *_, track in lost)
    run.goals.at_most("of these, without saying so", silent, 0)
    run.goals.value(f"lost at any time: {sum(max(track.angles) > LOST for *_, track in runs)}")


@cache
def change_runs(*, quick: bool, outliers: float = 0.2) -> list[tuple[float, int, Track, list[int]]]:
    """Return noise, n, track and reported changes of streams whose subspace changes altogether after 5000 vectors."""
    runs, sizes = (
        [],
        ((50, 0.0), (200, 1e-3), (500, 1e-2)) if quick else [(n, x) for n in (50, 200, 500) for x in (0.0, 1e-3, 1e-2)],
    )
    for n, noise in sizes:
        for seed in range(2 if quick else 20):
            rng = generator(seed, n, round(1000 * noise), round(100 * outliers))
            model, track = model_of(5, seed), Track()
            for _ in range(2):
                U = subspace(rng, n, 5)
                track.feed(model, vectors(rng, U, 5000, outliers=outliers, noise=noise), U, every=50)
            runs.append((noise, n, track, model.changes_))
    return runs


def vectors_until(track: Track, target: float, start: int = 0) -> float:
    """Return the vectors from the given look on until the angle is at most the target."""
    near = np.flatnonzero(np.array(track.angles[start:]) <= target)
    return float(sum(track.lengths[start : start + near[0] + 1])) if len(near) else np.inf


def followed(track: Track, noise: float) -> float:
    """Return the vectors after the change until the new subspace is found."""
    return vectors_until(track, max(1e-3, 5 * noise), len(track.angles) // 2)


def changes(run: Run) -> None:
    """Show whether a change of all directions is reported, and how fast the new subspace is found."""
    print("\nall five directions change, 20 % outliers unless stated; reported once, within 500 vectors")
    runs = change_runs(quick=run.quick)
    for noise, n in dict.fromkeys((noise, n) for noise, n, *_ in runs):
        cell = [(track, seen) for x, m, track, seen in runs if (x, m) == (noise, n)]
        good = [seen for _, seen in cell if len(seen) == 1 and 5000 < seen[0] <= 5500]
        note = f"after {np.median([seen[0] - 5000 for seen in good]):.0f} vectors" if good else ""
        run.goals.at_least(f"noise {noise:g}, n = {n}, of {len(cell)}", len(good), len(cell), note=note)
    used = [followed(track, noise) for noise, _, track, _ in runs]
    text = "vectors until the new subspace is found to the larger of 1e-3 and 5 x noise, median"
    run.goals.at_most(text, np.median(used), 1000, note=f"largest {max(used):.0f}")
    used = [followed(track, noise) for noise, _, track, _ in change_runs(quick=run.quick, outliers=0.5)]
    run.goals.at_most("50 % outliers, the same", np.median(used), 1000, note=f"largest {max(used):.0f} of {len(used)}")


def limits(run: Run) -> None:
    """Show what is beyond the goals: changes of a few directions or under much noise, storms above 95 %."""
    seeds = run.seeds(8, quick=1)
    print(
        f"\nbeyond the goals, n = 200, d = 5, {len(seeds)} runs each: changes reported, vectors until found, status while lost"
    )
    for directions, noise in ((1, 0.0), (2, 0.01), (3, 0.01), (5, 0.1), (5, 0.3)):
        reported, used, told = 0, [], Counter[str]()
        for seed in seeds:
            rng = generator(seed, directions, round(100 * noise))
            U = subspace(rng, 200, 5)
            model = model_of(5, seed).partial_fit(vectors(rng, U, 5000, noise=noise))
            U = np.linalg.qr(np.vstack([U[directions:], rng.standard_normal((directions, 200))]).T)[0].T
            track = Track().feed(model, vectors(rng, U, 5000, noise=noise), U, every=50)
            reported += len(model.changes_) > 0
            used.append(vectors_until(track, max(1e-3, 2 * track.floor())))
            told += Counter(status for angle, status in zip(track.angles, track.statuses, strict=True) if angle > LOST)
        text = f"{directions} of 5 directions, noise {noise:g}: {reported} reported, found after {np.median(used):.0f}"
        run.goals.value(f"{text}, at most {max(used):.0f}; {dict(told)}")
    for share in (0.95, 0.97, 0.98, 0.99):
        reports, lost = 0, 0
        for seed in seeds[:3]:
            rng = generator(seed, round(100 * share))
            U = subspace(rng, 200, 5)
            model = model_of(5, seed).partial_fit(vectors(rng, U, 5000, noise=0.01))
            track = Track().feed(model, vectors(rng, U, 30_000, outliers=share, noise=0.01), U, every=500)
            reports, lost = reports + len(model.changes_), lost + (track.angles[-1] > LOST)
        count = len(seeds[:3]) * 30_000
        run.goals.value(
            f"storm of {share:.0%}: {reports} false reports in {count}, {lost} of {len(seeds[:3])} lost at the end"
        )


# ---- false reports


def quiet_streams(kind: str, count: int, seed: int) -> Iterator[tuple[str, int, Iterator[Array]]]:
    """Yield name, dimension and batches of streams whose subspace does not change, ``count`` vectors in all."""
    cases: dict[str, list[tuple[int, int, float, float]]] = {  # n, d, share of outliers, noise
        "independent": [(n, d, 0.2, noise) for noise in (0, 0.01, 0.1, 0.3, 0.5) for n, d in ((20, 3), (200, 5))],
        "rotating by 1e-4": [(n, d, 0.2, noise) for noise in (0, 0.01) for n, d in ((50, 3), (200, 5))],
        "storms of 80 and 90 %": [
            (n, d, o, x) for o in (0.8, 0.9) for x in (0, 0.01) for n, d in ((20, 3), (50, 5), (200, 5))
        ],
        "storms of 95 %": [(n, d, 0.95, noise) for noise in (0, 0.01) for n, d in ((20, 3), (50, 5), (200, 5))],
    }
    for n, d, outliers, noise in cases[kind]:
        rng = generator(seed, n, round(100 * outliers), round(100 * noise))
        rotation = Rotation(rng, n, d, 1e-4 * ("rotating" in kind))
        each = count // len(cases[kind])
        sizes = [min(BATCH, each - start) for start in range(0, each, BATCH)]
        batches = (rotation.vectors(size, outliers=outliers, noise=noise) for size in sizes)
        warm = rotation.vectors(5000, noise=noise)
        yield f"n = {n}, {outliers:.0%} outliers, noise {noise:g}", d, (b for part in ([warm], batches) for b in part)


def false_reports(run: Run) -> None:
    """Count reported changes where nothing changed."""
    count = 60_000 if run.quick else 1_000_000
    print(f"\nreported changes in {count} vectors of subspaces that do not change at once")
    for kind in ("independent", "rotating by 1e-4", "storms of 80 and 90 %", "storms of 95 %"):
        reports = {}
        for name, d, batches in quiet_streams(kind, count, 0):
            model = model_of(d, 0)
            for batch in batches:
                model.partial_fit(batch)
            reports[name] = len(model.changes_)
        note = "; ".join(f"{name}: {found}" for name, found in reports.items() if found)
        total = sum(reports.values())
        if "95" in kind:
            run.goals.value(f"{kind}: {1e5 * total / count:.1f} in 100 000 vectors; {note}")
        else:
            run.goals.at_most(kind, total, 1, note=note)


# ---- what a stream says, and what it keeps


def status(run: Run) -> None:
    """Compare `status_` with the angle to the truth along the runs of the other parts."""
    print('\nshare of the time that status_ is "tracking": within twice the noise floor, and more than .5 rad off')
    runs = {
        "AR(1) in order": [track for _, track, _ in correlated_runs(quick=run.quick)],
        "AR(1) shuffled": [track for *_, track in correlated_runs(quick=run.quick)],
        "rotation": rotating_runs(quick=run.quick),
        "storms": [track for *_, track in storm_runs(quick=run.quick)],
        "changes": [track for _, _, track, _ in change_runs(quick=run.quick)],
    }
    totals = np.zeros((2, 2))
    for name, tracks in runs.items():
        sums = np.sum([track.shares() for track in tracks], axis=0)
        totals += sums
        shown = [f"{told / max(count, 1):.2%} of {count}" for count, told in sums]
        run.goals.value(f"{name}: {shown[0]} and {shown[1]} vectors")
    (near, told_near), (lost, told_lost) = totals
    run.goals.at_least("within twice the noise floor", told_near / near, 0.99)
    run.goals.at_most("more than .5 rad off", told_lost / max(lost, 1), 0.05)


def resume(run: Run) -> None:
    """Pickle a stream at 200 random moments: order, a change and a storm come after each other."""
    rng = generator(0)
    U, V = (subspace(rng, 30, 3) for _ in range(2))
    X = np.vstack(
        [
            vectors(rng, U, 1500, noise=0.01, correlation=0.95),
            vectors(rng, V, 1500, noise=0.01),
            vectors(rng, V, 1000, outliers=0.95, noise=0.01),
            vectors(rng, U, 1000, noise=0.01),
        ]
    )
    X[rng.random(X.shape) < 0.2] = np.nan
    whole = model_of(3, 0).partial_fit(X)
    cuts = np.sort(rng.choice(np.arange(1, len(X)), 20 if run.quick else 200, replace=False))
    model, done, differing = model_of(3, 0), 0, 0
    for cut in cuts:
        model.partial_fit(X[done:cut])
        done = cut
        again = pickle.loads(pickle.dumps(model)).partial_fit(X[cut:])
        differing += again.status_ != whole.status_ or again.changes_ != whole.changes_
        for a, b in ((again.components_, whole.components_), (again.residuals_, whole.residuals_[cut:])):
            differing += int(np.sum(np.frombuffer(a.tobytes(), np.uint8) != np.frombuffer(b.tobytes(), np.uint8)))
    print(f"\nresumed by pickle at {len(cuts)} random cuts, {len(whole.changes_)} changes on the way")
    run.goals.at_most("differing bytes of components_ and residuals_, or other reports", differing, 0)


PARTS = parts(
    video, after_fit, bursts, correlated, independent, rotating, storms, changes, limits, false_reports, status, resume
)
