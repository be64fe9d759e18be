"""Claims with a verdict from a condition, and what experiments without figures or numbers to compare share."""

from __future__ import annotations

from typing import Any

from benchmarks.framework.experiment import Claim, Verdict

NO_NUMBERS = "The paper gives no numbers, and the image of its figure was not available."


def judge(
    text: str, paper: str, ours: str, holds: bool, reason: str = "", note: str = "", *, own: bool = False
) -> Claim:
    """Return a claim that holds or does not; the reason is given only if it does not hold, the note always."""
    remark = note if holds else " ".join(part for part in (reason, note) if part)
    return Claim(text, paper, ours, Verdict.HOLDS if holds else Verdict.FAILS, remark, own)


def unchecked(text: str, paper: str, ours: str, reason: str) -> Claim:
    """Return a claim that our data can't decide."""
    return Claim(text, paper, ours, Verdict.UNCHECKED, reason)


def no_figures(results: dict[str, Any]) -> dict[str, Any]:
    """Return no figures: the paper has a table."""
    return {}
