"""Claims and tables as plain text, and the format of numbers."""

from __future__ import annotations

import math
import textwrap

from benchmarks.framework.experiment import Cell, Claim, Table, Verdict

SIGNS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNCHECKED: "?"}


def cell(value: Cell) -> str:
    """Return a cell as text: numbers with three digits, an empty cell as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if 1000 <= abs(value) < 1e5 else f"{value:.3g}"
    return str(value)


def duration(seconds: float) -> str:
    """Return 0:02:31, or 4.2 s below a minute."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def grid(columns: list[str], rows: list[list[str]]) -> str:
    """Return rows under their headings, in aligned columns."""
    lines = [columns, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return "\n".join(
        "  ".join(entry.ljust(width) for entry, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def table_text(table: Table) -> str:
    """Return a table with its title and its note."""
    body = grid(table.columns, [[cell(value) for value in row] for row in table.rows])
    return "\n".join([table.title, textwrap.indent(body, "  "), *([f"  {table.note}"] if table.note else [])])


def claim_text(claim: Claim) -> str:
    """Return a claim, the value of the paper, ours and the verdict."""
    verdict = claim.verdict.value + (f": {claim.reason}" if claim.reason else "")
    facts = f"   paper: {claim.paper}\n   ours:  {claim.ours or '-'}\n   {verdict}"
    return f"{SIGNS[claim.verdict]}  {claim.sentence}\n{facts}"


def counts_text(claims: list[Claim]) -> str:
    """Return the number of claims that hold, do not hold, can't be checked."""
    counts = {verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict}
    words = {Verdict.HOLDS: "hold", Verdict.FAILS: "do not hold", Verdict.UNCHECKED: "can't be checked"}
    return f"{len(claims)} claims: " + ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items())
