"""The report as HTML; all text goes through `escape`."""

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
TITLE = "The experiments of the GASG21 paper, repeated"


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
<p>All figures and tables, and the claims about them, of J. He and Y. Zhang, “Adaptive Stochastic Gradient Descent on the Grassmannian for
Robust Low-Rank Subspace Recovery and Clustering” (arXiv:1412.4044), repeated. <em>Paper mode</em> is the paper's
algorithm (<code>metric="canonical", polish=False</code>, for K subspaces also <code>init="farthest"</code>), <em>scaled</em> is the default of gasg21.</p>
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
    """Return a warning if results are from a quick run or from several commits."""
    done = [entry.record for entry in chapters if entry.record and not entry.problem]
    texts = []
    if any(record["quick"] for record in done):
        texts.append(
            "From a quick run: small problems and few seeds. Do not compare the numbers with those of the paper."
        )
    if len({record["commit"] for record in done}) > 1:
        texts.append("The results are from more than one commit; each experiment names its own.")
    return "".join(f'<p class="notice">{text}</p>\n' for text in texts)


def overview(chapters: list[Chapter]) -> str:
    """Return the number of each verdict, the experiments, and all claims."""
    claims = [claim for entry in chapters for claim in entry.claims]
    counts = "".join(f"<li><b>{count(claims, verdict)}</b> {verdict_text(verdict)}</li>" for verdict in Verdict)
    groups = "".join(
        f'<tr class="group"><th colspan="4">{link(entry)}</th></tr>\n'
        + "".join(claim_row(claim) for claim in entry.claims)
        for entry in chapters
        if entry.claims
    )
    return f"""<h2>Summary</h2>
<ul class="counts">{counts}</ul>
{contents(chapters)}
<h2 id="claims">All claims</h2>
<p>The claims of the paper, judged in paper mode and, where marked, for the defaults of gasg21.</p>
<div class="summary">{claims_table(groups)}</div>
"""


def contents(chapters: list[Chapter]) -> str:
    """Return a table of the experiments: the number of claims with each verdict, or why it was not run."""
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
    """Return the number of claims with this verdict."""
    return sum(claim.verdict is verdict for claim in claims)


def link(entry: Chapter) -> str:
    """Return a link to an experiment's section."""
    return f'<a href="#{entry.name}">{escape(entry.name)}</a>'


def verdict_text(verdict: Verdict) -> str:
    """Return a verdict as sign and word; the colour adds nothing to them."""
    return f'<span class="verdict {CLASSES[verdict]}">{SIGNS[verdict]} <span>{escape(verdict.value)}</span></span>'


def claim_row(claim: Claim, anchor: str = "") -> str:
    """Return a claim as a row; with an anchor, in the section of its experiment, also the reason."""
    reason = f'<span class="reason">{escape(claim.reason)}</span>' if claim.reason and anchor else ""
    name = f' id="{anchor}"' if anchor else ""
    return (
        f'<tr{name}><td>{escape(claim.sentence)}</td><td data-name="paper">{escape(claim.paper)}</td>'
        f'<td data-name="ours">{escape(claim.ours or "-")}</td><td>{verdict_text(claim.verdict)}{reason}</td></tr>\n'
    )


def claims_table(rows: str) -> str:
    """Return the table with these rows of claims."""
    head = "<thead><tr><th>claim</th><th>paper</th><th>ours</th><th>verdict</th></tr></thead>"
    return f'<div class="box"><table class="claims">{head}<tbody>\n{rows}</tbody></table></div>'


def section(entry: Chapter) -> str:
    """Return the section of one experiment."""
    experiment = entry.experiment
    shows, _, more = experiment.__doc__.strip().partition("\n")
    paragraphs = "".join(f"<p>{prose(text.strip())}</p>\n" for text in more.split("\n\n") if text.strip())
    labels = ", ".join(f"<code>{escape(label)}</code>" for label in experiment.LABELS)
    body = f'<p class="notice">{escape(entry.problem[:1].upper() + entry.problem[1:])}</p>' if entry.problem else ""
    body += "".join(figure(image) for image in entry.pictures)
    body += "".join(numbers(table) for table in entry.tables)
    if entry.claims:
        rows = "".join(claim_row(claim, f"{entry.name}-{number}") for number, claim in enumerate(entry.claims, 1))
        body += f"<h3>Claims</h3>\n{claims_table(rows)}\n"
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
    """Return the text of a docstring, with the parts in backticks as code."""
    return re.sub(r"(`+)(.+?)\1", r"<code>\2</code>", escape(text))


def figure(image: Picture) -> str:
    """Return a figure with its caption, in the size in which it was drawn."""
    size = f'width="{image.width}" height="{image.height}"'
    picture = f'<img src="{image.address}" {size} alt="{escape(image.alternative)}">'
    kind = ' class="wide"' if image.width > 700 else ""
    caption = f"<figcaption>{escape(image.caption)}</figcaption>"
    return f'<figure id="figure-{image.stem}"{kind}><div class="box">{picture}</div>{caption}</figure>\n'


def numbers(table: Table) -> str:
    """Return a table; columns of numbers are right-aligned."""
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
    """Return whether a cell is empty or a number, perhaps with a sign or a unit."""
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
