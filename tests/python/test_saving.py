"""Model files and pickles: what is loaded is what was saved, and nothing else is loaded."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import gasg21
from attacks.models import data_for, fingerprint, fitted, streaming
from gasg21 import GASG21, KGASG21, _core
from gasg21.exceptions import InvalidInputError, ModelFormatError, NotFittedError

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.gasg21"


@pytest.fixture(scope="module")
def models():
    return fitted()


def test_all_models_come_back(models, path):
    for model in models:
        model.save(path)
        loaded, unpickled = gasg21.load(path), pickle.loads(pickle.dumps(model))
        for again in (loaded, unpickled, copy.deepcopy(model)):
            assert type(again) is type(model)
            assert fingerprint(again) == fingerprint(model)
            X = data_for(model)
            for method in ("predict", "transform", "complete"):
                if hasattr(model, method):
                    np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize("number", range(len(streaming())))
def test_a_loaded_stream_goes_on_bit_for_bit(number, path):
    estimator, X = streaming()[number]
    whole, part = (clone(estimator).partial_fit(X[:90]) for _ in range(2))
    part.save(path)
    loaded = gasg21.load(path).partial_fit(X[90:])
    unpickled = pickle.loads(pickle.dumps(part)).partial_fit(X[90:])
    whole.partial_fit(X[90:])
    assert fingerprint(loaded) == fingerprint(unpickled) == fingerprint(whole)


def test_samples_that_wait_for_more_are_saved(path, rng):
    X = rng.standard_normal((40, 6)) + 3
    whole, part = (GASG21(2, center=True, random_state=0).partial_fit(X[:5]) for _ in range(2))
    part.save(path)
    assert fingerprint(gasg21.load(path).partial_fit(X[5:])) == fingerprint(whole.partial_fit(X[5:]))


@pytest.mark.parametrize(
    "parameters",
    [
        {"random_state": np.random.RandomState(3)},
        {"random_state": np.random.default_rng(3)},
        {"step_size": gasg21.step_size.AdaptiveStep(eta0=0.3)},
        {"init": np.eye(20)[:2]},
        {"n_components": np.int64(2), "tol": np.float32(1e-3)},
    ],
)
def test_parameters_come_back(parameters, path, models):
    X = data_for(models[0])
    model = GASG21(**{"n_components": 2, "random_state": 0, **parameters}).partial_fit(X)
    model.save(path)
    loaded = gasg21.load(path)
    for name in parameters:
        assert type(getattr(loaded, name)) is type(getattr(model, name))
    assert fingerprint(loaded) == fingerprint(model)
    again, as_before = loaded.fit(X), model.fit(X)
    assert again.components_.tobytes() == as_before.components_.tobytes()


def test_names_of_features_come_back(path, rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rng.standard_normal((30, 4)), columns=list("abcd"))
    GASG21(2, random_state=0).partial_fit(frame).save(path)
    assert gasg21.load(path).feature_names_in_.tolist() == list("abcd")


def test_what_cannot_be_saved_is_named(path, rng):
    with pytest.raises(NotFittedError):
        GASG21(2).save(path)
    model = GASG21(2, verbose=0, random_state=0).partial_fit(rng.standard_normal((30, 4)))
    with pytest.raises(InvalidInputError, match=r"tol=<object .* cannot be saved: a model file cannot hold a object"):
        model.set_params(tol=object()).save(path)

    class Own(GASG21):
        pass

    with pytest.raises(InvalidInputError, match="Own cannot be saved"):
        Own(2, random_state=0).partial_fit(rng.standard_normal((30, 4))).save(path)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"\x89GASG21\n", b"PK\x03\x04", b"\x80\x04\x95", b"\0" * 100])
def test_other_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFormatError):
        gasg21.load(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        gasg21.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        gasg21.load(tmp_path)


def test_a_newer_version_is_named(models, path):
    models[0].save(path)
    data = bytearray(path.read_bytes())
    data[8] = 2
    path.write_bytes(data)
    with pytest.raises(ModelFormatError, match="version 2 of the format; this gasg21 reads version 1"):
        gasg21.load(path)


def changed(tree, *keys, to):
    """Return a tree with another value at a place."""
    if not keys:
        return to
    return {**tree, keys[0]: changed(tree.get(keys[0]), *keys[1:], to=to)}


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("estimator",), "os.system"),
        (("estimator",), 3),
        (("parameters",), {"nonsense": 1}),
        (("attributes",), {}),
        (("attributes", "_published"), None),
        (("attributes", "_published", "subspace"), "no"),
        (("attributes", "_published", "counters"), 3),
        (("attributes", "n_features_in_"), 7),
        (("attributes", "fit"), 1),
        (("attributes", "__class__"), 1),
        (("attributes", "x"), {"class": "os.system", "value": "true"}),
        (("tracker",), 5),
    ],
)
def test_a_file_with_a_right_checksum_and_wrong_values_is_refused(keys, to, models, path):
    tree = models[0]._frozen()._to_file(strict=True)
    path.write_bytes(_core.encode(changed(tree, *keys, to=to)))
    with pytest.raises(ModelFormatError):
        gasg21.load(path)


@pytest.mark.parametrize(
    ("keys", "to"),
    [
        (("union",), None),
        (("union",), 3),
        (("union", "coordinates"), None),
        (("union", "coordinates", "lift"), None),
        (("union", "coordinates", "whitening"), None),
        (("union", "coordinates", "lift", "centre"), np.zeros(5)),
        (("union", "coordinates", "whitening", "spread"), np.ones(3)),
        (("union", "coordinates", "whitening", "screening"), 3),
        (("union", "split"), 0.5),
        (("union", "subspaces"), []),
        (("union", "type"), "Union32"),
        (("attributes", "_published", "report", "agreement"), "no"),
        (("attributes", "_published", "report", "selection"), "no"),
        (("stream",), 5),
        (("stream",), None),
    ],
)
def test_a_union_with_wrong_values_is_refused(keys, to, models, path):
    (affine,) = (model for model in models if isinstance(model, KGASG21) and model.center)
    tree = affine._frozen()._to_file(strict=True)
    tree |= _core.decode(_core.encode({"union": tree["union"]}), objects=False)
    path.write_bytes(_core.encode(tree))
    assert fingerprint(gasg21.load(path)) == fingerprint(affine)
    path.write_bytes(_core.encode(changed(tree, *keys, to=to)))
    with pytest.raises(ModelFormatError):
        gasg21.load(path)


def test_a_parameter_that_was_changed_in_a_pickle_is_noticed(models):
    state = models[0].__getstate__()
    assert state["others"] == {}  # all are under the checksum
    state["others"]["tol"] = 0.5
    with pytest.raises(ModelFormatError, match="multiple values for keyword argument 'tol'"):
        GASG21().__setstate__(state)


def test_a_parameter_that_was_changed_in_a_pickle_of_the_first_form_is_noticed(models):
    model = GASG21(2, random_state=0)
    state = {"parameters": model.get_params(), "model": model.__getstate__()["model"]}
    again = GASG21()
    again.__setstate__(state)
    assert again.get_params() == model.get_params()
    state["parameters"]["tol"] = 0.5
    with pytest.raises(ModelFormatError, match="the parameter tol of this pickle was changed"):
        GASG21().__setstate__(state)


class Unknown:
    """A parameter that a file cannot hold."""

    def __eq__(self, other):
        return isinstance(other, Unknown)

    __hash__ = None


def test_a_pickle_keeps_parameters_that_a_file_cannot_hold():
    again = pickle.loads(pickle.dumps(GASG21(2, tol=np.float32(0.25), init=Unknown())))
    assert again.init == Unknown()
    assert type(again.tol) is np.float32
    assert again.tol == 0.25


def test_a_pickle_that_ends_early_gives_no_estimator(models):
    data, model = pickle.dumps(models[0]), fingerprint(models[0])
    start = data.index(model)
    for k in [*range(start), *range(start + len(model), len(data))]:
        try:
            found = pickle.loads(data[:k] + b"." + data[k:])
        except Exception:
            continue
        assert not isinstance(found, GASG21) or fingerprint(found) == fingerprint(models[0])


def test_a_failed_save_leaves_the_old_file(models, path, tmp_path):
    models[0].save(path)
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        models[0].save(tmp_path / "none" / "model.gasg21")
    with pytest.raises(IsADirectoryError):
        models[0].save(tmp_path)
    if os.path.exists("/dev/null"):
        with pytest.raises(InvalidInputError, match="regular file"):
            models[0].save("/dev/null")
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_link_is_followed(models, path, tmp_path):
    models[0].save(path)
    link = tmp_path / "latest.gasg21"
    link.symlink_to(path)
    models[1].save(link)
    assert link.is_symlink()
    assert fingerprint(gasg21.load(path)) == fingerprint(models[1])


def test_nothing_of_a_file_is_imported_or_unpickled():
    """Loading needs neither pickle nor eval."""
    code = """
import sys, pickle, builtins
import gasg21
gasg21.load  # imports the package
def refuse(*_): raise AssertionError("called")
pickle.loads = pickle.load = builtins.eval = builtins.exec = refuse
gasg21.load(sys.argv[1])
"""
    name = DATA / "format-1" / "gasg21.gasg21"
    subprocess.run([sys.executable, "-c", code, str(name)], check=True)


# ---- files of earlier versions


@pytest.mark.parametrize("name", sorted(p.relative_to(DATA).as_posix() for p in DATA.glob("*/*.gasg21")))
def test_files_of_all_versions_are_loaded(name):
    sys.path.insert(0, str(DATA))
    try:
        from make_golden import X
    finally:
        sys.path.remove(str(DATA))
    file, pickled = gasg21.load(DATA / name), pickle.loads((DATA / name).with_suffix(".pickle").read_bytes())
    assert type(file) is type(pickled)
    assert fingerprint(file) == fingerprint(pickled)
    assert type(file).__name__.lower() in (Path(name).stem, "gasg21", "kgasg21", "subspaceimputer")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(file, "partial_fit"):
            file.partial_fit(X[:30])
            pickled.partial_fit(X[:30])
            assert fingerprint(file) == fingerprint(pickled)
        method = "transform"
        np.testing.assert_array_equal(getattr(file, method)(X), getattr(pickled, method)(X))
    spans = file.subspaces_ if isinstance(file, KGASG21) else [file.components_]
    assert all(np.abs(U @ U.T - np.eye(len(U))).max() < 1e-5 for U in spans)
