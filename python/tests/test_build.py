"""Building: types and metrics, ids, determinism, files."""

import numpy as np
import pytest
from conftest import clustered, distances, recall

import pageway

METRICS = ["l2", "inner_product", "cosine"]
DTYPES = ["float32", "float16", "uint8", "int8"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_and_metric_finds_the_neighbours(tmp_path, dtype, metric):
    rows = clustered(dtype, count=1040)
    base, queries = rows[:1000], rows[1000:]
    with pageway.build(tmp_path / "i", base, metric=metric, memory="2MB") as index:
        ids, found = index.search(queries, k=10, recall=0.95)
        assert (index.metric, index.dtype, index.shape) == (metric, np.dtype(dtype), base.shape)
    assert ids.dtype == np.int64 and found.dtype == np.float32
    assert recall(ids, base, queries, metric) >= 0.9
    exact = np.take_along_axis(distances(base, queries, metric), ids.astype(np.int64), axis=1)
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=2e-4)
    assert (np.diff(found, axis=1) >= 0).all()


def test_ids_are_what_a_search_returns(tmp_path, vectors, queries):
    ids = np.arange(len(vectors), dtype=np.uint64) * 3 + 2**63
    with pageway.build(tmp_path / "i", vectors, ids=ids, memory="2MB") as index:
        by_id = index.search(queries, effort=50)
    with pageway.build(tmp_path / "r", vectors, memory="2MB") as index:
        by_row = index.search(queries, effort=50)
    np.testing.assert_array_equal(by_id.ids, by_row.ids.astype(np.uint64) * np.uint64(3) + np.uint64(2**63))


def test_ids_come_from_lists_and_files(tmp_path, vectors):
    few = vectors[:50]
    with pageway.build(tmp_path / "l", few, ids=list(range(100, 150)), memory="2MB") as index:
        assert index.search(few[7], k=1).ids[0] == 107
    np.save(tmp_path / "ids.npy", np.arange(200, 250, dtype=np.uint64))
    with pageway.build(tmp_path / "f", few, ids=tmp_path / "ids.npy", memory="2MB") as index:
        assert index.search(few[7], k=1).ids[0] == 207


def test_files_and_arrays_give_the_same_index(tmp_path, vectors):
    np.save(tmp_path / "rows.npy", vectors)
    header = np.array(vectors.shape, dtype="<u4").tobytes()
    (tmp_path / "rows.fbin").write_bytes(header + vectors.tobytes())
    sources = {
        "array": vectors,
        "path": tmp_path / "rows.npy",
        "text": str(tmp_path / "rows.fbin"),
        "map": np.load(tmp_path / "rows.npy", mmap_mode="r"),
    }
    bytes_of = {}
    for name, source in sources.items():
        pageway.build(tmp_path / name, source, preset="diskann", memory="2MB").close()
        bytes_of[name] = content(tmp_path / name)
    assert bytes_of["array"]
    for name in sources:
        assert bytes_of[name] == bytes_of["array"], name


def test_a_file_that_does_not_say_its_type_is_told(tmp_path, vectors, queries):
    def written(name, rows):
        header = np.array(rows.shape, dtype="<u4").tobytes()
        (tmp_path / name).write_bytes(header + rows.tobytes())
        return tmp_path / name

    base, few = written("rows.bin", vectors), written("queries.bin", queries)
    settings = {"dtype": np.float32, "queries": few, "memory": "2MB"}
    with pageway.build(tmp_path / "i", base, **settings) as index:
        assert index.dtype == np.float32 and index.shape == vectors.shape
        truth = pageway.ground_truth(base, few, k=10, dtype="float32")
        assert recall(index.search(queries, effort=200).ids, vectors, queries, "l2") >= 0.95
    np.testing.assert_array_equal(truth.ids, pageway.ground_truth(vectors, queries, k=10).ids)
    pageway.build(tmp_path / "j", vectors, dtype="f4", memory="2MB").close()
    for rows, dtype, words in [
        (base, None, "rows.bin: a .bin file does not say what its elements are"),
        (base, "float16", "rows.bin: .*header"),
        (base, "float64", "dtype is 'float64': an index holds float32, float16, bfloat16, uint8"),
        (base, "numbers", "dtype is 'numbers'"),
        (vectors, np.uint8, "data: row 0, component 0 is .* no uint8"),
    ]:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.build(tmp_path / "k", rows, dtype=dtype, memory="2MB")


def test_the_bytes_depend_on_the_seed_and_not_on_threads(tmp_path, vectors):
    contents = []
    for threads, seed in [(1, 42), (2, 42), (1, 43)]:
        path = tmp_path / f"{threads}-{seed}"
        pageway.build(path, vectors, threads=threads, seed=seed, memory="2MB").close()
        contents.append(content(path))
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_settings_reach_the_engine(tmp_path, vectors):
    design = {"degree": 20, "build_list": 50, "code_bytes": 6, "page_bytes": 8192}
    budget = {"memory": "3MB", "build_memory": "1GB", "threads": 2}
    index = pageway.build(tmp_path / "i", vectors, preset="diskann", **design, **budget)
    spec = index.stats()["spec"]
    assert spec["graph"]["max_degree"] == 20 and spec["graph"]["build_list"] == 50
    assert spec["storage"]["quantizer"]["code_bytes"] == 6
    assert spec["layout"]["page_bytes"] == 8192
    assert index.build_report["nodes"] == len(vectors)
    assert index.build_report["code_bytes"] == 6
    assert index.stats()["max_degree"] <= 20
    index.close()


def test_a_build_replaces_the_index_that_was_there(tmp_path, vectors):
    pageway.build(tmp_path / "i", vectors, memory="2MB").close()
    with pageway.build(tmp_path / "i", vectors[:100], memory="2MB", overwrite=True) as index:
        assert len(index) == 100


def test_one_vector(tmp_path):
    one = np.ones((1, 8), np.float32)
    with pageway.build(tmp_path / "i", one, memory="2MB") as index:
        ids, found = index.search(np.zeros(8, np.float32), k=1)
    assert ids.tolist() == [0] and found.tolist() == [8.0]


def test_equal_vectors_are_all_found(tmp_path):
    rows = np.ones((200, 8), np.float32)
    with pageway.build(tmp_path / "i", rows, memory="2MB") as index:
        ids, found = index.search(rows[0], k=20)
    assert len(set(ids.tolist())) == 20 and (found == 0).all()


def test_a_recall_out_of_reach_is_a_warning(tmp_path):
    """Codes of one byte, four edges per vector and no structure: no list that is tried is enough."""
    noise = np.random.default_rng(0).normal(size=(12010, 32)).astype(np.float32)
    poor = {"degree": 4, "build_list": 8, "code_bytes": 1, "queries": noise[12000:]}
    poor["overrides"] = {"graph": "vamana"}
    with pytest.warns(pageway.PagewayWarning, match=r"cannot promise recall@10 1\b"):
        index = pageway.build(tmp_path / "i", noise[:12000], recall=1.0, memory="4MB", **poor)
    with index, pytest.raises(pageway.UnsupportedError, match="cannot promise"):
        index.search(noise[0], recall=1.0)
    assert index.build_report["best_recall_at_10"] < 1


def test_example_queries_calibrate_the_index(tmp_path, vectors, queries):
    np.save(tmp_path / "queries.npy", queries)
    for name, examples in [("a", queries), ("f", tmp_path / "queries.npy")]:
        with pageway.build(tmp_path / name, vectors, queries=examples, memory="2MB") as index:
            assert index.calibration["queries"] == len(queries)
    with pytest.raises(pageway.InvalidInputError, match="queries|dimension"):
        pageway.build(tmp_path / "i", vectors, queries=queries[:, :5])


def content(path):
    """Bytes of every file of an index; a file whose bytes name the moment it was made is left out."""
    return {
        file.name: file.read_bytes()
        for file in sorted(path.iterdir())
        if file.is_file() and "lock" not in file.name.lower()
    }


def files(path):
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name != "LOCK"}


def test_a_stopped_build_goes_on_elsewhere_than_beside_the_index(tmp_path, vectors):
    class Stop(Exception):
        pass

    def stop(stage, done, total):
        if stage in ("write records", "exact distances", "calibrate recall"):
            raise Stop

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    wish = {"memory": "2MB", "preset": "starling", "scratch": scratch}
    pageway.build(tmp_path / "plain", vectors, **wish).close()
    assert not list(scratch.iterdir())
    path = tmp_path / "stopped"
    with pytest.raises(Stop):
        pageway.build(path, vectors, resume=True, progress=stop, **wish)
    assert [name for place in scratch.iterdir() for name in place.iterdir()]
    assert not path.exists()
    pageway.build(path, vectors, resume=True, **wish).close()
    assert files(path) == files(tmp_path / "plain")
    assert not list(scratch.iterdir())
    with pytest.raises(pageway.NotFoundError):
        pageway.build(tmp_path / "i", vectors, scratch=tmp_path / "nowhere", memory="2MB")
