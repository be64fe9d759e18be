"""`KGASG21.fit` for data in blocks: the usual fit of a sample, then rounds of the polish over all parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_fit import Blocks
from gasg21._algorithms.block_rounds import start_scatter
from gasg21._algorithms.block_sums import Scatter
from gasg21._algorithms.block_union import UnionRounds, member_labels
from gasg21._data.block_source import BlockSource
from gasg21._data.parameters import seed_of
from gasg21._data.samples import Samples
from gasg21._estimators.fitted_union import FittedUnion, PublishedUnion
from gasg21._estimators.in_blocks import check_is_plain, each_part, opened, set_features
from gasg21._estimators.union_fit import checked, publish, recover
from gasg21._support.engines import Engine
from gasg21._support.progress import PassCallback
from gasg21.exceptions import InvalidInputError

_SAMPLED_PER_CLUSTER = 1000
_DOUBTED = ("too_few_clusters", "too_many_clusters", "indistinct")


def fit_blocks(
    model: FittedUnion,
    source: BlockSource,
    mask: Any,
    began: float,
    callback: PassCallback | None = None,
    engine: Engine | None = None,
) -> KeyboardInterrupt | None:
    """Fit a draft. Returns what interrupted it."""
    check_is_plain(mask)
    if not model.polish:
        msg = "KGASG21.fit takes a BlockSource only with polish=True: the polish is what works on blocks"
        raise InvalidInputError(msg)
    with opened(model, source, seed_of(model.random_state), callback, engine) as blocks:
        clusters = model.n_clusters if isinstance(model.n_clusters, int) else 1
        sample = blocks.draw(max(source.n_sampled, _SAMPLED_PER_CLUSTER * clusters))
        samples = checked(model, sample.data, sample.mask)
        set_features(model, source)
        found = recover(model, samples, blocks.progress, goal="fit")
        interrupt: BaseException | None = found.interrupt
        if interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
            raise interrupt
        publish(model, found, began)
        if found.status != "interrupted":
            interrupt = _polish(model, blocks, samples, found.stream_rule)
    return interrupt


def _polish(
    model: FittedUnion, blocks: Blocks, samples: Samples, stream_rule: _core.StepRule
) -> KeyboardInterrupt | None:
    """Polish the result of the sample over all parts, and publish it."""
    published = model._current()
    labels = member_labels(published.union, samples)
    rounds = UnionRounds(
        published.union,
        [
            _scatter(U, samples.subset(np.flatnonzero(labels == k)), published.union.lift)
            for k, U in enumerate(published.union.subspaces)
        ],
        model.tol,
        2 * model.max_passes,
        model.n_passes_,
    )
    stopped: KeyboardInterrupt | None = None
    try:
        rounds.run(blocks)
    except KeyboardInterrupt as caught:  # the rounds so far stay
        stopped = caught
    model._published = _polished(model, published, rounds, stream_rule, interrupted=stopped is not None)
    if stopped is None and model.reject_outliers:
        parts = each_part(type(model).predict, model, blocks.source, blocks.engine)
        model._published = model._published._replace(labels=np.concatenate(list(parts)))
    return stopped


def _polished(
    model: FittedUnion, before: PublishedUnion, rounds: UnionRounds, stream_rule: _core.StepRule, *, interrupted: bool
) -> PublishedUnion:
    """Return what is published after the rounds."""
    assert model._stream is not None
    assert before.report is not None
    status = before.report.status if before.report.status in _DOUBTED else rounds.status
    report = before.report._replace(
        history=before.report.history + rounds.history,
        status="interrupted" if interrupted or rounds.ended else status,
        estimated_angles=rounds.estimated_angles,
    )
    union = rounds.union
    if rounds.is_plain:
        model._stream.continue_from(union.subspaces, rounds.estimated_angles, stream_rule)
    published = before._replace(union=union, report=report)
    if rounds.sums is None:
        return published
    counters = {name: count for name, count in rounds.sums.diagnostics.items() if name != "entries_used"}
    return published._replace(labels=rounds.sums.labels.astype(np.intp), counters=counters)


def _scatter(subspace: Any, members: Samples, lift: Any) -> Scatter | None:
    """Return the scatter of some members; None if there are too few."""
    if members.n_samples <= 2 * len(subspace):
        return None
    return start_scatter(np.ascontiguousarray(subspace, members.dtype), members.dense(), lift=lift)
