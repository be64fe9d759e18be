"""`save` and `load`: model files, and pickles made of the same bytes.

A file holds the name of the estimator, its parameters and its attributes. docs/model_file.md describes it.
"""

from __future__ import annotations

import os
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._support.guarded import Guarded, snapshot
from gasg21._support.pickling import restored
from gasg21._support.trees import from_tree, reading_tree, store, to_tree
from gasg21.exceptions import InvalidInputError, ModelFormatError

Self = TypeVar("Self", bound="Savable")
_estimators: dict[str, type[Savable]] = {}
_STREAMS = ("tracker", "stream")  # in a file at the top, where C++ finds them; in Python with an underscore


class Savable(Guarded):
    """Base of all estimators: files and pickles."""

    __slots__ = ()

    # Attributes that are made anew after loading.
    _transient: tuple[str, ...] = ()

    def __init_subclass__(cls, *, registered: bool = True, **kwargs: Any) -> None:
        """Let `load` find the estimators of gasg21, unless one is saved as another."""
        super().__init_subclass__(**kwargs)
        if registered and cls.__module__.startswith("gasg21."):
            _estimators[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model to a file that `gasg21.load` reads, and for streams also the C++ library.

        The file holds no code, and a checksum. It is there whole or not at all: until all of it is on the disk, what
        had the name before stays. A stream that is loaded goes on bit for bit. Another thread may go on with the
        model meanwhile; the file holds it at one moment.

        Parameters
        ----------
        path : str or path-like
            Name of the file. A file of that name is replaced.
        """
        if _estimators.get(type(self).__name__) is not type(self):
            msg = f"{type(self).__name__} cannot be saved: a model file holds the estimators of gasg21 only"
            raise InvalidInputError(msg)
        frozen = self._frozen()
        if not frozen._is_started():
            check_is_fitted(self)
        _core.write_file(path, _core.encode(frozen._to_file(strict=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (type(self), self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        frozen = self._frozen()
        tree = frozen._to_file(strict=False)
        names = frozen._parameter_names() - set(tree["parameters"])
        return {"model": _core.encode(tree), "others": {name: getattr(frozen, name) for name in names}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        with reading_tree():
            tree = _core.decode(state["model"])
            if tree["estimator"] != type(self).__name__:
                msg = f"the pickle holds a {tree['estimator']}, not a {type(self).__name__}"
                raise ModelFormatError(msg)
            parameters = {name: from_tree(value) for name, value in tree["parameters"].items()}
            others = state["others"] if "others" in state else _others_of_first_form(state, tree)
            fresh = type(self)(**parameters, **others)  # raises if one is unknown, or there twice
            attributes = self._attributes_of(tree)
        self._replace_attributes(vars(fresh) | attributes)

    def _frozen(self: Self) -> Self:
        """Return a copy whose attributes are all of the same moment and do not change any more."""
        return snapshot(self)

    def _is_started(self) -> bool:
        """Return whether there is something to save before the estimator is fitted."""
        return False

    def _parameter_names(self) -> frozenset[str]:
        return frozenset(type(self)._get_param_names())  # type: ignore[attr-defined]

    def _to_file(self, *, strict: bool) -> dict[str, Any]:
        """Return the tree of a file. Without `strict` parameters are left out that a file cannot hold."""
        names = self._parameter_names()
        parameters: dict[str, Any] = {}
        attributes: dict[str, Any] = {}
        streams: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name in self._transient:
                continue
            if name[1:] in _STREAMS and name[0] == "_":
                streams[name[1:]] = value
                continue
            try:
                (parameters if name in names else attributes)[name] = to_tree(value)
            except InvalidInputError as error:
                if strict or name not in names:
                    msg = f"{name}={value!r} cannot be saved: {error}"
                    raise InvalidInputError(msg) from error
        return {"estimator": type(self).__name__, "parameters": parameters, "attributes": attributes, **streams}

    @classmethod
    def _attributes_of(cls, tree: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes in a file; raise ModelFormatError if this class has others."""
        attributes = {name: from_tree(value) for name, value in tree["attributes"].items()}
        attributes |= {f"_{name}": tree[name] for name in _STREAMS if name in tree}
        for name in attributes:
            if not name.isidentifier() or callable(getattr(cls, name, None)) or name.startswith("__"):
                msg = f"{cls.__name__} has no attribute {name!r}"
                raise ModelFormatError(msg)
        cls._check_attributes(attributes)
        return attributes

    @classmethod
    def _check_attributes(cls, attributes: dict[str, Any]) -> None:
        """Raise ModelFormatError if attributes of a file have the wrong type."""

    @classmethod
    def _from_file(cls: type[Self], tree: dict[str, Any]) -> Self:
        model = cls(**{name: from_tree(value) for name, value in tree["parameters"].items()})
        model._replace_attributes(vars(model) | cls._attributes_of(tree))
        return model

    @classmethod
    def _from_core(cls: type[Self], tree: dict[str, Any]) -> Self:
        """Return an estimator for what a C++ program has saved: a stream, or a fitted union."""
        msg = f"a {cls.__name__} does not stream"
        raise ModelFormatError(msg)


def load(path: str | os.PathLike[str]) -> Any:
    """Return the model of a file that `save` has written, here or in a C++ program.

    Parameters
    ----------
    path : str or path-like
        Name of the file.

    Returns
    -------
    model : estimator
        Of the class that was saved. A tracker of a C++ program becomes the `GASG21`, `GROUSE` or `GRASTA` that has
        such a stream, a union a `KGASG21`.

    Raises
    ------
    ModelFormatError
        If it is not a model file, or was changed or damaged, or a newer version has written it.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import gasg21
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(500, 30, 2, outlier_fraction=0.2, random_state=0)
    >>> model = gasg21.GASG21(2, random_state=0).fit(data.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.gasg21")
    ...     model.save(path)
    ...     again = gasg21.load(path)
    >>> bool((again.predict(data.data) == model.predict(data.data)).all())
    True
    """
    tree = _core.decode(_core.read_file(path))
    with reading_tree():
        name = tree.get("estimator") or _estimator_of_stream(tree)
        if name not in _estimators:
            msg = f"the estimator {name!r} is unknown"
            raise ModelFormatError(msg)
        if "estimator" in tree:
            return _estimators[name]._from_file(tree)
        return _estimators[name]._from_core(tree)


def _estimator_of_stream(tree: dict[str, Any]) -> str:
    if "stream" in tree or "union" in tree:
        return "KGASG21"
    loss = _core.decode(tree["tracker"].__getstate__(), objects=False)["object"]["loss"]["type"]
    return {"L21Loss": "GASG21", "SquaredLoss": "GROUSE", "L1Loss": "GRASTA"}[loss]


def _others_of_first_form(state: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters outside the checksum. The first pickles had all of them there too."""
    pickled, stored = state["parameters"], tree["parameters"]
    for name, value in stored.items():
        if name not in pickled or _core.encode({"": to_tree(pickled[name])}) != _core.encode({"": value}):
            msg = f"the parameter {name} of this pickle was changed or damaged"
            raise ModelFormatError(msg)
    return {name: value for name, value in pickled.items() if name not in stored}


def _nested(tree: dict[str, Any]) -> Savable:
    return _estimators[tree["estimator"]]._from_file(tree)


# An estimator inside another one.
store(Savable, "estimator", lambda model: model._frozen()._to_file(strict=True), _nested)
