"""What the tutorials of other libraries do, in our words: with the library, and with its shim."""

import importlib
import pickle

import numpy as np
import pytest

D = 24


def which(name):
    """The shim, and the library where it is installed."""
    return [pytest.param((True, name), id="pageway"), pytest.param((False, name), id=name)]


def module(request):
    ours, name = request
    if ours:
        return importlib.import_module(f"pageway.compat.{name}")
    return pytest.importorskip(name, reason=f"{name} is not installed")


def drifting(count, seed):
    """Uniform rows whose first component grows with their number."""
    rows = np.random.default_rng(seed).random((count, D), dtype=np.float32)
    rows[:, 0] += np.arange(count) / 1000.0
    return rows


BASE, ASKED = drifting(2000, 1), drifting(100, 2)


def nearest(k):
    apart = ((ASKED[:, None] - BASE[None]) ** 2).sum(-1)
    return np.argsort(apart, axis=1, kind="stable")[:, :k]


def recall(ids, k):
    truth = nearest(k)
    return np.mean([np.isin(own, true).mean() for own, true in zip(ids, truth)])


class TestFaiss:
    @pytest.mark.parametrize("request_", which("faiss"))
    def test_brute_force(self, request_, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        index = module(request_).IndexFlatL2(D)
        assert index.is_trained and index.ntotal == 0
        index.add(BASE)
        assert index.ntotal == len(BASE)
        distances, ids = index.search(BASE[:5], 4)
        assert distances.shape == ids.shape == (5, 4)
        np.testing.assert_array_equal(ids[:, 0], np.arange(5))
        np.testing.assert_allclose(distances[:, 0], 0, atol=1e-5)
        _, ids = index.search(ASKED, 4)
        assert recall(ids, 4) == 1.0

    @pytest.mark.parametrize("request_", which("faiss"))
    @pytest.mark.parametrize("kind", ["flat", "codes"])
    def test_lists(self, request_, kind, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        faiss = module(request_)
        quantizer = faiss.IndexFlatL2(D)
        if kind == "flat":
            index = faiss.IndexIVFFlat(quantizer, D, 20)
        else:
            index = faiss.IndexIVFPQ(quantizer, D, 20, 8, 8)
        assert not index.is_trained
        index.train(BASE)
        assert index.is_trained
        index.add(BASE)
        index.nprobe = 10
        distances, ids = index.search(ASKED, 4)
        assert ids.shape == (100, 4) and (np.diff(distances, axis=1) >= 0).all()
        assert recall(ids, 4) > (0.9 if kind == "flat" else 0.3)


class TestHnswlib:
    @pytest.mark.parametrize("request_", which("hnswlib"))
    def test_two_halves_saved_between(self, request_, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        hnswlib = module(request_)
        index = hnswlib.Index(space="l2", dim=D)
        index.init_index(max_elements=1000, ef_construction=100, M=16)
        index.set_ef(50)
        index.set_num_threads(2)
        index.add_items(BASE[:1000])
        labels, _ = index.knn_query(BASE[:1000], k=1)
        assert np.mean(labels.reshape(-1) == np.arange(1000)) > 0.99
        index.save_index("half.bin")
        del index
        index = hnswlib.Index(space="l2", dim=D)
        index.load_index("half.bin", max_elements=2000)
        index.add_items(BASE[1000:])
        assert index.get_current_count() == 2000
        labels, distances = index.knn_query(BASE, k=1)
        assert np.mean(labels.reshape(-1) == np.arange(2000)) > 0.99
        assert labels.shape == distances.shape == (2000, 1)

    @pytest.mark.parametrize("request_", which("hnswlib"))
    def test_labels_counts_and_properties(self, request_, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        index = module(request_).Index(space="cosine", dim=D)
        index.init_index(max_elements=500, ef_construction=100, M=16)
        index.add_items(BASE[:500], np.arange(500) * 3)
        index.set_ef(100)
        labels, _ = index.knn_query(BASE[:50], k=3)
        np.testing.assert_array_equal(labels[:, 0], np.arange(50) * 3)
        assert (index.space, index.dim, index.element_count) == ("cosine", D, 500)
        assert index.max_elements >= 500


class TestDiskannpy:
    @pytest.mark.parametrize("request_", which("diskannpy"))
    def test_build_on_disk_and_search_a_batch(self, request_, tmp_path):
        diskannpy = module(request_)
        place = tmp_path / "index"
        place.mkdir()
        diskannpy.build_disk_index(
            data=BASE,
            distance_metric="l2",
            index_directory=str(place),
            complexity=50,
            graph_degree=32,
            search_memory_maximum=0.1,
            build_memory_maximum=1.0,
            num_threads=2,
            pq_disk_bytes=0,
        )
        index = diskannpy.StaticDiskIndex(
            index_directory=str(place), num_threads=2, num_nodes_to_cache=10
        )
        found = index.batch_search(
            ASKED, k_neighbors=4, complexity=50, beam_width=4, num_threads=2
        )
        assert found.identifiers.shape == found.distances.shape == (100, 4)
        assert recall(found.identifiers.astype(np.int64), 4) > 0.9
        one = index.search(ASKED[0], k_neighbors=4, complexity=50, beam_width=4)
        assert one.identifiers.shape == one.distances.shape == (4,)


@pytest.mark.parametrize("request_", which("hnswlib"))
def test_an_index_of_hnswlib_is_pickled(request_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    index = module(request_).Index(space="l2", dim=D)
    index.init_index(max_elements=300, ef_construction=100, M=16)
    index.add_items(BASE[:300])
    index.set_ef(60)
    before, _ = index.knn_query(ASKED[:20], k=5)
    again = pickle.loads(pickle.dumps(index))
    again.set_ef(60)
    after, _ = again.knn_query(ASKED[:20], k=5)
    np.testing.assert_array_equal(before, after)
