"""What callers may pass as vectors, queries and ids, and what is copied."""

import re
import sys
import types

import numpy as np
import pageway
import pytest
from pageway._arrays import as_queries, as_rows, as_source, as_vectors
from pageway._checks import as_memory
from pageway._ids import as_ids

ROWS = np.arange(60, dtype=np.float32).reshape(12, 5)


class WithArray:
    """An array of another library that numpy can look at."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


class WithDLPack:
    """An array of another library that speaks DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Sparse:
    """What matrices of scipy look like to numpy."""

    def toarray(self):
        return ROWS


class ArrowList:
    """What Arrow's fixed-size list arrays look like."""

    class _Type:
        list_size = 5

    def __init__(self, values, null_count=0):
        self.values, self.null_count, self.type = values, null_count, self._Type()

    def flatten(self):
        return self.values.reshape(-1)

    def is_null(self):
        return np.arange(len(self.values)) >= len(self.values) - self.null_count


class ArrowChunks(ArrowList):
    """What a column of several such arrays looks like."""

    def __init__(self, chunks):
        super().__init__(chunks[0])
        self.chunks = [ArrowList(chunk) for chunk in chunks]


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8"])
def test_rows_in_order_are_not_copied(dtype, tmp_path):
    array = ROWS.astype(dtype)
    assert np.shares_memory(as_rows(as_vectors(array, "data"))[0], array)
    array.setflags(write=False)
    assert np.shares_memory(as_rows(as_vectors(array, "data"))[0], array)
    np.save(tmp_path / "rows.npy", array)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert np.shares_memory(as_rows(as_vectors(mapped, "data"))[0], mapped)


@pytest.mark.parametrize(
    "wrap", [WithArray, ArrowList, lambda rows: ArrowChunks([rows])], ids=["array", "arrow", "chunk"]
)
def test_views_of_other_libraries_are_not_copied(wrap):
    array = as_vectors(wrap(ROWS), "data")
    np.testing.assert_array_equal(array, ROWS)
    assert np.shares_memory(array, ROWS)


@pytest.mark.skipif(not hasattr(np, "from_dlpack"), reason="numpy before 1.22")
def test_dlpack_is_not_copied():
    array = as_vectors(WithDLPack(ROWS.copy()), "data")
    np.testing.assert_array_equal(array, ROWS)
    assert as_vectors(WithDLPack(ROWS), "data").ctypes.data == ROWS.ctypes.data


def test_other_layouts_are_copied_in_order():
    layouts = [
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=1)[:, ::2],
        ROWS[::-1][::-1].astype(">f4"),
        ROWS.tolist(),
        [row for row in ROWS],
        ArrowChunks([ROWS[:3], ROWS[3:]]),
        np.array([*map(tuple, ROWS)]),
    ]
    for layout in layouts:
        array = as_vectors(layout, "data")
        assert array.dtype == np.dtype("<f4") and array.flags.c_contiguous
        np.testing.assert_array_equal(array, ROWS)


def test_arrays_of_arrays_are_stacked():
    column = np.empty(len(ROWS), dtype=object)
    column[:] = list(ROWS)
    np.testing.assert_array_equal(as_vectors(column, "data"), ROWS)
    column[7] = column[7][:3]
    with pytest.raises(pageway.InvalidInputError, match="row 7 has 3 components.* have 5"):
        as_vectors(column, "data")


def test_float64_is_rounded_to_float32():
    wide = np.array([[0.1, 1e-50, 3.0]])
    array = as_vectors(wide, "data")
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, wide.astype(np.float32))
    kept = as_vectors(np.array([[np.inf, np.nan]]), "data")
    assert np.isinf(kept[0, 0]) and np.isnan(kept[0, 1])


@pytest.mark.parametrize(
    "dtype, number", [(np.float32, 1e300), (np.float16, 7e4), ("bfloat16", 3.4e38)]
)
def test_what_the_narrower_type_cannot_hold_is_named(dtype, number):
    wide = np.zeros((9, 6))
    wide[4, 2] = -number
    name = dtype if dtype == "bfloat16" else np.dtype(dtype).name
    words = f"row 4, component 2 is {re.escape(str(-number))}, which {name} cannot hold"
    with pytest.raises(pageway.InvalidInputError, match=f"data: {words}"):
        as_source(wide, "data", dtype)
    with pytest.raises(pageway.InvalidInputError, match=f"data: {words}"):
        as_source(wide[:, ::-1][:, ::-1], "data", dtype)
    wide[4, 2] = -np.inf
    as_source(wide, "data", dtype)


def test_a_query_that_float32_cannot_hold_is_named():
    for query in (np.array([0, 1e300]), [0, 1e300]):
        with pytest.raises(pageway.InvalidInputError, match="queries: component 1 is 1e.300, which"):
            as_queries(query, 2, np.dtype(np.float32))


@pytest.mark.parametrize(
    "source, words",
    [
        (ROWS.astype(np.int64), "not int64"),
        (ROWS > 1, "5 bits do not fill whole bytes"),
        (ROWS.astype(np.int64), "or give it as dtype=$"),
        (ROWS.astype(complex), "not complex128; convert the numbers to the one you mean$"),
        (ROWS[0], r"shape \(5,\)"),
        (ROWS.reshape(2, 6, 5), r"shape \(2, 6, 5\)"),
        (3.0, r"shape \(\)"),
        (None, "not as NoneType"),
        ("q.npy", "'q.npy' is a text or a path"),
        (b"q.npy", "b'q.npy' is a text or a path"),
        (Sparse(), "not as Sparse; a sparse matrix gives them by toarray"),
        ([[1.0, 2.0], None, [3.0, 4.0]], "row 1 is None; leave"),
        ([None, None], "row 0 is None"),
        (np.array([ROWS[0], None, ROWS[1]], object), "row 1 is None; leave"),
        ([ROWS[0], float("nan")], "row 1 is nan; leave"),
        ([[1.0, 2.0], [3.0, None]], "row 1, component 1 is None"),
        ([[1.0, 2.0], [3.0]], "row 1 has 1 components"),
        ([["a", "b"]], "not <U1; convert the numbers to the one you mean$"),
        (object(), "not as object"),
        (np.ma.masked_greater(ROWS, 55), "4 values are masked; fill them"),
        (ArrowList(ROWS, null_count=2), "row 10 is null"),
    ],
)
def test_what_is_no_set_of_vectors_is_refused(source, words):
    with pytest.raises(pageway.InvalidInputError, match=words):
        as_vectors(source, "data")


def test_a_protocol_that_fails_is_named():
    class OnAnotherDevice:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("move it to the CPU first")

    with pytest.raises(pageway.InvalidInputError, match="OnAnotherDevice.*CPU first"):
        as_vectors(OnAnotherDevice(), "data")


def test_what_speaks_arrow_alone_is_read_with_pyarrow(monkeypatch):
    class ArrowCapsule:
        def __arrow_c_array__(self, requested_schema=None):
            raise AssertionError("pyarrow's business")

    pyarrow = types.SimpleNamespace(array=lambda source: ArrowList(ROWS))
    monkeypatch.setitem(sys.modules, "pyarrow", pyarrow)
    assert np.shares_memory(as_vectors(ArrowCapsule(), "data"), ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(pageway.InvalidInputError, match="ArrowCapsule.*pyarrow"):
        as_vectors(ArrowCapsule(), "data")


def test_queries_take_the_type_of_the_index():
    half, byte = np.dtype(np.float16), np.dtype(np.uint8)
    assert as_queries(ROWS, 5, half).dtype == half
    assert as_queries(ROWS.astype(np.float64), 5, np.dtype(np.float32)).dtype == np.float32
    assert as_queries([1, 2, 3, 4, 255], 5, byte).tolist() == [1, 2, 3, 4, 255]
    assert as_queries([1, 2, 3, 4, 5], 5, half).dtype == half
    for source, dtype in [
        (ROWS, byte),
        (ROWS.astype(np.uint8), np.dtype(np.float32)),
        (ROWS.astype(np.int8), byte),
        ([1, 2, 3, 4, 256], byte),
        ([1, 2, 3, 4, 5.5], byte),
    ]:
        with pytest.raises(pageway.InvalidInputError, match=f"convert.* to {dtype}"):
            as_queries(source, 5, dtype)


def test_queries_have_the_dimension_of_the_index():
    with pytest.raises(pageway.InvalidInputError, match="have 5 components.* index 6"):
        as_queries(ROWS, 6, np.dtype(np.float32))
    with pytest.raises(pageway.InvalidInputError, match="shape"):
        as_queries(ROWS.reshape(1, 12, 5), 5, np.dtype(np.float32))


def test_ids_are_whole_and_not_negative():
    assert as_ids([3, 2**64 - 1]).dtype == np.uint64
    assert as_ids(np.array([1, 2], dtype=np.int16)).tolist() == [1, 2]
    assert as_ids([]).dtype == np.uint64
    for ids, words in [([1, -5], "row 1 has id -5"), ([1.0], "whole"), ([[1]], "shape"), (["a"], "w")]:
        with pytest.raises(pageway.InvalidInputError, match=words):
            as_ids(ids)
    for ids, words in [({1, 2}, "not as set"), (iter([1]), "not as list_iterator")]:
        with pytest.raises(pageway.InvalidInputError, match=words):
            as_ids(ids)
    with pytest.raises(pageway.InvalidInputError, match="ids: 1 values are masked"):
        as_ids(np.ma.masked_equal([1, 2], 2))


def test_memory_is_bytes_or_text():
    assert as_memory("memory", 2 * 10**8) == "200000000"
    assert as_memory("memory", 2e8) == "200000000"
    assert as_memory("memory", np.int64(5)) == "5"
    assert as_memory("memory", "10%") == "10%"
    for wish in (0.2, [1], float("nan")):
        with pytest.raises(pageway.InvalidInputError, match="memory is"):
            as_memory("memory", wish)


def test_paths_pass_through(tmp_path):
    assert as_source(tmp_path / "a.fbin", "data") == str(tmp_path / "a.fbin")
    assert not as_source("~/a.fbin", "data").startswith("~")


@pytest.mark.parametrize("layout", ["C", "F", "read-only", "strided", "float64"])
def test_layouts_give_the_same_answers(index, queries, layout):
    expected = index.search(queries, effort=40)
    other = queries.copy()
    if layout == "F":
        other = np.asfortranarray(other)
    elif layout == "read-only":
        other.setflags(write=False)
    elif layout == "strided":
        other = np.repeat(other, 2, axis=0)[::2]
    elif layout == "float64":
        other = other.astype(np.float64)
    found = index.search(other, effort=40)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_the_map_of_a_whole_file_is_read_as_that_file(tmp_path):
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    np.save(tmp_path / "rows.npy", rows)
    whole = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert as_source(whole, "rows") == (str(tmp_path / "rows.npy"), "f32")
    written = np.load(tmp_path / "rows.npy", mmap_mode="c")
    for other in (whole[1:], whole[:, :2], written, rows):
        bytes_of, columns, element = as_source(other, "rows")
        assert columns == other.shape[1] and element == "f32"
        assert bytes(bytes_of) == other.tobytes()
