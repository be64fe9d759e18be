"""Files as parts: every reader gives the array that was written, and names the part that is broken."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from gasg21._data.parts import Reading, read_part
from gasg21._readers import text as reading_text
from gasg21.blocks import BlockSource
from gasg21.exceptions import DataQualityWarning, InvalidInputError

NAMES = [f"f{j}" for j in range(6)]


@pytest.fixture
def X(rng):
    made = rng.standard_normal((1000, 6))
    made[rng.random(made.shape) < 0.2] = np.nan
    return made


def contents(source):
    """Return all parts as one array; each must have its promised length, and pickle."""
    source = pickle.loads(pickle.dumps(source))
    parts = [read_part(source, i, Reading()) for i in range(len(source))]
    assert [part.n_samples for part in parts] == source.lengths
    assert {part.dtype for part in parts} == {source.dtype}
    return np.concatenate([part.dense() for part in parts])


def refused(match):
    return pytest.raises(InvalidInputError, match=match)


# ---- writers, one for each format


def write_zarr(folder, X, **options):
    zarr = pytest.importorskip("zarr", minversion="3")
    path = str(folder / "x.zarr")
    array = zarr.create_array(path, shape=X.shape, dtype=X.dtype, **({"chunks": (100, 6)} | options))
    array[:] = X
    return path


def write_hdf5(folder, X, **options):
    h5py = pytest.importorskip("h5py")
    path = str(folder / "x.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, **({"chunks": (100, 6)} | options))
    return path


def write_npy(folder, X):
    path = str(folder / "x.npy")
    np.save(path, X)
    return path


def write_parquet(folder, X, names=NAMES, group=100, name="x.parquet"):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(folder / name)
    pq.write_table(
        pa.table({n: pa.array(X[:, j], from_pandas=True) for j, n in enumerate(names)}), path, row_group_size=group
    )
    return path


def write_csv(folder, X, name="x.csv", header=True, end="\n", delimiter=","):
    path = str(folder / name)
    lines = [delimiter.join(NAMES[: X.shape[1]])] if header else []
    lines += [delimiter.join("" if np.isnan(x) else repr(float(x)) for x in row) for row in X]
    with open(path, "w", newline="") as file:
        file.write(end.join(lines) + end)
    return path


FORMATS = {
    "zarr": (write_zarr, BlockSource.from_zarr),
    "hdf5": (write_hdf5, BlockSource.from_hdf5),
    "npy": (write_npy, BlockSource.from_npy),
    "parquet": (write_parquet, BlockSource.from_parquet),
    "csv": (write_csv, BlockSource.from_csv),
}


@pytest.fixture(params=FORMATS)
def written(request, tmp_path, X):
    """A file of each format, and its reader."""
    write, read = FORMATS[request.param]
    return write(tmp_path, X), read


# ---- all formats


def test_a_reader_gives_what_was_written(written, X):
    path, read = written
    source = read(path, rows_per_part=300)
    np.testing.assert_array_equal(contents(source), X)
    assert (source.n_features, source.dtype, source.lengths) == (6, np.float64, [300, 300, 300, 100])
    assert "x." in source.name(1)


def test_files_follow_one_another(written, X):
    path, read = written
    source = read([path, path], rows_per_part=1000)
    np.testing.assert_array_equal(contents(source), np.concatenate([X, X]))
    assert len(source) == 2


def test_an_absent_file_is_named(written):
    _, read = written
    with refused("absent"):
        read("absent")
    with refused("rows_per_part=0 must be an integer of at least 1"):
        read(written[0], rows_per_part=0)


def test_a_file_that_goes_away_is_named(written):
    path, read = written
    source = read(path, rows_per_part=300)
    os.rename(path, path + ".moved")
    with refused("x."):
        read_part(source, 2, Reading())


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy", "parquet"])
def test_single_precision_stays(kind, tmp_path, X):
    write, read = FORMATS[kind]
    source = read(write(tmp_path, X.astype(np.float32)))
    assert source.dtype == np.float32
    np.testing.assert_array_equal(contents(source), X.astype(np.float32))


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy", "parquet"])
def test_integers_become_float64(kind, tmp_path):
    write, read = FORMATS[kind]
    X = np.arange(1, 601).reshape(100, 6)
    source = read(write(tmp_path, X))
    assert source.dtype == np.float64
    np.testing.assert_array_equal(contents(source), X)


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy"])
def test_what_is_no_table_of_numbers_is_refused(kind, tmp_path):
    write, read = FORMATS[kind]
    options = {} if kind == "npy" else {"chunks": None} if kind == "hdf5" else {"chunks": (2, 3, 4)}
    with refused(r"shape \(2, 3, 4\); it must have two dimensions"):
        read(write(tmp_path, np.ones((2, 3, 4)), **options), **({"dataset": "x"} if kind == "hdf5" else {}))
    (tmp_path / "c").mkdir()
    options = {} if kind == "npy" else {"chunks": (2, 3)}
    with refused("complex128; it must hold real numbers"):
        read(write(tmp_path / "c", np.ones((2, 3), complex), **options))


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy"])
def test_other_widths_are_refused(kind, tmp_path):
    write, read = FORMATS[kind]
    for name, width in (("a", 6), ("b", 5)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, np.ones((100, width)), **({} if kind == "npy" else {"chunks": (50, width)}))
    files = [str(next((tmp_path / name).iterdir())) for name in "ab"]
    with refused(r"b.x\..* has 5 columns; it must have 6, as many as"):
        read(files)


@pytest.mark.parametrize("kind", ["zarr", "hdf5", "npy"])
def test_masks(kind, tmp_path, X, rng):
    write, read = FORMATS[kind]
    mask = rng.random(X.shape) < 0.5
    mask[:, 0] = True
    path = write(tmp_path, X)
    if kind == "hdf5":
        with pytest.importorskip("h5py").File(path, "a") as file:
            file["seen"], file["short"] = mask, mask[:5]
        good, bad = "seen", "short"
        source, wrong = read(path, "x", mask=good), lambda: read(path, "x", mask=bad)
    else:
        (tmp_path / "m").mkdir()
        seen = write(tmp_path / "m", mask)
        source, wrong = read(path, mask=seen), lambda: read(path, mask=path)
    np.testing.assert_array_equal(contents(source), np.where(mask, X, np.nan))
    with refused(r"mask .* it must have the shape \(1000, 6\) of .* and dtype bool"):
        wrong()


def test_an_infinity_is_found_in_its_part(written, tmp_path, X):
    path, _ = written
    write, read = FORMATS["csv" if path.endswith("csv") else path.rpartition(".")[2].replace("h5", "hdf5")]
    X = X.copy()
    X[250, 3] = np.inf
    (tmp_path / "again").mkdir()
    source = read(write(tmp_path / "again", X), rows_per_part=200)
    read_part(source, 0, Reading())
    with refused(r"(rows 200 to 399|row groups 2 to 3) of .*x.*: Input X contains infinity at row 50, column 3"):
        read_part(source, 1, Reading())


def test_parts_have_a_size_in_bytes_or_rows(tmp_path):
    X = np.ones((10_000, 8))
    path = write_npy(tmp_path, X)
    assert BlockSource.from_npy(path).lengths == [10_000]
    assert BlockSource.from_npy(path, bytes_per_part=64 * 3000).lengths == [3000, 3000, 3000, 1000]
    store = write_zarr(tmp_path, X, chunks=(900, 4))
    assert BlockSource.from_zarr(store, bytes_per_part=64 * 2000).lengths == [1800] * 5 + [1000]
    assert BlockSource.from_zarr(store, bytes_per_part=1).lengths[0] == 900  # a chunk is not divided
    assert BlockSource.from_zarr(store, rows_per_part=450).lengths[0] == 450  # unless asked for


def test_folders_and_patterns(tmp_path, X):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", X + i)
    (tmp_path / "_hidden").mkdir()
    np.save(tmp_path / "_hidden" / "9.npy", X)
    expected = np.concatenate([X, X + 1, X + 2])
    np.testing.assert_array_equal(contents(BlockSource.from_npy(tmp_path)), expected)
    np.testing.assert_array_equal(contents(BlockSource.from_npy(str(tmp_path / "?.npy"))), expected)
    with refused("holds no Parquet file"):
        BlockSource.from_parquet(tmp_path)
    with refused("an empty list"):
        BlockSource.from_npy([])


# ---- Zarr


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("chunks", [(100, 6), (70, 4)])
def test_zarr_formats_and_chunks(zarr_format, chunks, tmp_path, X):
    path = write_zarr(tmp_path, X, chunks=chunks, zarr_format=zarr_format)
    np.testing.assert_array_equal(contents(BlockSource.from_zarr(path)), X)
    key = {2: "3.1", 3: "c/3/1"}[zarr_format] if chunks[1] == 4 else {2: "3.0", 3: "c/3/0"}[zarr_format]
    source = BlockSource.from_zarr(path, rows_per_part=chunks[0])
    os.remove(os.path.join(path, key))
    first = 3 * chunks[0]
    said = rf"chunk 3\.{key[-1]} of .*x.zarr \(rows {first} to {first + chunks[0] - 1}\) is missing"
    with refused(said + ": Zarr would read it as 0.0"):
        BlockSource.from_zarr(path)
    with refused(said):  # it was there when the source was made
        source.read(3)
    np.testing.assert_array_equal(source.read(2), X[2 * chunks[0] : first])


def test_missing_chunks_can_count_as_missing(tmp_path, X):
    path = write_zarr(tmp_path, X)
    os.remove(os.path.join(path, "c/3/0"))
    with pytest.warns(DataQualityWarning, match="1 chunks of .* are missing; all their entries count as missing"):
        source = BlockSource.from_zarr(path, missing_chunks="missing", rows_per_part=250)
    expected = X.copy()
    expected[300:400] = np.nan
    np.testing.assert_array_equal(contents(source), expected)
    with refused("missing_chunks='zero' must be one of"):
        BlockSource.from_zarr(path, missing_chunks="zero")


def test_a_fill_value_of_nan_is_missing_anyway(tmp_path, X):
    X[200:300] = np.nan  # Zarr does not write this chunk
    path = write_zarr(tmp_path, X, fill_value=np.nan)
    with pytest.warns(DataQualityWarning, match="1 chunks"):
        source = BlockSource.from_zarr(path)
    np.testing.assert_array_equal(contents(source), X)


@pytest.mark.parametrize("kept", [0, 500, 600])
def test_shards_that_were_not_written_whole(kept, tmp_path, X):
    zarr = pytest.importorskip("zarr", minversion="3")
    path = str(tmp_path / "s.zarr")
    array = zarr.create_array(path, shape=X.shape, chunks=(100, 6), shards=(500, 6), dtype="f8")
    array[:] = X
    np.testing.assert_array_equal(contents(BlockSource.from_zarr(path)), X)
    array[kept:] = 0
    if kept == 600:  # the second shard is there, but holds one chunk only
        source = BlockSource.from_zarr(path, rows_per_part=500)
        with refused("chunk 1.0 of .*s.zarr .*is missing"):
            source.read(1)
    else:
        with refused(f"chunk {kept // 500}.0 of .*s.zarr"):
            BlockSource.from_zarr(path)


def test_a_damaged_zarr_chunk_is_named(tmp_path, X):
    path = write_zarr(tmp_path, X, compressors=None)
    source = BlockSource.from_zarr(path, rows_per_part=100)
    os.truncate(os.path.join(path, "c/4/0"), 1000)
    with refused("rows 400 to 499 of .*x.zarr cannot be read"):
        source.read(4)


def test_zarr_arrays_and_groups(tmp_path, X):
    zarr = pytest.importorskip("zarr", minversion="3")
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    array = group.create_array("deep/x", shape=X.shape, chunks=(100, 6), dtype="f8")
    array[:] = X
    np.testing.assert_array_equal(contents(BlockSource.from_zarr(array)), X)
    np.testing.assert_array_equal(contents(BlockSource.from_zarr(tmp_path / "g.zarr" / "deep" / "x")), X)
    with refused("g.zarr cannot be read as a Zarr array"):
        BlockSource.from_zarr(tmp_path / "g.zarr")


# ---- HDF5


def test_hdf5_chunks_that_were_never_written(tmp_path, X):
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "y.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", shape=X.shape, chunks=(100, 3), dtype="f8")[:300] = X[:300]
        file.create_dataset("nan", shape=X.shape, chunks=(100, 3), dtype="f8", fillvalue=np.nan)[:300] = X[:300]
        file.create_dataset("never", shape=X.shape, dtype="f8")
        file["text"] = np.array([[b"a", b"b"]])
    source = BlockSource.from_hdf5(path, "x", rows_per_part=100)
    np.testing.assert_array_equal(source.read(2), X[200:300])
    with refused(r"chunk \(3, 0\) of /x in .*y.h5 \(rows 300 to 399\) is missing: HDF5 would read it as 0.0"):
        source.read(3)
    assert np.isnan(contents(BlockSource.from_hdf5(path, "nan"))[300:]).all()
    with refused("/never in .* was never written"):
        BlockSource.from_hdf5(path, "never").read(0)
    with refused(r"/text in .* has dtype \|S1; it must hold real numbers"):
        BlockSource.from_hdf5(path, "text")
    with refused("has 4: /nan, /never, /text, /x"):
        BlockSource.from_hdf5(path)
    with refused("cannot be read as an HDF5 file with the dataset 'other'"):
        BlockSource.from_hdf5(path, "other")


def test_a_truncated_hdf5_file_is_named(tmp_path, X):
    path = write_hdf5(tmp_path, X)
    os.truncate(path, os.path.getsize(path) // 2)
    with refused("x.h5 cannot be read as an HDF5 file.*truncated"):
        BlockSource.from_hdf5(path)


def test_a_virtual_dataset_without_its_file_is_refused(tmp_path, X):
    h5py = pytest.importorskip("h5py")
    path = write_hdf5(tmp_path, X)
    layout = h5py.VirtualLayout(X.shape, X.dtype)
    layout[:] = h5py.VirtualSource(path, "x", X.shape)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_virtual_dataset("v", layout)
    source = BlockSource.from_hdf5(tmp_path / "v.h5")
    np.testing.assert_array_equal(contents(source), X)
    os.remove(path)
    with refused("/v in .* is a virtual dataset, and its file .*x.h5 does not exist"):
        source.read(0)


# ---- npy


def test_a_truncated_npy_is_named(tmp_path, X):
    path = write_npy(tmp_path, X)
    source = BlockSource.from_npy(path, rows_per_part=100)
    os.truncate(path, 128 + 48 * 750 + 5)
    np.testing.assert_array_equal(source.read(6), X[600:700])
    with refused("rows 700 to 799 of .*x.npy: the file is truncated after 750 of 1000 rows"):
        source.read(7)
    with refused("x.npy cannot be read as a .npy file, it may be truncated"):
        BlockSource.from_npy(path)


def test_other_npy_layouts(tmp_path, X):
    np.save(tmp_path / "f.npy", np.asfortranarray(X))
    np.save(tmp_path / "big.npy", X.astype(">f8"))
    np.save(tmp_path / "half.npy", X.astype(np.float16))
    np.testing.assert_array_equal(contents(BlockSource.from_npy(tmp_path / "f.npy", rows_per_part=300)), X)
    np.testing.assert_array_equal(contents(BlockSource.from_npy(tmp_path / "big.npy")), X)
    assert BlockSource.from_npy(tmp_path / "half.npy").dtype == np.float32


# ---- Parquet


def test_parquet_joins_small_row_groups_and_selects_columns(tmp_path, X):
    path = write_parquet(tmp_path, X)
    assert BlockSource.from_parquet(path).lengths == [1000]
    source = BlockSource.from_parquet(path, columns=["f4", "f1"], bytes_per_part=16 * 250)
    assert source.lengths == [200] * 5
    assert source.feature_names == ["f4", "f1"]
    assert source.name(1).startswith("row groups 2 to 3 of ")
    np.testing.assert_array_equal(contents(source), X[:, [4, 1]])
    with refused("columns='f4' must be a list of names"):
        BlockSource.from_parquet(path, columns="f4")


def test_parquet_types(tmp_path):
    import decimal

    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "whole": pa.array([1, None, 3]),
        "flag": pa.array([True, None, False]),
        "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.25")]),
        "city": pa.array(["a", "b", "c"]),
    }
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    found = contents(BlockSource.from_parquet(path, columns=["whole", "flag", "price"]))
    np.testing.assert_array_equal(found, [[1, 1, 1.5], [np.nan] * 3, [3, 0, 2.25]])
    with refused("column 'city' of .*t.parquet has type string; it must hold numbers. columns= selects"):
        BlockSource.from_parquet(path)


def test_parquet_files_must_have_the_same_columns(tmp_path, X):
    write_parquet(tmp_path, X, name="a.parquet")
    write_parquet(tmp_path, X[:, ::-1], names=NAMES[::-1], name="b.parquet")  # another order
    np.testing.assert_array_equal(contents(BlockSource.from_parquet(tmp_path)), np.concatenate([X, X]))
    write_parquet(tmp_path, X, names=[*NAMES[:-1], "g"], name="c.parquet")
    with refused("c.parquet lacks the column 'f5' and has the further column 'g'"):
        BlockSource.from_parquet(tmp_path)
    with refused("a.parquet lacks the column 'g'"):
        BlockSource.from_parquet(tmp_path, columns=["g"])


def test_parquet_that_changes_is_noticed(tmp_path, X):
    path = write_parquet(tmp_path, X)
    source = BlockSource.from_parquet(path, rows_per_part=100)
    write_parquet(tmp_path, X, group=90)
    with refused("row group 3 of .*x.parquet has 90 rows; its metadata had 100"):
        source.read(3)
    os.truncate(path, os.path.getsize(path) // 2)
    with refused("row group 3 of .*x.parquet cannot be read"):
        source.read(3)
    with refused("x.parquet cannot be read as a Parquet file"):
        BlockSource.from_parquet(path)


def test_large_row_groups_warn(tmp_path, X, monkeypatch):
    pytest.importorskip("pyarrow")
    from gasg21._readers import parquet

    monkeypatch.setattr(parquet, "_TOO_LARGE", 1000)
    with pytest.warns(DataQualityWarning, match=r"row groups .* for instance .*x.parquet with 100 rows"):
        BlockSource.from_parquet(write_parquet(tmp_path, X))


# ---- CSV


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [{"rows_per_part": 300}, {"bytes_per_part": 5000}, {"bytes_per_part": 7}])
def test_csv_is_cut_at_ends_of_lines(header, end, size, tmp_path, X):
    path = write_csv(tmp_path, X[:400], header=header, end=end)
    source = BlockSource.from_csv(path, **size)
    np.testing.assert_array_equal(contents(source), X[:400])
    assert source.feature_names == (NAMES if header else None)
    assert len(source) > 1


def test_csv_options(tmp_path, X):
    path = write_csv(tmp_path, X, delimiter="\t", name="x.tsv")
    for delimiter in ("\t", None):
        found = BlockSource.from_csv(path, delimiter=delimiter, columns=["f3", 0])
        np.testing.assert_array_equal(contents(found), X[:, [3, 0]])
    (tmp_path / "y.csv").write_text("1,2\n\n-999,4\n\n\n5,NA")
    found = BlockSource.from_csv(tmp_path / "y.csv", missing=["-999", "NA"])
    np.testing.assert_array_equal(contents(found), [[1, 2], [np.nan, 4], [5, np.nan]])
    (tmp_path / "z.csv").write_text("1,2\n3,4\n")
    assert contents(BlockSource.from_csv(tmp_path / "z.csv", header=True)).tolist() == [[3, 4]]


NAN = float("nan")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4", [[1, 2], [3, 4]]),
        ("\ufeff1,2\r\n\r\n3,4\r\n", [[1, 2], [3, 4]]),
        (",2\n3,\n,\n", [[NAN, 2], [3, NAN], [NAN, NAN]]),
        ("NA,n/a,3\nnull,nan,NaN\n", [[NAN, NAN, 3], [NAN, NAN, NAN]]),
        (" 1 , NA ,\t3\n4,  ,6\n", [[1, NAN, 3], [4, NAN, 6]]),
        ('"1","2"\n"",3\n"NA","1e-3"\n', [[1, 2], [NAN, 3], [NAN, 0.001]]),
        ("1;2\n3;4\n", [[1, 2], [3, 4]]),
        ("1|2\n|4\n", [[1, 2], [NAN, 4]]),
        ("1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("1\n\nNA\n3\n", [[1], [NAN], [3]]),
        ("inf,-inf\n1e400,-0\n", [[np.inf, -np.inf], [np.inf, -0.0]]),
        ('"a;1","b, c"\n1,2\n', [[1, 2]]),
        (f"1;{'2' * 70_000}e-70000\n1;2\n", [[1, 2 / 9], [1, 2]]),  # guessed from whole lines
    ],
)
def test_the_grammar_of_text(text, expected, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    np.testing.assert_array_equal(BlockSource.from_csv(path).read(0), expected)
    monkeypatch.setattr(reading_text, "_parse_fast", lambda lines, grammar: None)  # both parsers have one grammar
    np.testing.assert_array_equal(BlockSource.from_csv(path).read(0), expected)


def test_text_without_numbers_may_stand_in_columns_that_are_not_read(tmp_path):
    (tmp_path / "x.csv").write_text('id,a,b\nx,1,\n"y, z",3,4\n')
    np.testing.assert_array_equal(
        contents(BlockSource.from_csv(tmp_path / "x.csv", columns=["b", "a"])), [[NAN, 1], [4, 3]]
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n\n1,2\n3,four\n", "line 4: column 'b' holds 'four', which is no number"),
        ("a,b\n1,2\n3,1_000\n", "line 3: column 'b' holds '1_000', which is no number"),
        ("a,b\n1,2\n3,4,5\n", "line 3 has 3 fields; it must have 2"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 3: a quote is not closed"),
        ('a,b\n1,2\n"3\n",4\n', "line 3: a quote is not closed in its line"),
        ('a,b\n1,"2"x\n', "line 2: a quote is not closed in its line, or text follows it"),
        ('a,"b\n1,2\n', "line 1: "),
        ("\na,b\n", "is empty, or starts with an empty line"),
        (b"caf\xe9,b\n1,2\n", "cannot be read as text in UTF-8"),
    ],
)
def test_faults_of_text_are_named_by_line_and_column(text, said, tmp_path):
    (tmp_path / "x.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    for size in ({}, {"rows_per_part": 1}):
        with refused(said):
            contents(BlockSource.from_csv(tmp_path / "x.csv", columns=[0, 1], **size))


def test_csv_faults_are_named(tmp_path, X):
    path = tmp_path / "y.csv"
    path.write_text("a,b\n1,2\n3,four\n5,6\n")
    with refused("rows 0 to 2 of .*y.csv: .*'four'"):
        BlockSource.from_csv(path).read(0)
    path.write_text("a,b\n1,2\n3,4,5\n")
    with refused("rows 0 to 1 of .*y.csv: line 3 has 3 fields; it must have 2"):
        BlockSource.from_csv(path).read(0)
    with refused("y.csv lacks the column 'c'; it has 2 columns: a, b"):
        BlockSource.from_csv(path, columns=["c"])
    path.write_text("a,a\n1,2\n")
    with refused("y.csv: two columns have the name 'a'"):
        BlockSource.from_csv(path)
    write_csv(tmp_path, X, name="x1.csv")
    write_csv(tmp_path, X[:, :5], name="x2.csv")
    with refused("x2.csv has 5 columns; it must have 6, as many as .*x1.csv"):
        BlockSource.from_csv(str(tmp_path / "x?.csv"))
    source = BlockSource.from_csv(tmp_path / "x1.csv", rows_per_part=100)
    os.truncate(tmp_path / "x1.csv", 3000)
    with refused("rows 900 to 999 of .*x1.csv: the file is truncated"):
        source.read(9)
    (tmp_path / "x.csv.gz").write_bytes(b"")
    with refused("x.csv.gz is compressed"):
        BlockSource.from_csv(tmp_path / "x.csv.gz")


# ---- optional packages


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [
        ("zarr", ("from_zarr", "x.zarr"), "zarr"),
        ("h5py", ("from_hdf5", "x.h5"), "hdf5"),
        ("pyarrow", ("from_parquet", "x.parquet"), "parquet"),
    ],
)
def test_an_absent_package_is_named(package, call, extra, tmp_path, monkeypatch):
    for name in ("x.h5", "x.parquet", "x.csv"):
        (tmp_path / name).write_text("1,2\n")
    for module in [package, *(name for name in sys.modules if name.startswith(package + "."))]:
        monkeypatch.setitem(sys.modules, module, None)
    method, name = call
    said = rf"BlockSource.{method} needs {package}: pip install 'gasg21\[{extra}\]'"
    with pytest.raises(ImportError, match=said):
        getattr(BlockSource, method)(tmp_path / name).read(0)


def test_import_gasg21_imports_no_optional_package():
    optional = {"zarr", "h5py", "pyarrow", "dask", "distributed", "matplotlib"}
    code = f"import sys; sys.modules['pandas'] = None; import gasg21; print(sorted({optional} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
