"""Rows of HDF5 datasets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import check_two_dimensional
from gasg21._support.arrays import Array
from gasg21._support.optional import optional
from gasg21.exceptions import InvalidInputError


@dataclass(frozen=True)
class HDF5Array:
    """A dataset in an HDF5 file."""

    path: str
    dataset: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chunk_rows: int

    @property
    def name(self) -> str:
        """The dataset and its file."""
        return f"{self.dataset} in {self.path}"

    def rows(self, start: int, stop: int) -> Array:
        """Return some rows; refuse rows in chunks that were never written."""
        try:
            with _h5py().File(self.path, "r") as file:
                dataset = file[self.dataset]
                check_written(dataset, self.name, start, stop)
                return np.asarray(dataset[start:stop])
        except (OSError, KeyError) as error:
            msg = f"{self.name}: rows {start} to {stop - 1} cannot be read: {error}"
            raise InvalidInputError(msg) from error


def open_hdf5(path: str, dataset: str | None) -> HDF5Array:
    """Return a dataset of a file; None means its only 2-d dataset."""
    try:
        with _h5py().File(path, "r") as file:
            found = _only_dataset(file, path) if dataset is None else file[dataset]
            if not isinstance(found, _h5py().Dataset):
                msg = f"{dataset!r} in {path} is a group; dataset must name a 2-d dataset"
                raise InvalidInputError(msg)
            name = str(found.name)
            shape = check_two_dimensional(f"{name} in {path}", found.shape)
            chunk_rows = int(found.chunks[0]) if found.chunks else 1
            return HDF5Array(path, name, shape, found.dtype, chunk_rows)
    except (OSError, KeyError) as error:
        wanted = "" if dataset is None else f" with the dataset {dataset!r}"
        msg = f"{path} cannot be read as an HDF5 file{wanted}: {error}"
        raise InvalidInputError(msg) from error


def check_written(dataset: Any, name: str, start: int, stop: int) -> None:
    """Refuse rows that were never written, which HDF5 would read as its fill value. NaN is missing anyway."""
    if dataset.is_virtual:
        _check_virtual(dataset, name)
    elif np.isnan(dataset.fillvalue):
        return
    elif dataset.chunks is None:
        if not dataset.external and dataset.id.get_storage_size() < dataset.size * dataset.dtype.itemsize:
            msg = f"{name} was never written: HDF5 would read it as {dataset.fillvalue}"
            raise InvalidInputError(msg)
    else:
        high, wide = dataset.chunks
        for row in range(start // high * high, stop, high):
            for column in range(0, dataset.shape[1], wide):
                if dataset.id.get_chunk_info_by_coord((row, column)).byte_offset is None:
                    msg = (
                        f"chunk ({row // high}, {column // wide}) of {name} (rows {row} to {row + high - 1}) is "
                        f"missing: HDF5 would read it as {dataset.fillvalue}"
                    )
                    raise InvalidInputError(msg)


def _check_virtual(dataset: Any, name: str) -> None:
    folder = os.path.dirname(dataset.file.filename)
    for source in dataset.virtual_sources():
        if source.file_name != "." and not os.path.exists(os.path.join(folder, source.file_name)):
            msg = f"{name} is a virtual dataset, and its file {source.file_name} does not exist"
            raise InvalidInputError(msg)


def _only_dataset(file: Any, path: str) -> Any:
    found: list[Any] = []

    def visit(_: str, item: Any) -> None:
        if isinstance(item, _h5py().Dataset) and item.ndim == 2:
            found.append(item)

    file.visititems(visit)
    if len(found) != 1:
        names = ", ".join(item.name for item in found) or "none"
        msg = f"dataset=None needs a file with one 2-d dataset; {path} has {len(found)}: {names}"
        raise InvalidInputError(msg)
    return found[0]


def _h5py() -> Any:
    return optional("h5py", extra="hdf5", user="BlockSource.from_hdf5")
