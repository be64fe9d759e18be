"""Fitted unions in the model files and pickles of gasg21 0.2.0 and before, which held the parts as Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.samples import Array

Tree = dict[str, Any]


def union_of_tree(published: Tree) -> _core.Union:
    """Return the union behind the tree of a `PublishedUnion`, before anything in it was made an object.

    It has the precision of its stream, which moves the bases.
    """
    bases, coordinates = published["bases"], published["coordinates"]
    dtype = bases[0].dtype
    subspaces = [np.ascontiguousarray(U, dtype) for U in published["subspaces"]]
    make = _core.Union32 if dtype == np.float32 else _core.Union64
    lift, whitening = _lift(coordinates["lift"], dtype), _whitening(coordinates["whitening"])
    return make(subspaces, bases, lift, whitening, float(published["split"]["cut"]))


def _lift(tree: Tree | None, dtype: np.dtype[Any]) -> tuple[Array, float] | None:
    """Return the lift of a `UnionLift`."""
    return None if tree is None else (tree["centre"].astype(dtype), float(tree["constant"]))


def _whitening(tree: Tree | None) -> tuple[Array, Array, tuple[Array, float, float] | None] | None:
    """Return the whitening of a `Whitening`, with its `Screening`."""
    if tree is None:
        return None
    screening = tree["screening"]
    if screening is not None:
        overall = screening["overall"]  # a `OneSubspace`: outliers score below its offset
        screening = overall["components"], float(overall["estimated_angle"]), -float(overall["offset"])
    return tree["directions"], tree["spread"], screening


def to_root(tree: Tree) -> Tree:
    """Return the tree of a file with the published union at its root, where a C++ program finds it."""
    published = _published(tree)
    if published is None:
        return tree
    union, kept = published["union"], {name: value for name, value in published.items() if name != "union"}
    return tree | {"union": union, "attributes": tree["attributes"] | {"_published": kept}}


def from_root(tree: Tree) -> Tree:
    """Return the tree of a file with its union where `PublishedUnion` holds it; made of its parts in an older file."""
    published = _published(tree)
    if published is None:
        return tree
    union = tree["union"] if "union" in tree else union_of_tree(published)
    kept = {name: value for name, value in published.items() if name not in _PARTS}
    attributes = {name: value for name, value in tree["attributes"].items() if name != "_selection"}  # of older files
    attributes["_published"] = kept | {"union": union}
    return {name: value for name, value in tree.items() if name != "union"} | {"attributes": attributes}


_PARTS = ("subspaces", "bases", "coordinates", "split", "dtype")  # of the union, in older files


def _published(tree: Tree) -> Tree | None:
    """Return the tree of the `PublishedUnion`; None before a fit."""
    found: Tree | None = tree["attributes"].get("_published")
    return found
