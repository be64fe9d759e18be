"""The layers of docs/architecture.md hold: a file uses only its own layer and those below.

The files are read as text, never imported, so a broken import cannot hide a broken layer.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "cpp" / "include" / "gasg21"
PACKAGE = ROOT / "python" / "gasg21"

# From the bottom to the top. A name is a folder, or a file without its ending.
CPP_LAYERS = [
    {"support"},
    {"kernels"},
    {"geometry"},
    {"data"},
    {"basis"},
    {"fit"},
    {"polish"},
    {"inliers"},
    {"seeding"},
    {"stream"},
    {"step_size", "loss", "metric", "tracker", "k_subspaces"},
    {"recovery"},
    {"union"},
    {"saving"},
    {"model_file"},
    {"recover", "recover_union"},
    {"gasg21"},
]
PYTHON_LAYERS = [
    {"_core"},
    {"exceptions"},
    {"_support"},
    {"_readers"},
    {"step_size"},
    {"_data"},
    {"metrics", "datasets"},
    {"_algorithms"},
    {"_estimators"},
    {"baselines", "blocks", "plotting", "_dask"},
    {"__init__"},
    {"dask"},
    {"demo"},
    {"cli"},
    {"__main__"},
]

# Headers without a test file of their own name: the file that tests them, and why.
TESTED_ELSEWHERE = {
    "gasg21": ("test_plain_armadillo", "the umbrella holds nothing but includes"),
    "support/config": ("test_error", "includes Armadillo with our settings"),
    "support/required_compiler": ("test_error", "preprocessor only: test_compiler_flags.py compiles with bad flags"),
    "support/index": ("test_plain_kernels", "one alias"),
    "support/aligned": ("test_tracked_basis_kernels", "an allocator: every kernel test relies on it"),
    "basis/row_major_basis": ("test_tracked_fit", "the copy of a tracked basis for few observed entries"),
    "basis/tracked_basis": ("test_tracked_basis_kernels", "the kernels move it, per instruction set"),
    "data/held_out": ("test_observation", "seen only through the observations that leave entries out"),
    "fit/assign": ("test_subspace_bank", "the bank assigns; this runs it over all samples"),
    "fit/fixed_fit": ("test_least_squares", "compared with the plain least-squares fit"),
    "geometry/inverse_iteration": ("test_symmetric_eigen", "finds some of the vectors there"),
    "geometry/tridiagonal": ("test_symmetric_eigen", "the first half of each decomposition"),
    "inliers/evidence": ("test_subspace", "a struct, and the look at the data that fills it"),
    "inliers/prior_em": ("test_weight_prior", "the loop behind the law of the weights"),
    "polish/leading": ("test_round", "the directions that a round keeps"),
    "polish/sample_fits": ("test_polisher", "the first of the three parts of one pass"),
    "polish/secant": ("test_polisher", "the last part of one pass"),
    "polish/standard_error": ("test_polisher", "the polisher publishes it"),
    "polish/tyler_scatter": ("test_polisher", "the second of the three parts of one pass"),
    "recovery/doubts": ("test_recover", "two structs together"),
    "recovery/options": ("test_recover", "structs: how a fit is to go"),
    "recovery/fit_state": ("test_recover", "the state of a fit, and how the tracker goes on"),
    "recovery/recoverer": ("test_recover", "the class that recover runs"),
    "recovery/report": ("test_recover", "structs: the records and the status of a fit"),
    "recovery/start": ("test_fit", "the lift and the tracker that a fit starts with"),
    "saving/codec": ("test_model_file", "the values of the fields that the files of streams hold"),
    "saving/fields": ("test_model_file", "how structs become fields, which all states there do"),
    "saving/file": ("test_model_file", "writes and reads the files"),
    "saving/inlier_fields": ("test_model_file", "saved and loaded with the streams there"),
    "saving/rule_fields": ("test_model_file", "saved and loaded with the streams there"),
    "saving/stream_fields": ("test_model_file", "the fields of all states, saved and loaded there"),
    "saving/streams": ("test_model_file", "streams as values, saved and loaded there"),
    "saving/union_fields": ("test_model_file", "unions, saved and loaded there"),
    "saving/value": ("test_encoding", "a tree that the encoding turns into bytes"),
    "seeding/repair": ("test_k_polisher", "repairs what the polish of K subspaces has missed"),
    "seeding/seed_samples": ("test_candidates", "the candidates start from them"),
    "seeding/selection": ("test_candidates", "selects among the candidates"),
    "union/fit_one_subspace": ("test_one_subspace", "makes the subspaces there"),
    "union/fit_screening": ("test_screening", "makes the screenings there, and the whitenings of test_whitening"),
    "union/neighbours": ("test_screening", "the second way to leave samples out"),
    "union/search": ("test_union_fit", "the search of the fits there"),
    "union/working_samples": ("test_union_fit", "the samples that the search looks at"),
    "union/one_run": ("test_recover_union", "the run that recover_union begins with"),
    "union/options": ("test_recover_union", "structs: how a fit of a union is to go"),
    "union/own_subspaces": ("test_union", "what the union asks of single subspaces"),
    "union/union_coordinates": ("test_union", "the lift and the whitening of the union, together"),
}
MODULES_TESTED_ELSEWHERE = {
    "exceptions": ("test_faults", "each exception where it is raised"),
    "demo": ("test_cli", "the command that runs it"),
}


def read(path):
    return path.read_text(encoding="utf-8")


def assert_none(complaints):
    """Fail with all complaints, which pytest would cut short."""
    assert not complaints, "\n" + "\n".join(complaints)


def ranks(layers):
    """Return the height of each name."""
    return {name: height for height, names in enumerate(layers) for name in names}


# ---- the C++ headers


def included(text):
    """Return the headers of the library that a text includes, `GASG21_KERNELS` among them."""
    return re.findall(r'^\s*#\s*(?:include|define\s+GASG21_KERNELS)\s+[<"]gasg21/([\w/]+)\.hpp[>"]', text, re.M)


def header_graph(root=HEADERS):
    """Return the headers, without their ending, and what each includes."""
    found = {path.relative_to(root).with_suffix("").as_posix(): included(read(path)) for path in root.rglob("*.hpp")}
    return {name: [other for other in uses if other != "version"] for name, uses in found.items()}


def python_graph(root=PACKAGE):
    """Return the modules of the package, dots for folders, and what each imports."""
    paths = {module_name(path, root): path for path in root.rglob("*.py")}
    modules = {*paths, "_core"}
    return {name: sorted(imported(path, name, modules)) for name, path in paths.items()}


def module_name(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imported(path, name, modules):
    """Return the modules of the package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.Import):
            yield from (resolved(alias.name, modules) for alias in node.names if alias.name.split(".")[0] == "gasg21")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports by a relative path; write it in full"
            if node.module.split(".")[0] == "gasg21":
                yield from (resolved(f"{node.module}.{alias.name}", modules) for alias in node.names)


def resolved(full, modules):
    """Return the module behind a dotted name: the longest part of it that is a file."""
    parts = full.split(".")[1:]
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in modules:
            return ".".join(parts[:end])
    return "__init__"


def upward(graph, layers, separator):
    """Return who uses what above it, in words."""
    height = ranks(layers)
    unknown = {name.split(separator)[0] for name in graph} - set(height)
    assert not unknown, f"no layer is given for {sorted(unknown)}: name it in this file and in docs/architecture.md"
    return [
        f"{name} uses {other}, which is above it"
        for name, uses in graph.items()
        for other in uses
        if height[other.split(separator)[0]] > height[name.split(separator)[0]]
    ]


def cycle(graph):
    """Return the names along a cycle, or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            path.append(name)
            for other in graph.get(name, []):
                found = visit(other)
                if found:
                    return found
            path.pop()
            done.add(name)
        return None

    return next(filter(None, map(visit, graph)), None)


def test_headers_include_only_what_is_below():
    assert_none(upward(header_graph(), CPP_LAYERS, "/"))


def test_modules_import_only_what_is_below():
    assert_none(upward(python_graph(), PYTHON_LAYERS, "."))


@pytest.mark.parametrize("graph", [header_graph, python_graph])
def test_there_is_no_cycle(graph):
    assert cycle(graph()) is None


def test_every_include_is_a_file():
    headers = header_graph()
    assert [(name, other) for name, uses in headers.items() for other in uses if other not in headers] == []


def outside_kernels():
    """Return all C++ files but those of kernels/, and of the compiled kernel library."""
    files = (path for folder in ("cpp", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.[ch]pp"))
    return [path for path in files if "kernels" not in path.relative_to(ROOT).parts]


def test_nothing_outside_kernels_includes_their_insides():
    assert len(outside_kernels()) > 50
    found = {path.relative_to(ROOT).as_posix(): included(read(path)) for path in outside_kernels()}
    assert [name for name, uses in found.items() if any(use.startswith("kernels/impl/") for use in uses)] == []


def compiled_per_set():
    """Return the files that are compiled once per instruction set: GASG21_KERNELS names them, or one of them does."""
    sources = [*HEADERS.rglob("*.hpp"), *(ROOT / "cpp").glob("kernels*/*.cpp")]
    found, graph = set(), header_graph()
    waiting = [name for path in sources for name in re.findall(r'GASG21_KERNELS "gasg21/(.+)\.hpp"', read(path))]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def test_files_compiled_per_instruction_set_include_only_each_other():
    """Functions of any other header would get the instructions of the set, and the linker may choose that copy."""
    names = compiled_per_set()
    assert len(names) > 5
    assert [name for name in names if not name.startswith("kernels/impl/")] == []
    texts = {name: read(HEADERS / f"{name}.hpp") for name in names}
    assert [name for name, text in texts.items() if re.search(r"#\s*include (?!\"gasg21/kernels/impl/)", text)] == []


@pytest.mark.parametrize("folder", ["cpp/include", "cpp/example", "tests/cpp"])
def test_only_the_bindings_know_python(folder):
    files = (ROOT / folder).rglob("*.[ch]pp")
    assert [str(path) for path in files if re.search(r"#\s*include\s*[<\"](pybind11|Python)", read(path))] == []


# ---- every public file has its test


@cache
def files_of_tests(folder, ending):
    return frozenset(path.stem for path in (ROOT / "tests" / folder).glob(f"test_*.{ending}"))


files_of_tests.__test__ = False


def untested(names, elsewhere, files):
    """Return which names have no test file, and which exceptions are stale, in words."""
    last = {name: "test_" + re.split(r"[/.]", name)[-1] for name in names}
    missing = [f"{name} has no {last[name]}" for name in names if last[name] not in files and name not in elsewhere]
    gone = [f"{name} is an exception but does not exist" for name in elsewhere if name not in last]
    needless = [f"{name} is an exception but has {last[name]}" for name in elsewhere if last.get(name) in files]
    absent = [f"{name}: {where} does not exist" for name, (where, _) in elsewhere.items() if where not in files]
    return missing + gone + needless + absent


def test_every_header_has_its_test():
    names = [name for name in header_graph() if not name.startswith("kernels/")]
    assert_none(untested(names, TESTED_ELSEWHERE, files_of_tests("cpp", "cpp")))


def test_every_public_module_has_its_test():
    names = [name for name in python_graph() if "." not in name and not name.startswith("_")]
    assert_none(untested(names, MODULES_TESTED_ELSEWHERE, files_of_tests("python", "py")))


# ---- the documentation names files that exist


def missing_files(text, paths):
    """Return the files in backquotes that are the end of no path; NAME stands for any name."""
    named = set(re.findall(r"`([\w./]*\w+\.(?:hpp|cpp|pyi?|md|json|css|txt))[`:]", text))
    return [
        name
        for name in sorted(named)
        if "NAME" not in name and not any(f"/{path}".endswith(f"/{name}") for path in paths)
    ]


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_the_guides_name_files_that_exist(page):
    folders = ("cpp", "python", "tests", "benchmarks", "scripts", "docs")
    paths = [path.relative_to(ROOT).as_posix() for folder in folders for path in (ROOT / folder).rglob("*.*")]
    paths += [path.name for path in ROOT.glob("*.*")]
    assert_none(missing_files(read(ROOT / page), paths))


def unknown_headers(opening, headers):
    """Return the headers that a comment names and that do not exist; a second one may go without its folder."""
    return [
        name
        for name in re.findall(r"[\w/]+\.hpp", opening)
        if not any(f"/{path}".endswith(f"/{name}") for path in headers)
    ]


def test_the_cpp_tests_open_with_headers_that_exist():
    headers = [path.relative_to(HEADERS).as_posix() for path in HEADERS.rglob("*.hpp")]
    for path in (ROOT / "tests" / "cpp").glob("test_*.cpp"):
        assert unknown_headers(re.match(r"(//.*\n)+", read(path))[0], headers) == [], path.name
    assert unknown_headers("// bank.hpp and fit/projector.hpp", headers) == ["bank.hpp"]


# ---- this file can fail


def written(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_an_upward_include_is_found(tmp_path):
    files = {"support/error.hpp": '#include "gasg21/fit/projector.hpp"\n', "fit/projector.hpp": ""}
    graph = header_graph(written(tmp_path, files))
    assert upward(graph, CPP_LAYERS, "/") == ["support/error uses fit/projector, which is above it"]


def test_a_new_folder_needs_a_layer(tmp_path):
    with pytest.raises(AssertionError, match="no layer is given for \\['extras'\\]"):
        upward(header_graph(written(tmp_path, {"extras/a.hpp": ""})), CPP_LAYERS, "/")


def test_an_upward_import_is_found_wherever_it_stands(tmp_path):
    files = {
        "__init__.py": "from gasg21._estimators.gasg21 import GASG21\n",
        "_estimators/gasg21.py": "from gasg21 import _core, step_size\n",
        "step_size.py": "def late():\n    from gasg21 import GASG21\n    import gasg21._estimators.gasg21\n",
    }
    graph = python_graph(written(tmp_path, files))
    assert graph["_estimators.gasg21"] == ["_core", "step_size"]
    assert upward(graph, PYTHON_LAYERS, ".") == [
        "step_size uses __init__, which is above it",
        "step_size uses _estimators.gasg21, which is above it",
    ]


def test_a_cycle_is_found():
    assert cycle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert cycle({"a": ["b", "c"], "b": ["c"], "c": []}) is None


def test_missing_tests_and_stale_exceptions_are_found():
    elsewhere = {"b": ("test_c", ""), "gone": ("test_c", ""), "c": ("test_absent", "")}
    assert untested(["fit/a", "b", "c"], elsewhere, {"test_c"}) == [
        "fit/a has no test_a",
        "gone is an exception but does not exist",
        "c is an exception but has test_c",
        "c: test_absent does not exist",
    ]


def test_a_file_that_is_gone_is_found():
    text = "`fit/a.hpp` and `b.py`, and `c/NAME.hpp`, and `gone.hpp`, and `it/a.hpp`"
    assert missing_files(text, ["cpp/fit/a.hpp", "b.py"]) == ["gone.hpp", "it/a.hpp"]
