"""An experiment that takes no time, for the tests of the code that runs and reports experiments."""

from types import SimpleNamespace

from matplotlib.figure import Figure

from benchmarks.framework.experiment import Claim, Table, Verdict

DOCSTRING = """It shows <nothing> & takes no time.

The setting of the paper, `metric="canonical"`, is larger than
ours.
"""


def run(context):
    context.say("half of it")
    return {"curve": [10.0**-i for i in range(5)], "seeds": [context.seed(i) for i in range(context.seeds)]}


def claims(results):
    return [
        Claim("The angle falls & falls", "below 1e-3", f"{results['curve'][-1]:.0e}", Verdict.HOLDS),
        Claim("It is <100 times faster", "100", "7", Verdict.FAILS, "the other is fast, too"),
        Claim("The image shows it", "unknown", "unknown", Verdict.UNCHECKED, "the image is not available"),
    ]


def figures(results):
    wide, plain = Figure(figsize=(10, 4)), Figure(figsize=(5, 4))
    for figure in (wide, plain):
        axes = figure.subplots()
        axes.semilogy(results["curve"])
        axes.set(title="(a) easy", xlabel="vectors", ylabel="angle")
    plain.set_label('A caption with "quotes".')
    return {"fake-wide": wide, "fake-plain": plain}


def tables(results):
    columns = ["Q", *(f"{method}, {kind}" for method in ("LBF", "LRR", "K-GASG21") for kind in ("paper", "ours"))]
    return [Table("Angles", columns, [[q, 0.1234567, None, 12345.0, 1e-9, "none", 3.0] for q in range(4)], "A note.")]


def fake(name="fake", label="fig:convergence", **changes):
    """Return an experiment with these changes."""
    entries = {
        **{"__name__": f"experiments.{name}", "__doc__": DOCSTRING, "__file__": __file__},
        **{"LABELS": (label,), "TITLE": f"The title of {name}", "DATA": (), "SEEDS": 5, "SETTINGS": {"n": 20}},
        **{"run": run, "claims": claims, "figures": figures, "tables": tables},
    }
    return SimpleNamespace(**(entries | changes))
