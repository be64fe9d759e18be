"""The report in short, as Markdown beside the results, for readers of the repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.framework import records
from benchmarks.framework.catalogue import places_of
from benchmarks.framework.experiment import Verdict
from benchmarks.framework.text import counts_text, duration

if TYPE_CHECKING:
    from benchmarks.framework.report import Chapter


def digest(chapters: list[Chapter]) -> str:
    """Return the experiments with their verdicts and times, the claims that do not hold or can't be checked, and the figures."""
    claims = [claim for entry in chapters for claim in entry.claims]
    parts = [
        "# The paper's experiments: results",
        "Written by `python -m benchmarks report`, which also makes a page with all figures, tables and claims. "
        f"{counts_text(claims)}.",
        "\n".join(sorted({f"- {provenance(entry)}" for entry in chapters if entry.record})),
        experiments_table(chapters),
        "## Claims that do not hold",
        "\n".join(with_verdict(chapters, Verdict.FAILS)) or "None.",
        "## Claims that can't be checked",
        "\n".join(with_verdict(chapters, Verdict.UNCHECKED)) or "None.",
        "## Figures",
        *(f"![{plain(image.alternative)}](figures/{image.stem}.png)" for entry in chapters for image in entry.files),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def provenance(entry: Chapter) -> str:
    """Return the commit and the machine of a result."""
    record = entry.record
    quick = "Quick run, small problems: commit" if record["quick"] else "Commit"
    return f"{quick} {records.origin(record)}, {record['machine']['cpu']}, {record['machine']['cores']} cores"


def experiments_table(chapters: list[Chapter]) -> str:
    """Return a row for each experiment: its place in the paper, the number of claims with each verdict, the time."""
    rows = ["| in the paper | experiment | " + " | ".join(verdict.value for verdict in Verdict) + " | time |"]
    rows.append("|---" * (len(Verdict) + 3) + "|")
    for entry in chapters:
        counts = [str(sum(claim.verdict is verdict for claim in entry.claims)) for verdict in Verdict]
        last = (
            [*counts, duration(entry.record["duration"])] if not entry.problem else ["", "", "", plain(entry.problem)]
        )
        rows.append(f"| {places_of(entry.experiment)} | `{entry.name}` | " + " | ".join(last) + " |")
    return "\n".join(rows)


def with_verdict(chapters: list[Chapter], verdict: Verdict) -> list[str]:
    """Return the claims with this verdict: experiment, number of the claim, text and reason."""
    return [
        f"- `{entry.name}` {number}: {closed(claim.sentence)} Paper: {closed(claim.paper)} Ours: {closed(claim.ours or '-')} {plain(claim.reason)}".strip()
        for entry in chapters
        for number, claim in enumerate(entry.claims, 1)
        if claim.verdict is verdict
    ]


def closed(text: str) -> str:
    """Return a plain text that ends with a full stop."""
    return plain(text) + ("" if text.rstrip().endswith((".", "?", "!")) else ".")


def plain(text: str) -> str:
    """Return a text on one line, with the special characters of Markdown escaped."""
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
