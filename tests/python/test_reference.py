"""Every public name has a page in the reference, described parameters and attributes, and an example that runs."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest

import gasg21
from gasg21.datasets import make_low_rank, make_union_of_subspaces

REFERENCE = Path(__file__).parents[2] / "docs" / "api" / "python.md"
NOT_FOR_IMPORT = {"cli", "demo"}  # behind the command line
THEIRS = {"get_metadata_routing", "get_params", "set_params", "set_output", "get_feature_names_out", "fit_transform"}


def public_modules():
    """The package and its public modules."""
    names = [m.name for m in pkgutil.iter_modules(gasg21.__path__) if not m.name.startswith("_")]
    yield gasg21
    for name in sorted(set(names) - NOT_FOR_IMPORT):
        try:
            yield importlib.import_module(f"gasg21.{name}")
        except ImportError as error:  # of an optional package, which the message names
            assert "pip install" in str(error)  # noqa: PT017


def public_names():
    """Name and object of everything in an ``__all__`` that is not a module or a constant."""
    for module in public_modules():
        for name in module.__all__:
            member = getattr(module, name)
            if callable(member):
                yield pytest.param(f"{module.__name__}.{name}", member, id=f"{module.__name__}.{name}")


def methods(cls):
    """The public methods that this package defines."""
    for name, member in inspect.getmembers(cls, callable):
        ours = (getattr(member, "__module__", "") or "").startswith("gasg21")
        if ours and not name.startswith("_") and name not in THEIRS and not name.endswith("_request"):
            yield name, member


def section(doc, title):
    """The text of one section of a docstring."""
    pattern = rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-{{3,}}\n|\Z)"
    found = re.search(pattern, inspect.cleandoc(doc or ""), re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def described(doc, title):
    """The names that a section describes, by a text below the name."""
    lines = section(doc, title).splitlines()
    names = set()
    for head, below in zip(lines, [*lines[1:], ""], strict=False):
        if re.match(r"[\w*]", head) and (below.startswith(" ") or "ignored" in head):
            names |= {name.strip(" *") for name in head.split(" : ")[0].split(",")}
    return names


def parameters(function):
    names = inspect.signature(function).parameters
    return {name for name in names if name not in ("self", "cls", "y") and not name.startswith("_")}


NAMES = list(public_names())
CLASSES = [p for p in NAMES if isinstance(p.values[1], type) and not issubclass(p.values[1], BaseException)]
ESTIMATORS = [p for p in CLASSES if hasattr(p.values[1], "fit") and "dask" not in p.values[0]]


@pytest.mark.parametrize(("name", "member"), NAMES)
def test_it_is_in_the_reference(name, member):
    assert re.search(rf"^ +{re.escape(name.removeprefix('gasg21.'))}$", REFERENCE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("name", "member"), NAMES)
def test_its_parameters_are_described(name, member):
    if isinstance(member, type) and issubclass(member, BaseException):
        pytest.skip("nobody makes one")
    results = dataclasses.is_dataclass(member) and not section(member.__doc__, "Parameters")
    assert parameters(member) == described(member.__doc__, "Attributes" if results else "Parameters") - {"y"}


@pytest.mark.parametrize(("name", "cls"), CLASSES)
def test_the_parameters_of_its_methods_are_described(name, cls):
    wrong = {m: parameters(f) ^ (described(f.__doc__, "Parameters") - {"y"}) for m, f in methods(cls)}
    assert {m: w for m, w in wrong.items() if w} == {}


@pytest.mark.parametrize(("name", "cls"), ESTIMATORS)
def test_its_fitted_attributes_are_described(name, cls):
    one = hasattr(cls, "inverse_transform") or "Imputer" in name
    one_subspace = make_low_rank(60, 8, 2, noise=0.01, random_state=0)
    X = one_subspace.data if one else make_union_of_subspaces(60, 8, 2, 2, random_state=0).data
    model = cls(n_components=2) if "n_components" in parameters(cls) else cls()
    model.set_params(**({"random_state": 0} if "random_state" in parameters(cls) else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(np.asarray(X))
    found = {a for a in dir(model) if re.fullmatch(r"[a-z]\w*[a-z]_", a)} - {"feature_names_in_"}
    found = {a for a in found if not callable(getattr(model, a, None))}
    assert found - described(cls.__doc__, "Attributes") == set()


@pytest.mark.parametrize(("name", "member"), NAMES)
def test_its_example_runs(name, member):
    matplotlib.use("Agg")
    if member.__module__.startswith("sklearn"):
        pytest.skip("scikit-learn documents it")
    examples = [t for t in doctest.DocTestFinder(recurse=False).find(member, name) if t.examples]
    assert examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in examples:
        runner.run(example)
    matplotlib.pyplot.close("all")
    assert runner.failures == 0
