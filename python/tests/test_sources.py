"""Vectors from files, tables, frames and iterators: the index is that of the array."""

import gzip
import json
import os
import uuid

import numpy as np
import pytest
from conftest import clustered

import pageway
from pageway._sources import entry
from pageway._sources.scratch import Scratch

ROWS = clustered(np.float32, count=300, dimension=12)
IDS = np.arange(300, dtype=np.int64) * 7 + 5


def content(path):
    """What a build made, apart from the identities of its files."""
    with pageway.open(path) as index:
        stored = [(batch.vectors, batch.ids) for batch in index.export()]
        found = index.search(ROWS[:20], k=5)
    vectors = np.concatenate([part for part, _ in stored])
    ids = np.concatenate([part for _, part in stored])
    order = np.argsort(ids)
    return vectors[order], ids[order], found.ids, found.distances


def same(tmp_path, data, *, rows=ROWS, ids=None, **settings):
    """Builds from `data`, and from the array; both hold and find the same."""
    pageway.build(tmp_path / "other", data, memory="2MB", **settings).close()
    pageway.build(tmp_path / "array", rows, ids=ids, memory="2MB").close()
    for left, right in zip(content(tmp_path / "other"), content(tmp_path / "array")):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def pieces(size=70):
    return [ROWS[start : start + size] for start in range(0, len(ROWS), size)]


def table(**columns):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    flat = pa.array(ROWS.reshape(-1))
    vectors = pa.FixedSizeListArray.from_arrays(flat, ROWS.shape[1])
    return pa.table({"id": IDS, "emb": vectors, "text": [f"t{row}" for row in range(300)], **columns})


NAMES = [f"r{row}" for row in range(300)]
UUIDS = [uuid.UUID(int=row * 7 + 5) for row in range(300)]


@pytest.mark.parametrize(
    "names",
    [NAMES, np.array(NAMES), np.array(NAMES, object), UUIDS, np.array(UUIDS, object)],
    ids=["list", "array", "objects", "uuids", "array-of-uuids"],
)
def test_names_in_pairs(tmp_path, names):
    def pairs():
        return ((names[start : start + 70], ROWS[start : start + 70]) for start in range(0, 300, 70))

    for at, data in enumerate([pairs(), list(pairs())]):
        with pageway.build(tmp_path / f"{at}", data, memory="2MB") as index:
            assert index.search(ROWS[77], k=1).ids.tolist() == [str(names[77])]
    with pageway.create(tmp_path / "new", dimension=ROWS.shape[1]) as index:
        assert index.insert(pairs()).inserted == 300
        assert index.search(ROWS[77], k=1).ids.tolist() == [str(names[77])]


def test_a_pair_with_names_and_numbers_is_refused(tmp_path):
    with pytest.raises(pageway.InvalidInputError, match="row 1 is 3, others are names"):
        pageway.build(tmp_path / "i", iter([(["a", 3], ROWS[:2])]), memory="2MB")


def test_a_column_of_uuids_is_names(tmp_path):
    pa = pytest.importorskip("pyarrow")
    if not hasattr(pa, "uuid"):
        pytest.skip("this pyarrow has no UUIDs")
    ids = pa.array([own.bytes for own in UUIDS], pa.uuid())
    data = table(key=ids)
    with pageway.build(tmp_path / "i", data, column="emb", id_column="key", memory="2MB") as index:
        assert index.search(ROWS[77], k=1).ids.tolist() == [str(UUIDS[77])]


def test_nulls_are_named_by_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    holed, missing = [*rows, [None, 1.0]], [*rows, None]
    fixed = pa.list_(pa.float32(), 2)
    for column in (pa.array(holed), pa.array(holed, fixed)):
        with pytest.raises(pageway.InvalidInputError, match="'v': row 2, component 0 is null"):
            pageway.build(tmp_path / "i", pa.table({"v": column})[1:], memory="2MB")
    cases = [
        (pa.table({"v": pa.array(missing, fixed)}), {}, "'v': row 3 is null"),
        (pa.chunked_array([pa.array(rows, fixed), pa.array(missing, fixed)]), {}, "row 6 is null"),
        (pa.table({"x": [1.0, 2.0], "y": [1.0, None]}), {}, "'y': row 1 is null"),
        (pa.table({"v": rows, "id": [1, 2, None]}), {"id_column": "id"}, "'id': row 2 is null"),
    ]
    for data, columns, words in cases:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "i", data, memory="2MB", **columns)


@pytest.mark.parametrize("held", [entry.HELD_BYTES, 1000], ids=["in-memory", "by-file"])
class TestIterators:
    @pytest.fixture(autouse=True)
    def _held(self, held, monkeypatch):
        monkeypatch.setattr(entry, "HELD_BYTES", held)

    def test_a_generator_of_batches(self, tmp_path):
        same(tmp_path, (part for part in pieces()))
        assert sorted(os.listdir(tmp_path)) == ["array", "other"], "the scratch file is gone"

    def test_a_list_of_arrays(self, tmp_path):
        same(tmp_path, pieces())

    def test_a_list_of_tables(self, tmp_path):
        parts = table().to_batches(70)
        same(tmp_path, parts, column="emb", id_column="id", ids=IDS)

    def test_a_list_of_frames(self, tmp_path):
        polars = pytest.importorskip("polars")
        pytest.importorskip("pyarrow")
        same(tmp_path, [polars.DataFrame({"emb": part}) for part in pieces()])

    def test_a_list_of_pairs(self, tmp_path):
        pairs = [(IDS[start : start + 70], ROWS[start : start + 70]) for start in range(0, 300, 70)]
        same(tmp_path, pairs, ids=IDS)

    def test_pairs_of_ids_and_vectors(self, tmp_path):
        pairs = ((IDS[start : start + 70], ROWS[start : start + 70]) for start in range(0, 300, 70))
        same(tmp_path, pairs, ids=IDS)

    def test_single_vectors(self, tmp_path):
        same(tmp_path, (row for row in ROWS))
        same_lists = ([float(x) for x in row] for row in ROWS)
        pageway.build(tmp_path / "lists", same_lists, memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / "lists")[0], ROWS)

    def test_a_loader_that_has_a_length(self, tmp_path):
        class Loader:
            def __len__(self):
                return len(pieces())

            def __iter__(self):
                return iter(pieces())

        same(tmp_path, Loader())

    def test_float64_is_rounded_and_empty_batches_do_not_count(self, tmp_path):
        same(tmp_path, iter([part.astype(np.float64) for part in pieces()] + [ROWS[:0]]))

    def test_bytes_stay_bytes(self, tmp_path):
        rows = clustered(np.uint8, count=300, dimension=12)
        pageway.build(tmp_path / "i", iter([rows[:200], rows[200:]]), memory="2MB").close()
        with pageway.open(tmp_path / "i") as index:
            assert index.dtype == np.uint8
            np.testing.assert_array_equal(index.vectors(np.arange(300)), rows)

    def test_what_cannot_be_is_named_by_row(self, tmp_path):
        long = np.ones((3, 13), np.float32)
        wrong = ROWS[:70].copy()
        wrong[3, 2] = np.nan
        cases = [
            (iter([ROWS[:70], long]), "row 70 has 13 components.* have 12"),
            (iter([ROWS[:70], [[1.0] * 12, [1.0] * 11]]), "row 71 has 11 components.* have 12"),
            (iter([ROWS[:70], wrong]), "row 73"),
            (iter([(IDS[:70], ROWS[:70]), ROWS[70:]]), "rows from 70 on: some have ids"),
            (iter([]), "data: has no vectors"),
            (iter([ROWS[:70].astype(np.int64)]), "not int64.*dtype="),
            (iter(["a", "b"]), "batch 0"),
            ({"emb": ROWS}, "data: is a dict.*data\\['emb'\\]"),
        ]
        for data, words in cases:
            with pytest.raises(pageway.InvalidInputError, match=words):
                pageway.build(tmp_path / "i", data, memory="2MB")
            assert os.listdir(tmp_path) == [], words

    def test_an_iterator_that_fails_leaves_nothing(self, tmp_path):
        def failing():
            yield from pieces()
            raise RuntimeError("the network is gone")

        with pytest.raises(RuntimeError, match="network"):
            pageway.build(tmp_path / "i", failing(), memory="2MB")
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("held", [entry.HELD_BYTES, 1000], ids=["in-memory", "by-file"])
def test_directories_above_the_index_are_made(tmp_path, monkeypatch, held):
    monkeypatch.setattr(entry, "HELD_BYTES", held)
    pageway.build(tmp_path / "a/b/index", iter(pieces()), memory="2MB").close()
    assert os.listdir(tmp_path / "a/b") == ["index"]
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(pageway.StorageError, match="file"):
        pageway.build(tmp_path / "file/index", iter(pieces()), memory="2MB")


def test_what_went_by_file_is_counted(tmp_path, monkeypatch):
    with pageway.build(tmp_path / "a", iter(pieces()), memory="2MB") as index:
        assert index.build_report["scratch_bytes"] == 0
    monkeypatch.setattr(entry, "HELD_BYTES", 1000)
    pairs = ((IDS[start : start + 70], ROWS[start : start + 70]) for start in range(0, 300, 70))
    with pageway.build(tmp_path / "b", pairs, memory="2MB") as index:
        assert index.build_report["scratch_bytes"] == ROWS.nbytes + IDS.nbytes


def test_a_disk_that_is_too_small_is_found_out_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "HELD_BYTES", 1000)

    class Disk:
        f_bavail, f_frsize = 3, 512

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    batches = pageway.Batches(lambda: iter([pageway.Batch(part) for part in pieces()]), "mine", 300)
    with pytest.raises(pageway.NoSpaceError, match="14,400 bytes.* 1,536 are free"):
        pageway.build(tmp_path / "i", batches, memory="2MB")


def test_files_of_killed_builds_are_removed_and_those_in_use_are_not(tmp_path):
    (tmp_path / ".my.index.rows-1-2-0.npy").write_bytes(b"left behind")
    mine = Scratch(str(tmp_path / "my.index"))
    assert os.listdir(tmp_path) == []
    file = mine.file(np.dtype("<f4"), 3)
    file.append(np.ones((2, 3), np.float32))
    other = Scratch(str(tmp_path / "my.index"))
    assert len(os.listdir(tmp_path)) == 1, "a file that is locked stays"
    np.testing.assert_array_equal(np.load(file.finish()), np.ones((2, 3), np.float32))
    file.append(np.zeros((1, 3), np.float32))
    assert np.load(file.finish()).shape == (3, 3)
    other.close()
    mine.close()
    assert os.listdir(tmp_path) == []


def test_queries_and_truth_come_in_batches_too(tmp_path):
    truth = pageway.ground_truth(iter(pieces()), iter([ROWS[:10]]), k=4)
    expected = pageway.ground_truth(ROWS, ROWS[:10], k=4)
    np.testing.assert_array_equal(truth.ids, expected.ids)
    pageway.build(tmp_path / "i", iter(pieces()), queries=iter([ROWS[:50]]), memory="2MB").close()


def test_arrow_tables(tmp_path):
    data = table()
    same(tmp_path, data, column="emb", id_column="id", ids=IDS)
    for number, source in enumerate([data, data.to_batches()[0], data.to_reader(64), data.slice(0)]):
        pageway.build(tmp_path / str(number), source, memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / str(number))[0], ROWS)


def test_arrow_lists_of_any_kind(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kinds = [
        pa.list_(pa.float32()),
        pa.large_list(pa.float64()),
        pa.list_(pa.float32(), 12),
    ]
    for number, kind in enumerate(kinds):
        data = pa.table({"v": pa.array(ROWS.tolist(), type=kind)})
        pageway.build(tmp_path / str(number), data.slice(100), memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / str(number))[0], ROWS[100:])
    half = ROWS.astype(np.float16)
    flat = pa.array(half.reshape(-1))
    data = pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, 12)})
    with pageway.build(tmp_path / "half", data, memory="2MB") as index:
        assert index.dtype == np.float16


def test_parquet(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    monkeypatch.setattr(entry, "HELD_BYTES", 1000)
    monkeypatch.setattr("pageway._sources.batches.BATCH_ROWS_MAX", 37)
    parquet.write_table(table(), tmp_path / "all.parquet", row_group_size=128)
    same(tmp_path, tmp_path / "all.parquet", column="emb", id_column="id", ids=IDS)
    parts = tmp_path / "parts"
    parts.mkdir()
    for part, start in enumerate(range(0, 300, 100)):
        parquet.write_table(table().slice(start, 100), parts / f"part-{part}.parquet")
    sources = [
        parts,
        sorted(parts.iterdir()),
        pageway.read_parquet(parts, column="emb"),
        pytest.importorskip("pyarrow.dataset").dataset(parts),
    ]
    for number, source in enumerate(sources):
        pageway.build(tmp_path / str(number), source, memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / str(number))[0], ROWS)
    read = pageway.read_parquet(tmp_path / "all.parquet", id_column="id")
    assert read.count == 300 and "all.parquet" in repr(read)
    np.testing.assert_array_equal(np.concatenate([batch.ids for batch in read]), IDS)


def test_columns_that_are_not_there_are_told(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    data = table()
    nothing = pa.table({"a": ["x"], "b": [1]})
    two = pa.table({"a": [[1.0]], "b": [[1.0]]})
    nulls = pa.table({"a": [[1.0], None]})
    ragged = pa.table({"a": [[1.0], [1.0, 2.0]]})
    cases = [
        (data, {"column": "embedding"}, "no column 'embedding'; there are 'id', 'emb', 'text'"),
        (data, {"column": "text"}, "column 'text': holds string"),
        (nothing, {}, r"no column holds lists of numbers; there are a \(string\), b \(int64\)"),
        (two, {}, "columns 'a', 'b' hold lists; say which"),
        (nulls, {}, "row 1 is null"),
        (ragged, {}, "row 1 has 2 components"),
        (ROWS, {"column": "a"}, "ndarray has no columns"),
        (data, {"id_column": "id", "ids": IDS}, "ids of their own"),
    ]
    for source, settings, words in cases:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "i", source, memory="2MB", **settings)


def test_a_column_for_each_component(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {f"c{at}": ROWS[:, at] for at in range(12)}
    same(tmp_path, pa.table({"key": IDS, **columns}), id_column="key", ids=IDS)


def test_pandas(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"key": IDS, "emb": list(ROWS), "text": ["x"] * 300})
    same(tmp_path, frame, id_column="key", column="emb", ids=IDS)
    for number, source in enumerate([frame, frame["emb"], pandas.DataFrame(ROWS)]):
        pageway.build(tmp_path / str(number), source, memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / str(number))[0], ROWS)
    with pytest.raises(pageway.InvalidInputError, match="no column 'nope'.*key.*emb"):
        pageway.build(tmp_path / "i", frame, column="nope", memory="2MB")


def test_polars(tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(
        {"key": IDS, "emb": polars.Series(ROWS, dtype=polars.Array(polars.Float32, 12))}
    )
    same(tmp_path, frame, id_column="key", ids=IDS)
    frame.write_parquet(tmp_path / "p.parquet")
    lazy = polars.scan_parquet(tmp_path / "p.parquet")
    for number, source in enumerate([frame, lazy, tmp_path / "p.parquet", frame["emb"]]):
        pageway.build(tmp_path / str(number), source, memory="2MB").close()
        np.testing.assert_array_equal(content(tmp_path / str(number))[0], ROWS)
    kept = lazy.filter(polars.col("key") < 705)
    with pageway.build(tmp_path / "f", kept, id_column="key", memory="2MB") as index:
        assert index.shape == (100, 12)


def test_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    same(tmp_path, torch.tensor(ROWS, requires_grad=True))
    brief = torch.tensor(ROWS).to(torch.bfloat16)
    pageway.build(tmp_path / "b", brief, memory="2MB").close()
    np.testing.assert_array_equal(content(tmp_path / "b")[0], brief.float().numpy())
    parts = iter([brief[:100], brief[100:]])
    pageway.build(tmp_path / "p", parts, memory="2MB").close()
    np.testing.assert_array_equal(content(tmp_path / "p")[0], brief.float().numpy())


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "glove.hdf5", "w") as file:
        file["train"], file["test"], file["neighbors"] = ROWS, ROWS[:20], np.zeros(3)
    same(tmp_path, tmp_path / "glove.hdf5")
    queries = pageway.read_hdf5(tmp_path / "glove.hdf5", "test")
    assert queries.count == 20
    pageway.build(tmp_path / "q", ROWS, queries=queries, memory="2MB").close()
    with h5py.File(tmp_path / "glove.hdf5") as file:
        pageway.build(tmp_path / "d", file["train"], memory="2MB").close()
    np.testing.assert_array_equal(content(tmp_path / "d")[0], ROWS)
    with pytest.raises(pageway.InvalidInputError, match="'base' is no data set.*'train' of shape"):
        pageway.build(tmp_path / "i", tmp_path / "glove.hdf5", column="base", memory="2MB")


def test_json_lines(tmp_path):
    lines = [
        json.dumps({"key": int(key), "vector": [float(x) for x in row], "text": "t"})
        for key, row in zip(IDS, ROWS)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n\n")
    same(tmp_path, tmp_path / "a.jsonl", id_column="key", ids=IDS)
    with gzip.open(tmp_path / "b.jsonl.gz", "wt") as file:
        file.write("\n".join(json.dumps([float(x) for x in row]) for row in ROWS))
    pageway.build(tmp_path / "g", tmp_path / "b.jsonl.gz", memory="2MB").close()
    np.testing.assert_array_equal(content(tmp_path / "g")[0], ROWS)
    assert sum(len(batch.vectors) for batch in pageway.read_json_lines(tmp_path / "a.jsonl")) == 300


def test_lines_that_are_nested_too_deeply_are_named(tmp_path):
    (tmp_path / "a.jsonl").write_text("[1, 2]\n" + "[" * 100_000 + "\n")
    with pytest.raises(pageway.InvalidInputError, match="a.jsonl, line 2: .*nested too deeply"):
        pageway.build(tmp_path / "i", tmp_path / "a.jsonl", memory="2MB")


def test_damaged_gzip_is_named(tmp_path):
    whole = gzip.compress(b"[1, 2]\n" * 500)
    flipped = bytearray(whole)
    flipped[len(flipped) // 2] ^= 255
    for name in ("rows.jsonl.gz", "rows.csv.gz"):
        for damaged in (whole[:-12], flipped, b"no gzip"):
            (tmp_path / name).write_bytes(damaged)
            given = {"attributes": tmp_path / name} if "csv" in name else {}
            data = ROWS if given else tmp_path / name
            with pytest.raises(pageway.InvalidInputError, match=f"{name}: is damaged"):
                pageway.build(tmp_path / "i", data, memory="2MB", **given)


def test_texts_of_json_lines_are_names(tmp_path):
    lines = [json.dumps({"key": f"r{at}", "v": row.tolist()}) for at, row in enumerate(ROWS)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    with pageway.build(tmp_path / "i", tmp_path / "a.jsonl", id_column="key", memory="2MB") as index:
        assert index.search(ROWS[7], k=1).ids.tolist() == ["r7"]


@pytest.mark.parametrize(
    "line, settings, words",
    [
        ('{"v": [1, 2', {}, "line 2: no JSON: Expecting .,. delimiter at column 12"),
        ('{"v": "one"}', {}, "line 2, field 'v': no list of numbers"),
        ('{"w": [1, 2]}', {}, "line 2: no field 'v'"),
        ('{"v": [1, 2, 3]}', {}, "row 1 has 3 components"),
        ('{"v": [1, true]}', {}, "line 2, field 'v': no list"),
        ("7", {}, "line 2: has no fields"),
        ('{"v": [1, 2]}', {"id_column": "key"}, "line 1: no field 'key'"),
        ('{"v": [1, 2], "id": "x"}', {"id_column": "id"}, "line 2.*'x', where .* have numbers"),
        ('{"v": [1, 2], "id": 1.5}', {"id_column": "id"}, "line 2, field 'id': 1.5 is no id"),
        ('{"v": [1, 2], "id": -1}', {"id_column": "id"}, "line 2, field 'id': -1 is no id"),
        ('{"v": [1, 2], "id": null}', {"id_column": "id"}, "line 2, field 'id': None is no id"),
    ],
)
def test_lines_that_are_wrong_are_named(tmp_path, line, settings, words):
    (tmp_path / "a.jsonl").write_text('{"v": [1, 2], "id": 7}\n' + line + "\n")
    with pytest.raises(pageway.InvalidInputError, match=words):
        pageway.build(tmp_path / "i", tmp_path / "a.jsonl", memory="2MB", **settings)


def test_dtype_converts_and_loses_nothing(tmp_path):
    whole = np.round(ROWS).astype(np.int64)
    with pageway.build(tmp_path / "i", iter([whole]), dtype=np.int8, memory="2MB") as index:
        assert index.dtype == np.int8
    with pageway.build(tmp_path / "h", ROWS, dtype="float16", memory="2MB") as index:
        assert index.dtype == np.float16
    for data in (iter([ROWS]), ROWS):
        with pytest.raises(pageway.InvalidInputError, match="row 0, component 0 is .* no int8"):
            pageway.build(tmp_path / "j", data, dtype=np.int8, memory="2MB")


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.hdf5", "a.arrow"])
def test_files_that_are_not_there_or_are_something_else(tmp_path, name):
    if not name.endswith("jsonl"):
        pytest.importorskip("h5py" if name.endswith("hdf5") else "pyarrow")
    with pytest.raises(pageway.NotFoundError, match=name) as caught:
        pageway.build(tmp_path / "i", tmp_path / name, memory="2MB")
    assert caught.value.errno == 2
    (tmp_path / name).write_bytes(b"something else entirely")
    with pytest.raises(pageway.InvalidInputError, match=name):
        pageway.build(tmp_path / "i", tmp_path / name, memory="2MB")


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    import sys

    for module, name in [("pyarrow.parquet", "a.parquet"), ("h5py", "a.hdf5")]:
        monkeypatch.setitem(sys.modules, module, None)
        (tmp_path / name).write_bytes(b"")
        package = module.partition(".")[0]
        with pytest.raises(pageway.UnsupportedError, match=f"{name} needs {package}.*pip install"):
            pageway.build(tmp_path / "i", tmp_path / name, memory="2MB")


class TestLance:
    def test_a_data_set_by_name_and_open(self, tmp_path):
        lance = pytest.importorskip("lance", reason="pylance is not installed")
        name = tmp_path / "rows.lance"
        data = lance.write_dataset(table(), str(name))
        same(tmp_path, name, ids=IDS, column="emb", id_column="id")
        read = pageway.read_lance(name, column="emb", id_column="id")
        np.testing.assert_array_equal(np.concatenate([part.vectors for part in read]), ROWS)
        pageway.build(tmp_path / "open", data, column="emb", memory="2MB").close()
        with pytest.raises(pageway.InvalidInputError, match="emb"):
            pageway.read_lance(name, column="absent")
        for at, attributes in enumerate([name, data]):
            how = {"column": "emb", "id_column": "id", "attributes": attributes, "memory": "2MB"}
            given = data if at else name
            with pageway.build(tmp_path / f"attributes{at}", given, **how) as index:
                assert index.rows(IDS[3:4])[0].attributes == {"text": "t3"}
        (tmp_path / "empty.lance").mkdir()
        with pytest.raises(pageway.InvalidInputError, match="empty.lance: cannot be read as Lance"):
            pageway.build(tmp_path / "no", tmp_path / "empty.lance")
        for missing in (lambda: pageway.read_lance("no.lance"), lambda: pageway.build("i", "no.lance")):
            with pytest.raises(pageway.NotFoundError, match="no.lance: no such data set"):
                missing()


class FakePoint:
    def __init__(self, id, vector):
        self.id, self.vector = id, vector


class FakeClient:
    """Points by page, as the client gives them."""

    def __init__(self, points):
        self.points = points

    def scroll(self, collection, limit, offset, with_payload, with_vectors):
        assert collection == "texts" and not with_payload and with_vectors
        first = offset or 0
        end = first + min(limit, 100)
        return self.points[first:end], end if end < len(self.points) else None


class TestQdrant:
    def test_pages_are_read_to_the_end(self, tmp_path):
        points = [FakePoint(int(id), row.tolist()) for id, row in zip(IDS, ROWS)]
        same(tmp_path, pageway.read_qdrant(FakeClient(points), "texts"), ids=IDS)
        named = FakeClient([FakePoint(point.id, {"a": point.vector}) for point in points])
        read = pageway.read_qdrant(named, "texts", vector="a")
        np.testing.assert_array_equal(np.concatenate([part.vectors for part in read]), ROWS)

    @pytest.mark.parametrize(
        ("point", "words"),
        [
            (FakePoint(1, {"a": [1.0], "b": [2.0]}), "a, b"),
            (FakePoint(1, None), "no single dense vector"),
            (FakePoint(1, [[1.0], [2.0]]), "no single dense vector"),
        ],
    )
    def test_points_without_one_vector_or_number(self, point, words):
        with pytest.raises(pageway.InvalidInputError, match=words):
            list(pageway.read_qdrant(FakeClient([point]), "texts"))

    def test_uuids_are_names(self, tmp_path):
        uuids = [str(uuid.UUID(int=row)) for row in range(len(ROWS))]
        points = [FakePoint(own, row.tolist()) for own, row in zip(uuids, ROWS)]
        with pageway.build(
            tmp_path / "names.index", pageway.read_qdrant(FakeClient(points), "texts")
        ) as index:
            assert index.search(ROWS[3], k=1).ids.tolist() == [uuids[3]]
        mixed = FakeClient([*points[:2], FakePoint(3, ROWS[0].tolist())])
        with pytest.raises(pageway.InvalidInputError, match="one or the other"):
            list(pageway.read_qdrant(mixed, "texts"))

    def test_names_outgrow_memory_as_ids_do(self, tmp_path, monkeypatch):
        monkeypatch.setattr(entry, "HELD_BYTES", 64)
        names = [f"row {row}" for row in range(len(ROWS))]
        batches = ((names[at : at + 7], ROWS[at : at + 7]) for at in range(0, len(ROWS), 7))
        with pageway.build(tmp_path / "names.index", batches) as index:
            assert index.search(ROWS[9], k=1).ids.tolist() == [names[9]]

    def test_a_local_collection(self, tmp_path):
        client_module = pytest.importorskip("qdrant_client", reason="no qdrant-client")
        models = client_module.models
        client = client_module.QdrantClient(":memory:")
        size = models.VectorParams(size=ROWS.shape[1], distance=models.Distance.EUCLID)
        client.create_collection("texts", vectors_config=size)
        points = [
            models.PointStruct(id=int(id), vector=row.tolist()) for id, row in zip(IDS, ROWS)
        ]
        client.upsert("texts", points)
        same(tmp_path, pageway.read_qdrant(client, "texts"), ids=IDS)
