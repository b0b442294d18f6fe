"""Vectors of bits: bools, or eight in a byte."""

import numpy as np
import pageway
import pytest

DRAW = np.random.default_rng(6)
CENTRES = DRAW.integers(0, 2, size=(8, 64)).astype(bool)
ROWS = CENTRES[DRAW.integers(0, 8, size=500)] ^ (DRAW.random((500, 64)) < 0.08)
PACKED = np.packbits(ROWS, axis=1)


def jaccard(a, b):
    return 1 - (a & b).sum(-1) / (a | b).sum(-1)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("bits") / "index"
    with pageway.build(path, ROWS, metric="jaccard", memory="4MB", degree=16) as built:
        yield built


def test_bools_are_found_by_bools_and_by_packed_bytes(index):
    assert (index.shape, index.dtype, index.metric) == ((500, 64), np.bool_, "jaccard")
    assert "bit" in repr(index)
    found = index.search(ROWS[:40], k=5, effort=300)
    expected = np.sort(jaccard(ROWS[:40, None], ROWS[None]), axis=1)[:, :5]
    np.testing.assert_allclose(found.distances, expected, atol=1e-6)
    np.testing.assert_array_equal(found.ids, index.search(PACKED[:40], k=5, effort=300).ids)
    assert index.search(PACKED[3], k=1, effort=50).distances[0] == 0


def test_vectors_come_back_as_bools(index):
    np.testing.assert_array_equal(index.vectors([3, 400]), ROWS[[3, 400]])
    np.testing.assert_array_equal(index.vectors(7), ROWS[7])
    for batch in index.export():
        np.testing.assert_array_equal(batch.vectors, ROWS[batch.ids.astype(int)])


def test_packed_bytes_and_files_build_the_same(index, tmp_path):
    np.save(tmp_path / "bools.npy", ROWS)
    np.save(tmp_path / "packed.npy", PACKED)
    sources = {
        "packed": (PACKED, {"dtype": "bit"}),
        "bools": (str(tmp_path / "bools.npy"), {}),
        "packed file": (str(tmp_path / "packed.npy"), {"dtype": "bit"}),
        "batches": ((ROWS[at : at + 100] for at in range(0, 500, 100)), {}),
    }
    for name, (source, options) in sources.items():
        with pageway.build(
            tmp_path / name, source, metric="hamming", memory="4MB", degree=16, **options
        ) as own:
            np.testing.assert_array_equal(own.vectors([0, 9]), ROWS[[0, 9]], err_msg=name)
            found = own.search(ROWS[5], k=3, effort=200)
            nearest = np.sort((ROWS ^ ROWS[5]).sum(1))[:3]
            np.testing.assert_array_equal(found.distances, nearest, err_msg=name)


def test_files_of_any_numbers_and_examples_follow_one_rule(tmp_path):
    np.save(tmp_path / "packed.npy", PACKED[:40])
    for dtype in (np.int8, np.float16, np.float32, np.float64):
        path = tmp_path / f"{np.dtype(dtype)}.npy"
        np.save(path, ROWS.astype(dtype))
        for examples in (PACKED[:40], ROWS[:40], tmp_path / "packed.npy"):
            with pageway.build(
                tmp_path / "index", path, dtype="bit", metric="hamming", memory="4MB",
                queries=examples, overwrite=True,
            ) as own:
                np.testing.assert_array_equal(own.vectors([0, 9]), ROWS[[0, 9]])


def test_tables_hold_bits_as_the_command_line_reads_them(index, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    tables = {
        "bools": (ROWS, {}),
        "numbers": (ROWS.astype(np.int64), {"dtype": "bit"}),
        "floats": (ROWS.astype(np.float32), {"dtype": "bit"}),
        "packed": (PACKED, {"dtype": "bit"}),
    }
    expected = index.search(ROWS[:9], k=5, effort=300).ids
    for name, (rows, options) in tables.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(pa.table({"v": rows.tolist()}, pa.schema({"v": pa.list_(
            pa.from_numpy_dtype(rows.dtype))})), path)
        with pageway.build(
            tmp_path / name, path, metric="jaccard", memory="4MB", degree=16, **options
        ) as own:
            np.testing.assert_array_equal(own.vectors([0, 9]), ROWS[[0, 9]], err_msg=name)
            np.testing.assert_array_equal(own.search(rows[:9], k=5, effort=300).ids, expected)
    lines = "\n".join(str(row.astype(int).tolist()) for row in ROWS)
    (tmp_path / "rows.jsonl").write_text(lines)
    with pageway.build(
        tmp_path / "lines", tmp_path / "rows.jsonl", metric="jaccard", memory="4MB", dtype="bit"
    ) as own:
        np.testing.assert_array_equal(own.vectors([0, 9]), ROWS[[0, 9]])


def test_an_index_of_bits_changes(tmp_path):
    with pageway.create(
        tmp_path / "index", dimension=64, metric="hamming", dtype="bit"
    ) as index:
        index.insert(ROWS[:100])
        index.upsert(PACKED[100:110], ids=range(100, 110))
        assert index.search(ROWS[42], k=1).ids.tolist() == [42]
        assert index.search(ROWS[105], k=1).distances.tolist() == [0]


def test_what_are_no_bits_is_refused(index, tmp_path):
    refused = [
        (lambda: pageway.build(tmp_path / "no", ROWS[:, :12]), "12 bits do not fill whole bytes"),
        (lambda: pageway.build(tmp_path / "no", ROWS * 0.5, dtype="bit"), "0.5.*, which is no bit"),
        (
            lambda: pageway.build(tmp_path / "no", PACKED, metric="hamming"),
            "these vectors hold numbers",
        ),
        (lambda: index.search(ROWS[0, :56], k=1), "have 56 bits, the vectors of the index 64"),
        (lambda: index.search(PACKED[0, :7], k=1), "have 7 bytes, 56 bits"),
        (lambda: index.search(ROWS[0] * 2.0, k=1), "2.0.*, which is no bit"),
    ]
    for attempt, words in refused:
        with pytest.raises(pageway.InvalidInputError, match=words):
            attempt()
    assert not (tmp_path / "no").exists()
