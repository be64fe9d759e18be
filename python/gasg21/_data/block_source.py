"""Data in blocks: a list of parts that can be read again and again."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from gasg21._data.parameters import check_integer
from gasg21._readers.from_files import FromFiles
from gasg21._readers.stored import Parts
from gasg21.exceptions import InvalidInputError

Self = TypeVar("Self", bound="BlockSource")

N_SAMPLED = 20_000  # samples that a fit solves before it looks at all parts
MEMORY = 2**30  # bytes that a fit may use for parts and sample


class BlockSource(FromFiles):
    """A data set in parts, each small enough for memory: files, chunks, row groups, arrays.

    `gasg21.GASG21.fit` and `gasg21.KGASG21.fit` take it in place of an array, and so do `transform`,
    `score_samples`, `predict` and `complete`, which then yield one array per part.

    Make one of files with `from_zarr`, `from_hdf5`, `from_parquet`, `from_npy` or `from_csv`, of arrays or callables
    with `from_blocks`, or derive a class that sets the attributes and has `read`. Its objects must be picklable to be
    used by other processes, and `read` must be callable from several threads.

    Attributes
    ----------
    n_features : int
        Columns of every part.
    dtype : dtype
        float64 or float32, in which the parts are computed.
    lengths : list of int or None
        Rows of each part; None where they are not known before the part is read.
    feature_names : list of str or None
        Names of the columns, if the data has any.
    n_sampled : int
        Samples that a fit draws from all parts, and solves before it looks at all of them.
    memory : int
        Bytes that a fit may use for parts and sample. See `with_limits`.

    Examples
    --------
    >>> import numpy as np
    >>> from gasg21.blocks import BlockSource
    >>> BlockSource.from_blocks([np.zeros((100, 8)), np.ones((50, 8))])
    BlockSource(2 parts, 150 rows, 8 features, float64)
    """

    n_features: int
    dtype: np.dtype[Any]
    lengths: list[int | None]
    feature_names: list[str] | None = None
    n_sampled: int = N_SAMPLED
    memory: int = MEMORY

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self.lengths)

    def read(self, i: int) -> Any:
        """Return part i.

        Parameters
        ----------
        i : int
            Number of the part, from 0.

        Returns
        -------
        part : ndarray or CSR matrix of shape (n_rows, n_features), or a pair of an array and its mask
            The same data each time.
        """
        raise NotImplementedError

    def name(self, i: int) -> str:
        """Return how an error calls part i, such as a file or a chunk.

        Parameters
        ----------
        i : int
            Number of the part, from 0.
        """
        return f"part {i}"

    def only(self, i: int) -> BlockSource:
        """Return a source that can read part i, under the same number: what to send to another process.

        It is as small as the part allows. For a derived class it is the source itself.

        Parameters
        ----------
        i : int
            Number of the part, from 0.
        """
        return self

    def with_limits(self: Self, *, n_sampled: int | None = None, memory: float | None = None) -> Self:
        """Return the same data with other limits for a fit.

        Parameters
        ----------
        n_sampled : int, optional
            Samples that a fit draws and solves first. More make the start better and the fit of the sample slower.
        memory : float, optional
            Bytes for parts and sample, at least 2**24. With less memory a fit reads with fewer threads and draws fewer
            samples. One part at a time must fit, whatever the limit.
        """
        limited = copy.copy(self)
        if n_sampled is not None:
            limited.n_sampled = check_integer("n_sampled", n_sampled, 100)
        if memory is not None:
            if not isinstance(memory, numbers.Real) or not 2**24 <= memory < np.inf:
                msg = f"memory={memory!r} must be a number of bytes of at least 2**24 = {2**24}"
                raise InvalidInputError(msg)
            limited.memory = int(memory)
        return limited

    def __repr__(self) -> str:
        """Say how much data it is."""
        known = [length for length in self.lengths if length is not None]
        rows = f"{sum(known)} rows" if len(known) == len(self) else "an unknown number of rows"
        return f"BlockSource({len(self)} parts, {rows}, {self.n_features} features, {self.dtype})"

    @staticmethod
    def from_blocks(
        blocks: Sequence[Any | Callable[[], Any]], *, n_features: int | None = None, dtype: Any = None
    ) -> BlockSource:
        """Return a source of arrays, or of callables that load one part each.

        Parameters
        ----------
        blocks : sequence of array-like, CSR matrix, (array, mask) or callable
            The parts. A callable takes no argument and returns one of the others. It is called once per pass, so it
            must return the same data each time.
        n_features, dtype : optional
            Columns and dtype of the parts. By default the first part that has any decides; it is loaded if it is a
            callable.
        """
        return _Blocks(blocks, n_features, dtype)

    @classmethod
    def _of_parts(cls, parts: Parts, feature_names: list[str] | None) -> BlockSource:
        return _Stored(parts, feature_names)


class _Blocks(BlockSource):
    """Parts in memory, or behind callables."""

    def __init__(self, blocks: Sequence[Any], n_features: int | None, dtype: Any) -> None:
        if isinstance(blocks, np.ndarray) or sp.issparse(blocks) or not isinstance(blocks, Sequence):
            msg = f"blocks is a {type(blocks).__name__}; it must be a list of arrays or of callables that load one"
            raise InvalidInputError(msg)
        if not len(blocks):
            msg = "blocks is empty; it must have at least one part"
            raise InvalidInputError(msg)
        self._blocks = list(blocks)
        self.lengths = [None if callable(block) else _shape_of(block, i)[0] for i, block in enumerate(blocks)]
        if n_features is None or dtype is None:
            first = self._first()
            n_features = first.shape[1] if n_features is None else n_features
            dtype = computed_in(first.dtype) if dtype is None else dtype
        self.n_features = check_integer("n_features", n_features, 1)
        self.dtype = check_dtype(dtype)

    def read(self, i: int) -> Any:
        """Return part i."""
        block = self._blocks[i]
        return block() if callable(block) else block

    def only(self, i: int) -> BlockSource:
        """Return a source that can read part i."""
        return OnePart(self, i, self._blocks[i])

    def _first(self) -> Any:
        """Return the first part that has columns."""
        for i in range(len(self)):
            if self.lengths[i] == 0:
                continue
            part = self.read(i)
            shape = _shape_of(part, i)
            if shape[0] or len(self) == 1:
                data = part[0] if isinstance(part, tuple) else part
                return data if hasattr(data, "dtype") else np.asarray(data)
        msg = f"all {len(self)} parts are empty; n_features and dtype must be given"
        raise InvalidInputError(msg)


class _Stored(BlockSource):
    """Parts in files."""

    def __init__(self, found: Parts, feature_names: list[str] | None) -> None:
        self._parts = list(found.parts)
        self.n_features, self.dtype, self.feature_names = found.n_features, found.dtype, feature_names
        self.lengths = [part.length for part in self._parts]
        if not self._parts:
            msg = "the files hold no sample"
            raise InvalidInputError(msg)

    def read(self, i: int) -> Any:
        """Return part i."""
        return self._parts[i].read()

    def name(self, i: int) -> str:
        """Return the file, and which part of it."""
        return self._parts[i].name

    def only(self, i: int) -> BlockSource:
        """Return a source that can read part i."""
        return OnePart(self, i, self._parts[i].read)


class OnePart(BlockSource):
    """One part of a source, under its number there: what another process needs to work on it."""

    def __init__(self, source: BlockSource, i: int, block: Any) -> None:
        self.n_features, self.dtype, self.feature_names = source.n_features, source.dtype, source.feature_names
        self.lengths = {i: source.lengths[i]}  # type: ignore[assignment]
        self._name, self._block = source.name(i), block

    def holding(self, block: Any) -> OnePart:
        """Return the same part, of which only now is known what it holds."""
        other = copy.copy(self)
        other._block = block
        return other

    def read(self, i: int) -> Any:
        """Return the part."""
        return self._block() if callable(self._block) else self._block

    def name(self, i: int) -> str:
        """Return the name of the part."""
        return self._name


def computed_in(dtype: Any) -> np.dtype[Any]:
    """Return the dtype in which samples of a dtype are computed."""
    return np.dtype(np.float32 if np.dtype(dtype) == np.float32 else np.float64)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    """Refuse a dtype that is neither float64 nor float32."""
    for allowed in (np.dtype(np.float64), np.dtype(np.float32)):
        if _same_dtype(allowed, dtype):
            return allowed
    msg = f"dtype={dtype!r} must be float64 or float32"
    raise InvalidInputError(msg)


def _same_dtype(one: np.dtype[Any], other: Any) -> bool:
    try:
        return bool(one == np.dtype(other))
    except TypeError:
        return False


def _shape_of(part: Any, i: int) -> tuple[int, ...]:
    data = part[0] if isinstance(part, tuple) else part
    shape = data.shape if hasattr(data, "shape") else np.shape(data)
    if len(shape) != 2:
        msg = f"part {i} has shape {shape}; it must have two axes, samples and features"
        raise InvalidInputError(msg)
    return tuple(shape)
