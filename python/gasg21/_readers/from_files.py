"""`BlockSource.from_zarr` and its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from gasg21._readers.csv import csv_parts
from gasg21._readers.hdf5 import open_hdf5
from gasg21._readers.npy import open_npy
from gasg21._readers.parquet import parquet_parts
from gasg21._readers.stored import PART_BYTES, Parts, Paths, StoredArray, listed_paths, parts_of_arrays
from gasg21._readers.text import MISSING
from gasg21._readers.zarr import open_zarr
from gasg21.exceptions import InvalidInputError

Self = TypeVar("Self", bound="FromFiles")


class FromFiles:
    """Makes sources of files. The files are opened when a part is read, and must not change meanwhile."""

    @classmethod
    def _of_parts(cls: type[Self], parts: Parts, feature_names: list[str] | None) -> Self:
        raise NotImplementedError

    @classmethod
    def from_zarr(
        cls: type[Self],
        store: Any,
        *,
        mask: Any = None,
        storage_options: dict[str, Any] | None = None,
        missing_chunks: str = "raise",
        rows_per_part: int | None = None,
        bytes_per_part: int = PART_BYTES,
    ) -> Self:
        """Return a source of Zarr arrays, of format 2 or 3. Needs ``gasg21[zarr]``.

        Parameters
        ----------
        store : path, URL, zarr.Array, or a list of these
            The array of shape (n_samples, n_features), such as "data.zarr" or "data.zarr/group/name". Several arrays
            follow one another.
        mask : of the same form as `store`, optional
            A bool array of the same shape for each array, True = observed.
        storage_options : dict, optional
            Options of the file system behind a URL.
        missing_chunks : {"raise", "missing"}
            Zarr reads a chunk that is not in the store as the fill value, and does not store chunks that hold nothing
            else. "raise" refuses such an array, "missing" counts the entries of the chunk as missing and warns. A
            fill value of NaN means missing anyway; then it only warns.
        rows_per_part : int, optional
            Rows of a part. By default whole chunks of about `bytes_per_part`, one at least.
        bytes_per_part : int
            Size of a part in memory.
        """
        if missing_chunks not in ("raise", "missing"):
            msg = f"missing_chunks={missing_chunks!r} must be one of 'raise', 'missing'"
            raise InvalidInputError(msg)

        def opened(stores: Any) -> list[StoredArray]:
            each = stores if isinstance(stores, list | tuple) else [stores]
            return [open_zarr(store, "", storage_options, missing_chunks) for store in each]

        masks = None if mask is None else opened(mask)
        return cls._of_arrays(opened(store), masks, rows_per_part, bytes_per_part)

    @classmethod
    def from_hdf5(
        cls: type[Self],
        paths: Paths,
        dataset: str | None = None,
        *,
        mask: str | None = None,
        rows_per_part: int | None = None,
        bytes_per_part: int = PART_BYTES,
    ) -> Self:
        """Return a source of HDF5 datasets. Needs ``gasg21[hdf5]``.

        Parameters
        ----------
        paths : path, pattern, folder, or list of paths
            The files, which follow one another; a folder stands for its files in the order of their names.
        dataset : str, optional
            Name of the dataset of shape (n_samples, n_features). By default the only 2-d dataset of the file.
        mask : str, optional
            Name of a bool dataset of the same shape, True = observed.
        rows_per_part, bytes_per_part : int, optional
            As for `from_zarr`.
        """
        files = listed_paths(paths, (".h5", ".hdf5"), "HDF5")
        arrays = [open_hdf5(path, dataset) for path in files]
        masks = None if mask is None else [open_hdf5(path, mask) for path in files]
        return cls._of_arrays(arrays, masks, rows_per_part, bytes_per_part)

    @classmethod
    def from_npy(
        cls: type[Self],
        paths: Paths,
        *,
        mask: Paths | None = None,
        rows_per_part: int | None = None,
        bytes_per_part: int = PART_BYTES,
    ) -> Self:
        """Return a source of .npy files.

        Parameters
        ----------
        paths : path, pattern, folder, or list of paths
            The files, which follow one another; a folder stands for its files in the order of their names.
        mask : of the same form as `paths`, optional
            A file with a bool array of the same shape for each file, True = observed.
        rows_per_part, bytes_per_part : int, optional
            As for `from_zarr`. Files in Fortran order are read much faster as few large parts.
        """
        arrays = [open_npy(path) for path in listed_paths(paths, (".npy",), "npy")]
        masks = None if mask is None else [open_npy(path) for path in listed_paths(mask, (".npy",), "npy")]
        return cls._of_arrays(arrays, masks, rows_per_part, bytes_per_part)

    @classmethod
    def from_parquet(
        cls: type[Self],
        paths: Paths,
        *,
        columns: Sequence[str] | None = None,
        filesystem: Any = None,
        rows_per_part: int | None = None,
        bytes_per_part: int = PART_BYTES,
    ) -> Self:
        """Return a source of the row groups of Parquet files. Needs ``gasg21[parquet]``.

        Parameters
        ----------
        paths : path, pattern, folder, or list of paths
            The files, which follow one another; a folder stands for its files in the order of their names.
        columns : list of str, optional
            The columns to read, all of them by default. They must hold numbers; null is missing.
        filesystem : pyarrow or fsspec file system, optional
            Where `paths`, then a list, are.
        rows_per_part, bytes_per_part : int, optional
            Small row groups are joined to parts of this size. A row group is never divided.
        """
        _check_sizes(rows_per_part, bytes_per_part)
        if isinstance(columns, str):
            msg = f"columns={columns!r} must be a list of names"
            raise InvalidInputError(msg)
        files = listed_paths(paths, (".parquet", ".pq"), "Parquet") if filesystem is None else list(paths)
        options = None if filesystem is None else {"filesystem": filesystem}
        return cls._of_parts(*parquet_parts(files, columns, options, rows_per_part, bytes_per_part))

    @classmethod
    def from_csv(
        cls: type[Self],
        paths: Paths,
        *,
        columns: Sequence[str | int] | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        missing: Sequence[str] = MISSING,
        rows_per_part: int | None = None,
        bytes_per_part: int = PART_BYTES,
    ) -> Self:
        r"""Return a source of text files with a sample per line.

        The files are read once to count their lines. Each pass parses all numbers again, which takes much longer than
        to read them from Parquet: convert what you fit more than once.

        Parameters
        ----------
        paths : path, pattern, folder, or list of paths
            The files, which follow one another; a folder stands for its files in the order of their names.
        columns : list of str or int, optional
            The columns to read, by name or number; all of them by default. They must hold numbers.
        delimiter : str, optional
            What separates the fields; "\t" for tabs. By default the first lines decide.
        header : bool, optional
            Whether the first line names the columns. By default, if one of its fields is neither a number nor missing.
        missing : list of str
            Fields that mean missing. Numbers among them are compared as numbers.
        rows_per_part, bytes_per_part : int, optional
            Lines of a part, or else its size in the file.
        """
        _check_sizes(rows_per_part, bytes_per_part)
        files = listed_paths(paths, (".csv", ".tsv", ".txt"), "CSV")
        found = csv_parts(
            files,
            columns=columns,
            delimiter=delimiter,
            header=header,
            missing=missing,
            rows_per_part=rows_per_part,
            bytes_per_part=bytes_per_part,
        )
        return cls._of_parts(*found)

    @classmethod
    def _of_arrays(
        cls: type[Self],
        arrays: Sequence[StoredArray],
        masks: Sequence[StoredArray] | None,
        rows_per_part: int | None,
        bytes_per_part: int,
    ) -> Self:
        _check_sizes(rows_per_part, bytes_per_part)
        return cls._of_parts(parts_of_arrays(arrays, masks, rows_per_part, bytes_per_part), None)


def _check_sizes(rows_per_part: Any, bytes_per_part: Any) -> None:
    for name, value in (("rows_per_part", rows_per_part), ("bytes_per_part", bytes_per_part)):
        is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not is_whole and not (value is None and name == "rows_per_part"):
            msg = f"{name}={value!r} must be an integer of at least 1"
            raise InvalidInputError(msg)
