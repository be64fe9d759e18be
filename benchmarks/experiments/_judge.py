"""Claims with a verdict from a condition, and the words for both modes."""

from __future__ import annotations

from benchmarks.framework.experiment import Claim, Verdict

PAPER_MODE, SCALED = "ours, paper mode", "ours, scaled"


def judge(
    text: str, paper: str, ours: str, holds: bool, reason: str = "", note: str = "", *, own: bool = False
) -> Claim:
    """Return a claim that holds or not; the reason is why it likely does not, the note is said in any case."""
    said = note if holds else " ".join(part for part in (reason, note) if part)
    return Claim(text, paper, ours, Verdict.HOLDS if holds else Verdict.FAILS, said, own)


def unchecked(text: str, paper: str, ours: str, reason: str) -> Claim:
    """Return a claim that our data can't decide."""
    return Claim(text, paper, ours, Verdict.UNCHECKED, reason)
