"""The report as HTML; everything that is text goes through `escape`."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.framework import records
from benchmarks.framework.catalogue import places_of
from benchmarks.framework.experiment import Cell, Claim, Table, Verdict
from benchmarks.framework.text import SIGNS, cell, duration

if TYPE_CHECKING:
    from benchmarks.framework.report import Chapter, Picture

STYLE = Path(__file__).with_name("report.css")
CLASSES = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.UNCHECKED: "unchecked"}
TITLE = "The GASG21 paper, remade"


def render(chapters: list[Chapter]) -> str:
    """Return the whole page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{TITLE}</title>
<link rel="icon" href="data:,">
<style>
{STYLE.read_text()}</style>
</head>
<body>
<header>
<h1>{TITLE}</h1>
<p>Every figure and table, and the claims about them, of J. He and Y. Zhang, “Adaptive Stochastic Gradient Descent on the Grassmannian for
Robust Low-Rank Subspace Recovery and Clustering” (arXiv:1412.4044), run again. <em>Paper mode</em> is the paper's
algorithm (<code>scaling=False, polish=False</code>, of K subspaces also <code>init="farthest"</code>), <em>scaled</em> the defaults of gasg21.</p>
{notice(chapters)}
</header>
<main>
{overview(chapters)}
{"".join(section(entry) for entry in chapters)}
</main>
</body>
</html>
"""


def notice(chapters: list[Chapter]) -> str:
    """Return a warning where results are of a quick run or of a tree with changes."""
    done = [entry.record for entry in chapters if entry.record and not entry.problem]
    texts = []
    if any(record["quick"] for record in done):
        texts.append(
            "From a quick run: small problems and few seeds. The numbers are not to be held against the paper's."
        )
    if len({record["commit"] for record in done}) > 1:
        texts.append("The results are from more than one commit; each says which.")
    return "".join(f'<p class="notice">{text}</p>\n' for text in texts)


def overview(chapters: list[Chapter]) -> str:
    """Return the counts of the verdicts, the experiments with theirs, and all claims."""
    claims = [claim for entry in chapters for claim in entry.claims]
    counts = "".join(f"<li><b>{count(claims, verdict)}</b> {verdict_text(verdict)}</li>" for verdict in Verdict)
    groups = "".join(
        f'<tr class="group"><th colspan="4">{link(entry)}</th></tr>\n'
        + "".join(claim_row(claim, with_reason=False) for claim in entry.claims)
        for entry in chapters
        if entry.claims
    )
    return f"""<h2>Summary</h2>
<ul class="counts">{counts}</ul>
{contents(chapters)}
<h2 id="claims">All claims</h2>
<p>What the paper says, judged in paper mode and, where it is marked so, for the defaults of gasg21.</p>
<div class="summary">{claims_table(groups)}</div>
"""


def contents(chapters: list[Chapter]) -> str:
    """Return a table of the experiments: how many claims hold, or why it was not run."""
    rows = []
    for entry in chapters:
        problem = f'<span class="reason">{escape(entry.problem)}</span>' if entry.problem else ""
        numbers = ["-" if entry.problem else count(entry.claims, verdict) for verdict in Verdict]
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        rows.append(f"<tr><td>{places_of(entry.experiment)}</td><td>{link(entry)}{problem}</td>{cells}</tr>\n")
    verdicts = "".join(f'<th class="number">{verdict_text(verdict)}</th>' for verdict in Verdict)
    head = f"<thead><tr><th>in the paper</th><th>experiment</th>{verdicts}</tr></thead>"
    return f'<div class="box"><table class="numbers contents">{head}<tbody>\n{"".join(rows)}</tbody></table></div>'


def count(claims: list[Claim], verdict: Verdict) -> int:
    """Return how many claims have this verdict."""
    return sum(claim.verdict is verdict for claim in claims)


def link(entry: Chapter) -> str:
    """Return a link to an experiment's section."""
    return f'<a href="#{entry.name}">{escape(entry.name)}</a>'


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as sign and word; the colour only repeats them."""
    return f'<span class="verdict {CLASSES[verdict]}">{SIGNS[verdict]} <span>{escape(verdict.value)}</span></span>'


def claim_row(claim: Claim, with_reason: bool = True) -> str:
    """Return a claim as a row."""
    reason = f'<span class="reason">{escape(claim.reason)}</span>' if claim.reason and with_reason else ""
    return (
        f'<tr><td>{escape(claim.sentence)}</td><td data-name="paper">{escape(claim.paper)}</td>'
        f'<td data-name="ours">{escape(claim.ours or "-")}</td><td>{verdict_text(claim.verdict)}{reason}</td></tr>\n'
    )


def claims_table(rows: str) -> str:
    """Return the table round rows of claims."""
    head = "<thead><tr><th>claim</th><th>paper</th><th>ours</th><th>verdict</th></tr></thead>"
    return f'<div class="box"><table class="claims">{head}<tbody>\n{rows}</tbody></table></div>'


def section(entry: Chapter) -> str:
    """Return all of one experiment."""
    experiment = entry.experiment
    shows, _, more = experiment.__doc__.strip().partition("\n")
    paragraphs = "".join(f"<p>{prose(text.strip())}</p>\n" for text in more.split("\n\n") if text.strip())
    labels = ", ".join(f"<code>{escape(label)}</code>" for label in experiment.LABELS)
    body = f'<p class="notice">{escape(entry.problem[:1].upper() + entry.problem[1:])}</p>' if entry.problem else ""
    body += "".join(figure(image) for image in entry.pictures)
    body += "".join(numbers(table) for table in entry.tables)
    if entry.claims:
        body += f"<h3>Claims</h3>\n{claims_table(''.join(claim_row(claim) for claim in entry.claims))}\n"
    return f"""<section id="{entry.name}">
<h2>{escape(experiment.TITLE)}</h2>
<p class="soft">{places_of(experiment)} of the paper ({labels})</p>
<p><strong>{prose(shows)}</strong></p>
{paragraphs}{body}
{facts(entry)}
<p><a href="#claims">All claims</a></p>
</section>
"""


def prose(text: str) -> str:
    """Return a docstring's text, with what stands in backticks as code."""
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))


def figure(image: Picture) -> str:
    """Return a figure with its caption, as large as it was drawn."""
    size = f'width="{image.width}" height="{image.height}"'
    picture = f'<img src="{image.address}" {size} alt="{escape(image.alternative)}">'
    kind = ' class="wide"' if image.width > 700 else ""
    caption = f"<figcaption>{escape(image.caption)}</figcaption>"
    return f'<figure id="figure-{image.stem}"{kind}><div class="box">{picture}</div>{caption}</figure>\n'


def numbers(table: Table) -> str:
    """Return a table; a column of numbers is set to the right."""
    kinds = ["number" if all(is_number(row[i]) for row in table.rows) else "text" for i in range(len(table.columns))]
    head = "".join(f'<th class="{kind}">{escape(name)}</th>' for kind, name in zip(kinds, table.columns, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{escape(cell(value))}</td>' for kind, value in zip(kinds, row, strict=True))
        + "</tr>\n"
        for row in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>\n' if table.note else ""
    return (
        f"<h3>{escape(table.title)}</h3>\n"
        f'<div class="box"><table class="numbers"><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>\n{note}'
    )


def is_number(value: Cell) -> bool:
    """Tell whether a cell is a number, perhaps with a sign or a unit, or nothing in the place of one."""
    return not isinstance(value, str) or bool(re.match(r"[-<>≤≥~]?\s?\d.{0,8}$", value))


def facts(entry: Chapter) -> str:
    """Return settings, seeds, time, machine and the command to run it again."""
    lines = {"data needed": escape(", ".join(entry.experiment.DATA) or "none")}
    record = entry.record
    if record:
        settings = [escape(f"{name}: {value}") for name, value in record["settings"].items()]
        processor = f"{record['machine']['cpu']}, {record['machine']['cores']} cores, one thread used"
        versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
        lines |= {
            "settings": "<br>".join(settings),
            "seeds": f"{record['seeds']}{', quick' if record['quick'] else ''}",
            "took": duration(record["duration"]),
            "machine": escape(processor),
            "versions": escape(versions),
            "run on": f"{escape(record['date'][:10])}, commit <code>{escape(records.origin(record))}</code>",
        }
    options = " --quick" if record and record["quick"] else ""
    data = " --data DIRECTORY" if entry.experiment.DATA else ""
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>\n" for name, text in lines.items())
    return f"<h3>How it was run</h3>\n<dl>\n{items}</dl>\n<pre>python -m benchmarks {entry.name}{options}{data}</pre>"
