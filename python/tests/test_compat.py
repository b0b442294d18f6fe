"""The interfaces of other libraries: one program, with theirs and with ours."""

import importlib
import os

import numpy as np
import pytest
from conftest import clustered

import pageway

ROWS = clustered(np.float32, count=1200, dimension=16)
QUERIES = clustered(np.float32, count=1240, dimension=16)[1200:]


def library(name):
    """A library where it is installed; the program is skipped with the reason otherwise."""
    return pytest.importorskip(name, reason=f"{name} is not installed")


def module(request_param):
    ours, name = request_param
    return importlib.import_module(f"pageway.compat.{name}") if ours else library(name)


def both(name):
    return [pytest.param((True, name), id="pageway"), pytest.param((False, name), id=name)]


def exact(metric="l2", k=10):
    return pageway.ground_truth(ROWS, QUERIES, k=k, metric=metric)


def share_found(ids, truth):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ids.tolist(), truth.tolist())])


@pytest.mark.parametrize("which", both("faiss"))
class TestFaiss:
    def test_flat_indexes_are_exact(self, which, tmp_path):
        faiss = module(which)
        for made, metric in [(faiss.IndexFlatL2(16), "l2"), (faiss.IndexFlatIP(16), "inner_product")]:
            made.add(ROWS[:600])
            made.add(ROWS[600:])
            assert made.is_trained and made.ntotal == 1200 and made.d == 16
            D, I = made.search(QUERIES, 10)
            truth = exact(metric)
            assert D.dtype == np.float32 and I.dtype == np.int64
            np.testing.assert_array_equal(I, truth.ids)
            sign = 1 if metric == "l2" else -1
            np.testing.assert_allclose(D, sign * truth.distances, rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(made.reconstruct(5), ROWS[5])
            np.testing.assert_allclose(made.reconstruct_n(10, 3), ROWS[10:13])

    def test_fewer_than_k_are_filled_up(self, which, tmp_path):
        faiss = module(which)
        index = faiss.IndexFlatL2(16)
        D, I = index.search(QUERIES[:2], 3)
        assert (I == -1).all()
        index.add(ROWS[:2])
        D, I = index.search(QUERIES[:2], 3)
        assert (I[:, 2] == -1).all() and (D[:, 2] > 1e38).all() and (I[:, :2] >= 0).all()

    @pytest.mark.parametrize("metric", ["l2", "inner_product"])
    def test_all_within_a_radius(self, which, metric, tmp_path):
        faiss = module(which)
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        index = faiss.index_factory(16, "Flat", kind)
        index.add(ROWS)
        radius = 8.0 if metric == "l2" else 20.0
        lims, D, I = index.range_search(QUERIES, radius)
        products = QUERIES @ ROWS.T
        squares = (QUERIES**2).sum(1)[:, None] + (ROWS**2).sum(1) - 2 * products
        inside = squares < radius if metric == "l2" else products > radius
        assert lims[0] == 0 and lims[-1] == len(D) == len(I) and abs(len(I) - inside.sum()) <= 2
        found = {row for query in range(40) for row in I[lims[query] : lims[query + 1]]}
        assert len(found ^ set(np.flatnonzero(inside.any(0)))) <= 2

    @pytest.mark.parametrize(
        "description", ["HNSW16,Flat", "IVF16,Flat", "IVF16,PQ8", "OPQ8_16,IVF16,PQ8", "IDMap,HNSW16"]
    )
    def test_the_factory_and_a_file(self, which, description, tmp_path):
        faiss = module(which)
        index = faiss.index_factory(16, description)
        index.train(ROWS)
        ids = np.arange(1200) * 3 if description.startswith("IDMap") else None
        index.add(ROWS) if ids is None else index.add_with_ids(ROWS, ids)
        if "IVF" in description:
            faiss.ParameterSpace().set_index_parameter(index, "nprobe", 8)
        D, I = index.search(QUERIES, 10)
        truth = exact().ids if ids is None else ids[exact().ids]
        assert D.shape == I.shape == (40, 10) and (np.diff(D, axis=1) >= 0).all()
        assert share_found(I, truth) >= (0.4 if "PQ" in description else 0.9)
        place = str(tmp_path / "an.index")
        faiss.write_index(index, place)
        again = faiss.read_index(place)
        if "IVF" in description:
            faiss.ParameterSpace().set_index_parameter(again, "nprobe", 8)
        assert again.ntotal == 1200
        assert share_found(again.search(QUERIES, 10)[1], I) >= 0.98

    def test_classes_by_name(self, which, tmp_path):
        faiss = module(which)
        graph = faiss.IndexHNSWFlat(16, 16)
        graph.hnsw.efSearch = 100
        lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(16), 16, 8)
        lists.train(ROWS)
        lists.nprobe = 8
        under_ids = faiss.IndexIDMap2(faiss.IndexFlatL2(16))
        under_ids.add_with_ids(ROWS, np.arange(1200) + 5000)
        for index in (graph, lists):
            index.add(ROWS)
            assert share_found(index.search(QUERIES, 10)[1], exact().ids) >= 0.95
        assert share_found(under_ids.search(QUERIES, 10)[1], exact().ids + 5000) == 1.0
        rows = ROWS.copy()
        faiss.normalize_L2(rows)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_faiss_says_what_is_not_there(tmp_path):
    from pageway.compat import faiss

    for make in [
        lambda: faiss.index_factory(16, "LSH"),
        lambda: faiss.IndexFlatL2(16).remove_ids([1]),
        lambda: faiss.SearchParameters(sel=[1]),
    ]:
        with pytest.raises(pageway.UnsupportedError, match="not there"):
            make()
    (tmp_path / "theirs").write_bytes(b"IxF2")
    with pytest.raises(pageway.UnsupportedError, match="theirs: is a file.*'pageway import'"):
        faiss.read_index(tmp_path / "theirs")
    index = faiss.IndexFlatL2(16)
    index.add(ROWS)
    index.reset()
    assert index.ntotal == 0


@pytest.mark.parametrize("stands", ["nothing", "index", "file", "empty directory"])
def test_saving_takes_the_place_of_what_stands_there(tmp_path, stands):
    from pageway.compat import faiss

    place, few, all_rows = tmp_path / "my.faiss", faiss.IndexFlatL2(16), faiss.IndexFlatL2(16)
    few.add(ROWS[:300])
    all_rows.add(ROWS)
    reader = None
    if stands == "index":
        faiss.write_index(few, str(place))
        reader = pageway.open(place)
    elif stands == "file":
        place.write_bytes(b"IxF2")
    elif stands == "empty directory":
        place.mkdir()
    faiss.write_index(all_rows, str(place))
    assert faiss.read_index(str(place)).ntotal == 1200 and pageway.verify(place).sound
    assert os.listdir(tmp_path) == ["my.faiss"]
    if reader is not None:
        assert len(reader) == 300
        assert reader.search(ROWS[299], k=1, list_size=50).ids.tolist() == [299]
        reader.close()


def test_saving_that_fails_leaves_what_stood_there(tmp_path, monkeypatch):
    from pageway.compat import faiss

    index = faiss.IndexFlatL2(16)
    index.add(ROWS)
    place = tmp_path / "my.faiss"
    faiss.write_index(index, str(place))
    index.add(ROWS)
    real, calls = os.rename, []

    def fails_second(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError("the disk is gone")
        real(source, target)

    monkeypatch.setattr(os, "rename", fails_second)
    with pytest.raises(OSError, match="the disk is gone"):
        faiss.write_index(index, str(place))
    monkeypatch.undo()
    assert faiss.read_index(str(place)).ntotal == 1200
    assert os.listdir(tmp_path) == ["my.faiss"]


def test_saving_takes_nothing_of_others_away(tmp_path):
    from pageway.compat import hnswlib

    index = hnswlib.Index("l2", 16)
    index.init_index(1200)
    index.add_items(ROWS[:300])
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(pageway.ExistsError, match="'notes.txt' in it: write to another"):
        index.save_index(str(tmp_path))
    assert os.listdir(tmp_path) == ["notes.txt"]
    with pytest.raises(pageway.UnsupportedError, match="notes.txt: is a file.*'pageway import'"):
        index.load_index(str(tmp_path / "notes.txt"))


@pytest.mark.parametrize("which", both("hnswlib"))
@pytest.mark.parametrize("space", ["l2", "ip", "cosine"])
def test_hnswlib(which, space, tmp_path):
    hnswlib = module(which)
    index = hnswlib.Index(space=space, dim=16)
    index.init_index(max_elements=1200, ef_construction=200, M=16)
    index.set_ef(100)
    index.add_items(ROWS[:700], np.arange(700) + 10)
    first, _ = index.knn_query(ROWS[:5], k=1)
    assert space == "ip" or first.ravel().tolist() == [10, 11, 12, 13, 14]
    index.add_items(ROWS[700:], np.arange(700, 1200) + 10)
    labels, distances = index.knn_query(QUERIES, k=10)
    assert labels.dtype == np.uint64 and labels.shape == distances.shape == (40, 10)
    metric = {"l2": "l2", "ip": "inner_product", "cosine": "cosine"}[space]
    truth = exact(metric)
    assert share_found(labels, truth.ids + 10) >= 0.95
    shift = 1 if space == "ip" else 0
    np.testing.assert_allclose(distances[:, 0], truth.distances[:, 0] + shift, rtol=1e-3, atol=1e-2)
    assert index.get_current_count() == index.element_count == 1200
    assert sorted(index.get_ids_list()) == list(range(10, 1210))
    expected = ROWS[90] / np.linalg.norm(ROWS[90]) if space == "cosine" else ROWS[90]
    np.testing.assert_allclose(np.asarray(index.get_items([100]))[0], expected, rtol=1e-4, atol=1e-5)
    index.save_index(str(tmp_path / "saved.bin"))
    again = hnswlib.Index(space=space, dim=16)
    again.load_index(str(tmp_path / "saved.bin"), max_elements=1300)
    again.set_ef(100)
    assert share_found(again.knn_query(QUERIES, k=10)[0], labels) >= 0.98


@pytest.mark.parametrize("which", both("hnswlib"))
def test_hnswlib_replaces_vectors_of_the_same_label(which, tmp_path):
    hnswlib = module(which)
    index = hnswlib.Index("l2", 16)
    index.init_index(2000)
    index.add_items(ROWS)
    index.add_items(QUERIES[:3], [0, 1, 2])
    labels, distances = index.knn_query(QUERIES[:3], k=1)
    assert labels.ravel().tolist() == [0, 1, 2] and np.abs(distances).max() < 1e-3
    assert index.get_current_count() == 1200


@pytest.mark.parametrize("which", both("hnswlib"))
def test_hnswlib_takes_labels_of_64_bits(which, tmp_path):
    index = module(which).Index("l2", 16)
    index.init_index(1200)
    labels = np.arange(1200, dtype=np.uint64) + np.uint64(2**63)
    index.add_items(ROWS, labels)
    found, _ = index.knn_query(ROWS[:3], k=1)
    assert found.ravel().tolist() == labels[:3].tolist()
    assert sorted(index.get_ids_list()) == labels.tolist()
    np.testing.assert_allclose(np.asarray(index.get_items(labels[5:6]))[0], ROWS[5], rtol=1e-5)
    index.save_index(str(tmp_path / "saved.bin"))
    again = module(which).Index("l2", 16)
    again.load_index(str(tmp_path / "saved.bin"))
    assert again.knn_query(ROWS[:3], k=1)[0].ravel().tolist() == labels[:3].tolist()


def test_hnswlib_says_what_is_not_there():
    from pageway.compat import hnswlib

    index = hnswlib.Index("l2", 16)
    with pytest.raises(pageway.InvalidInputError, match="init_index"):
        index.add_items(ROWS)
    index.init_index(10)
    with pytest.raises(pageway.InvalidInputError, match="id -1: ids are uint64 here, from 0"):
        index.add_items(ROWS[:1], [-1])
    with pytest.raises(pageway.InvalidInputError, match="whole numbers, these are float64"):
        index.add_items(ROWS[:1], [0.9])
    for call in [lambda: index.mark_deleted(3), lambda: index.knn_query(ROWS, filter=len)]:
        with pytest.raises(pageway.UnsupportedError, match="not there"):
            call()


@pytest.mark.parametrize("which", both("diskannpy"))
@pytest.mark.parametrize("metric", ["l2", "mips"])
def test_diskannpy_on_disk(which, metric, tmp_path):
    diskannpy = module(which)
    diskannpy.build_disk_index(
        data=ROWS,
        distance_metric=metric,
        index_directory=str(tmp_path),
        complexity=64,
        graph_degree=32,
        search_memory_maximum=0.01,
        build_memory_maximum=1.0,
        num_threads=2,
        pq_disk_bytes=0,
    )
    index = diskannpy.StaticDiskIndex(str(tmp_path), num_threads=2, num_nodes_to_cache=10)
    one = index.search(QUERIES[0], k_neighbors=10, complexity=64, beam_width=4)
    many = index.batch_search(QUERIES, k_neighbors=10, complexity=64, num_threads=2, beam_width=4)
    truth = exact("l2" if metric == "l2" else "inner_product")
    assert one.identifiers.shape == one.distances.shape == (10,)
    assert many.identifiers.dtype == np.uint32 and many.identifiers.shape == (40, 10)
    identifiers, distances = many
    assert share_found(identifiers, truth.ids) >= 0.9
    if metric == "l2":
        np.testing.assert_allclose(distances[:, 0], truth.distances[:, 0], rtol=1e-2)


def test_diskannpy_cuts_nothing(tmp_path):
    from pageway.compat import diskannpy

    for tags in ([-1], [2**32], [0.5]):
        with pytest.raises(pageway.InvalidInputError):
            diskannpy.tags_to_file(str(tmp_path / "tags.bin"), np.array(tags))
    rows = np.clip(ROWS * 4 + 128, 0, 255).astype(np.uint8)
    how = {"distance_metric": "l2", "index_directory": str(tmp_path), "complexity": 32}
    diskannpy.build_memory_index(rows, graph_degree=16, num_threads=1, **how)
    index = diskannpy.StaticMemoryIndex(str(tmp_path), 1, 32)
    assert index.search(rows[3], 1, 32).identifiers.tolist() == [3]
    with pytest.raises(pageway.InvalidInputError, match="are float32, the vectors of the index uint8"):
        index.search(rows[3] + np.float32(0.5), 1, 32)


@pytest.mark.parametrize("which", both("diskannpy"))
def test_diskannpy_in_memory_with_tags_and_files(which, tmp_path):
    diskannpy = module(which)
    diskannpy.vectors_to_file(str(tmp_path / "rows.bin"), ROWS)
    np.testing.assert_array_equal(
        diskannpy.vectors_from_file(str(tmp_path / "rows.bin"), np.float32), ROWS
    )
    tags = np.arange(1200, dtype=np.uint32) + 7
    diskannpy.build_memory_index(
        data=str(tmp_path / "rows.bin"),
        distance_metric="l2",
        vector_dtype=np.float32,
        index_directory=str(tmp_path),
        complexity=64,
        graph_degree=32,
        num_threads=1,
        alpha=1.2,
        tags=tags,
        index_prefix="mem",
    )
    index = diskannpy.StaticMemoryIndex(
        index_directory=str(tmp_path),
        num_threads=1,
        initial_search_complexity=64,
        index_prefix="mem",
    )
    found = index.batch_search(QUERIES, k_neighbors=10, complexity=64, num_threads=1)
    rows = exact().ids
    assert max(share_found(found.identifiers, rows + 7), share_found(found.identifiers, rows)) >= 0.9
