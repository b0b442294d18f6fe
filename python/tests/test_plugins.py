"""The plug-ins of ann-benchmarks and big-ann-benchmarks, driven in the order of their runners.

Neither framework is installed: small stand-ins with the same names, signatures and call order take
their places. What the frameworks demand is asserted here: unique ids that are rows, values that an
HDF5 attribute can hold, configurations that expand to what the constructors take.
"""

import importlib.util
import itertools
import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import clustered, distances, recall

INTEGRATIONS = Path(__file__).parents[2] / "integrations"
ANN = INTEGRATIONS / "ann-benchmarks" / "pageway"
BIG_ANN = INTEGRATIONS / "big-ann-benchmarks" / "pageway"

pytestmark = pytest.mark.skipif(not ANN.is_dir(), reason="not a checkout: no integrations")


class BaseANN:
    """What both frameworks let their algorithms inherit."""

    def done(self):
        pass

    def get_memory_usage(self):
        raise NotImplementedError("the frameworks measure the process, builds included")

    def get_results(self):
        return self.res

    def get_additional(self):
        return {}

    def __str__(self):
        return self.name


def load(name, path, monkeypatch, **stand_ins):
    """The module at `path` under the `name` it has in a framework, between stand-ins."""
    for full, attributes in stand_ins.items():
        full = full.replace("__", ".")
        parts = full.split(".")
        for depth in range(1, len(parts)):
            package = types.ModuleType(".".join(parts[:depth]))
            package.__path__ = []
            if package.__name__ not in sys.modules:
                monkeypatch.setitem(sys.modules, package.__name__, package)
        module = types.ModuleType(full)
        module.__dict__.update(attributes)
        monkeypatch.setitem(sys.modules, full, module)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def assert_storable(attributes):
    """Results are stored as attributes of HDF5: text and numbers, named by text."""
    for name, value in attributes.items():
        assert isinstance(name, str)
        assert isinstance(value, (str, int, float, np.number)), name


# ann-benchmarks


@pytest.fixture
def Ann(monkeypatch):
    base = {"BaseANN": BaseANN}
    name = "ann_benchmarks.algorithms.pageway.module"
    module = load(
        name,
        ANN / "module.py",
        monkeypatch,
        ann_benchmarks__algorithms__base__module=base,
        ann_benchmarks__algorithms__pageway={},
    )
    return module.Pageway


def run_ann(algorithm, train, test, count, query_groups, batch=False):
    """One definition as the runner treats it: per query group its ids and attributes."""
    groups = []
    try:
        before = algorithm.get_memory_usage()
        algorithm.fit(train)
        size = algorithm.get_memory_usage() - before
        for arguments in query_groups or [[]]:
            if arguments:
                algorithm.set_query_arguments(*arguments)
            for _ in range(2):
                if batch == "prepared":
                    algorithm.prepare_batch_query(test, count)
                    algorithm.run_batch_query()
                    rows = algorithm.get_batch_results()
                elif batch:
                    algorithm.batch_query(test, count)
                    rows = algorithm.get_batch_results()
                else:
                    rows = [algorithm.query(query, count) for query in test]
            for row in rows:
                assert len(row) == len(set(row)) <= count
                assert all(0 <= int(node) < len(train) for node in row)
            attributes = {"name": str(algorithm), "index_size": size, "run_count": 2}
            attributes.update(algorithm.get_additional())
            assert_storable(attributes)
            groups.append((rows, attributes))
    finally:
        algorithm.done()
    return groups


LITTLE = "700kB"
#: So few vectors would else be read once and then kept.
NO_CACHE = {"overrides": {"cache": {"nodes": "none"}}}
SETTINGS = {"preset": "diskann", "memory": LITTLE, "degree": 32, "build_list": 64}


@pytest.mark.parametrize("distance", ["euclidean", "angular"])
def test_ann_benchmarks_run(Ann, vectors, queries, distance):
    metric = {"euclidean": "l2", "angular": "cosine"}[distance]
    algorithm = Ann(distance, 10, {**SETTINGS, **NO_CACHE})
    groups = run_ann(algorithm, vectors, queries, 10, [[10], [100]])
    reached = [recall(np.stack(rows), vectors, queries, metric) for rows, _ in groups]
    assert reached[0] < reached[1] and reached[1] > 0.98
    low, high = (attributes for _, attributes in groups)
    assert low["name"] != high["name"] and "list_size=100" in high["name"]
    assert low["dist_comps"] < high["dist_comps"]
    assert high["pages_per_query"] > low["pages_per_query"] > 0
    per_query = high["dist_comps"] / (high["run_count"] * len(queries))
    assert high["exact_distances_per_query"] < per_query < len(vectors)
    assert 0 < high["index_size"] * 1024 == high["memory_bytes"] == 700_000
    assert high["disk_bytes"] > vectors.nbytes


def test_ann_benchmarks_batches_answer_as_single_queries(Ann, vectors, queries):
    (single, _), (batch, _), (prepared, _) = (
        run_ann(Ann("euclidean", 10, SETTINGS), vectors, queries, 10, [[40]], batch)[0]
        for batch in (False, True, "prepared")
    )
    np.testing.assert_array_equal(np.stack(single), np.stack(batch))
    np.testing.assert_array_equal(np.stack(single), np.stack(prepared))


def test_ann_benchmarks_without_query_arguments(Ann, vectors, queries):
    float64 = vectors.astype(np.float64), queries.astype(np.float64)
    ((rows, attributes),) = run_ann(Ann("euclidean", 10, SETTINGS), *float64, 10, [])
    assert recall(np.stack(rows), vectors, queries, "l2") > 0.9
    assert "list_size" not in attributes["name"]


def test_ann_benchmarks_leaves_no_files(Ann, vectors, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    algorithm = Ann("euclidean", 10, SETTINGS)
    assert algorithm.get_memory_usage() == 0
    algorithm.fit(vectors)
    assert len(list(tmp_path.iterdir())) == 1
    algorithm.done()
    algorithm.done()
    assert list(tmp_path.iterdir()) == [] and algorithm.get_memory_usage() == 0


def test_ann_benchmarks_with_vectors_that_have_no_direction(Ann, vectors, queries):
    train, test = vectors.copy(), queries.copy()
    train[[0, 700]] = 0
    test[3] = 0
    for batch in (False, True):
        algorithm = Ann("angular", 10, SETTINGS)
        ((rows, _),) = run_ann(algorithm, train, test, 10, [[80]], batch)
        assert len(rows[3]) == 0
        directed = np.delete(np.arange(len(test)), 3)
        found = np.stack([rows[query] for query in directed])
        assert not {0, 700} & set(found.ravel().tolist())
        train_near = np.where(train.any(axis=1)[:, None], train, -1e3)
        assert recall(found, train_near, test[directed], "cosine") > 0.95


def test_ann_benchmarks_shares_of_memory(Ann):
    rows = np.zeros((2_000_000, 16), np.float32)
    for share, expected in [("20%", 25_600_000), ("1%", 16_000_000), ("3MB", "3MB")]:
        assert Ann("angular", 10, {"memory": share})._memory_of(rows) == expected


def test_ann_benchmarks_refuses_other_distances(Ann):
    with pytest.raises(NotImplementedError, match="hamming"):
        Ann("hamming", 10, SETTINGS)


def expanded(arguments):
    """Lists multiplied out as in ann-benchmarks: of values, or of the values of a dictionary."""
    if isinstance(arguments, dict):
        choices = [
            [(key, one) for one in value] if isinstance(value, list) else [(key, value)]
            for key, value in arguments.items()
        ]
        return [dict(pairs) for pairs in itertools.product(*choices)]
    choices = [value if isinstance(value, list) else [value] for value in arguments]
    return [list(values) for values in itertools.product(*choices)]


def test_ann_benchmarks_configuration(Ann, vectors, queries):
    yaml = pytest.importorskip("yaml")
    entries = yaml.safe_load((ANN / "config.yml").read_text())["float"]["any"]
    made = set()
    for entry in entries:
        assert entry["module"] == "ann_benchmarks.algorithms.pageway"
        assert entry["docker_tag"] == "ann-benchmarks-pageway" and entry["name"] == "pageway"
        base = [{"@metric": "angular", "@count": 10}[name] for name in entry["base_args"]]
        for group in entry["run_groups"].values():
            settings = expanded([expanded(group["arg_groups"][0])])
            for arguments in settings:
                algorithm = Ann(*base, *arguments)
                made.add(str(algorithm))
                queried = expanded(group["query_args"])
                ((rows, _),) = run_ann(algorithm, vectors, queries[:5], 10, queried[-1:])
                assert recall(np.stack(rows), vectors, queries[:5], "cosine") > 0.9
    assert len(made) == 5


# big-ann-benchmarks


class Dataset:
    """A data set in the framework's format; queries are float32 whatever the vectors are."""

    def __init__(self, directory, rows, queries, distance, search="knn", file="base", more=None):
        self.nb, self.d = rows.shape
        self.dtype, self._distance, self._search = str(rows.dtype), distance, search
        self._queries, self._path = queries.astype(np.float32), directory / file
        stored = rows if more is None else np.concatenate([rows, more])
        with self._path.open("wb") as target:
            np.array(stored.shape, np.uint32).tofile(target)
            stored.tofile(target)

    def short_name(self):
        return f"Stub-{self.nb}"

    def get_dataset_fn(self):
        return os.path.relpath(self._path)

    def get_queries(self):
        return self._queries

    def distance(self):
        return self._distance

    def search_type(self):
        return self._search


@pytest.fixture
def big(monkeypatch, tmp_path):
    """The plug-in's module and the data sets it sees, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    sets = {}
    module = load(
        "benchmark.algorithms.pageway",
        BIG_ANN / "pageway.py",
        monkeypatch,
        benchmark__algorithms__base={"BaseANN": BaseANN},
        benchmark__datasets={"DATASETS": sets},
    )
    return types.SimpleNamespace(
        Pageway=module.Pageway, Filter=module.PagewayFilter, sets=sets, directory=tmp_path
    )


def run_big(algorithm, dataset, name, count, query_groups, rebuild=False):
    """One definition as the runner treats it: per query group its results and attributes."""
    groups = []
    try:
        before = algorithm.get_memory_usage()
        if rebuild or not algorithm.load_index(name):
            algorithm.fit(name)
        size = algorithm.get_memory_usage() - before
        queries = dataset.get_queries()
        for arguments in query_groups or [[]]:
            if arguments:
                algorithm.set_query_arguments(*arguments)
            for _ in range(2):
                if dataset.search_type() == "knn":
                    algorithm.query(queries, count)
                    results = algorithm.get_results()
                    assert results.shape == (len(queries), count) and results.dtype.kind == "i"
                else:
                    algorithm.range_query(queries, count)
                    results = algorithm.get_range_results()
            attributes = {"name": str(algorithm), "index_size": size}
            attributes.update(algorithm.get_additional())
            assert_storable(attributes)
            groups.append((results, attributes))
    finally:
        algorithm.done()
    return groups


PARAMS = {"preset": "diskann", "memory": LITTLE, "degree": 32, "build_list": 64}


@pytest.mark.parametrize(
    ("dtype", "distance", "metric"),
    [
        ("float32", "euclidean", "l2"),
        ("uint8", "euclidean", "l2"),
        ("int8", "euclidean", "l2"),
        ("float32", "ip", "inner_product"),
    ],
)
def test_big_ann_benchmarks_run(big, dtype, distance, metric):
    rows = clustered(dtype, count=1540)
    base, queries = rows[:1500], rows[1500:]
    dataset = Dataset(big.directory, base, queries, distance, file="base.crop_nb_1500")
    big.sets["stub"] = lambda: dataset
    groups = [[{"list_size": 10, "threads": 1}], [{"list_size": 100, "beam": 8}]]
    # Codes so short that the longer list finds more.
    params = {**PARAMS, **NO_CACHE, "code_bytes": 4}
    algorithm = big.Pageway(distance, params)
    results = run_big(algorithm, dataset, "stub", 10, groups)
    low, high = (recall(found, base, queries, metric) for found, _ in results)
    assert low < high and high > (0.9 if distance == "ip" else 0.98)
    first, second = (attributes for _, attributes in results)
    assert 0 < first["mean_ssd_ios"] < second["mean_ssd_ios"]
    assert 0 < first["mean_latency"] <= first["latency_999"]
    assert 0 < first["dist_comps"] < second["dist_comps"]
    assert second["index_size"] * 1024 == second["memory_bytes"] == 700_000
    assert [path.name for path in big.directory.rglob("vectors*")] == []


def test_big_ann_benchmarks_load_what_was_built(big, vectors, queries):
    dataset = Dataset(big.directory, vectors, queries, "euclidean")
    big.sets["stub"] = lambda: dataset
    assert big.Pageway("euclidean", PARAMS).load_index("stub") is False
    groups = [[{"list_size": 40}]]
    ((built, _),) = run_big(big.Pageway("euclidean", PARAMS), dataset, "stub", 10, groups)
    again = big.Pageway("euclidean", PARAMS)
    assert again.load_index("stub") is True
    again.done()
    ((loaded, _),) = run_big(again, dataset, "stub", 10, groups)
    np.testing.assert_array_equal(built, loaded)
    other = big.Pageway("euclidean", {**PARAMS, "degree": 24})
    assert other.load_index("stub") is False
    ((rebuilt, _),) = run_big(again, dataset, "stub", 10, groups, rebuild=True)
    np.testing.assert_array_equal(built, rebuilt)


def test_big_ann_benchmarks_use_the_first_rows_of_a_larger_file(big, vectors, queries):
    dataset = Dataset(big.directory, vectors[:1000], queries, "euclidean", more=vectors[1000:])
    big.sets["stub"] = lambda: dataset
    ((found, _),) = run_big(big.Pageway("euclidean", PARAMS), dataset, "stub", 10, [])
    assert found.max() < 1000
    assert recall(found, vectors[:1000], queries, "l2") > 0.9


def test_big_ann_benchmarks_more_neighbours_than_announced(big, vectors, queries):
    dataset = Dataset(big.directory, vectors, queries, "euclidean")
    big.sets["stub"] = lambda: dataset
    groups = [[{"list_size": 200, "memory": "2MB"}]]
    ((found, _),) = run_big(big.Pageway("euclidean", PARAMS), dataset, "stub", 100, groups)
    assert recall(found, vectors, queries, "l2") > 0.95


def test_big_ann_benchmarks_range(big):
    rows = clustered("uint8", count=1540)
    base, queries = rows[:1500], rows[1500:]
    exact = distances(base, queries, "l2")
    radius = int(np.median(np.sort(exact, axis=1)[:, 20]))
    dataset = Dataset(big.directory, base, queries, "euclidean", search="range")
    big.sets["stub"] = lambda: dataset
    groups = [[{"list_size": 400, "limit": 500, "threads": 1}]]
    params = {**PARAMS, "memory": "16MB"}
    (((lims, found, ids), attributes),) = run_big(
        big.Pageway("euclidean", params), dataset, "stub", radius, groups
    )
    assert lims.shape == (len(queries) + 1,) and lims[0] == 0 and lims[-1] == len(ids)
    inside = [set(np.nonzero(row <= radius)[0].tolist()) for row in exact]
    for query, all_ in enumerate(inside):
        own = ids[lims[query] : lims[query + 1]]
        assert len(set(own.tolist())) == len(own) and set(own.tolist()) <= all_
        np.testing.assert_allclose(found[lims[query] : lims[query + 1]], exact[query, own])
    assert lims[-1] >= 0.97 * sum(map(len, inside)) > 0
    assert attributes["dist_comps"] > 0


@pytest.mark.parametrize("preset", ["diskann", "aisaq", "starling", "gorgeous", "pageann"])
def test_big_ann_benchmarks_files_are_known_before_they_are_there(big, vectors, queries, preset):
    """The order of a download: the names are asked for where nothing has been built."""
    dataset = Dataset(big.directory, vectors, queries, "euclidean")
    big.sets["stub"] = lambda: dataset
    params = {"preset": preset, "memory": "16MB", "degree": 24, "build_list": 48}
    builder = big.Pageway("euclidean", params)
    expected = builder.index_files_to_store("stub")
    ((built, _),) = run_big(builder, dataset, "stub", 10, [])
    assert builder.index_files_to_store("stub") == expected
    directory, prefix, components = expected
    kept = {name: Path(directory, prefix + name).read_bytes() for name in components}
    for file in Path(directory).iterdir():
        file.unlink()
    assert not builder.load_index("stub")
    for name, content in kept.items():
        Path(directory, name).write_bytes(content)
    ((downloaded, _),) = run_big(big.Pageway("euclidean", params), dataset, "stub", 10, [])
    np.testing.assert_array_equal(built, downloaded)


def test_big_ann_benchmarks_refuses_what_it_cannot_do(big, vectors, queries):
    with pytest.raises(NotImplementedError, match="jaccard"):
        big.Pageway("jaccard", PARAMS)
    bytes_ = clustered("uint8", count=300)
    dataset = Dataset(big.directory, bytes_, bytes_[:5], "euclidean")
    big.sets["stub"] = lambda: dataset
    algorithm = big.Pageway("euclidean", PARAMS)
    with pytest.raises(NotImplementedError, match="once it is built"):
        big.Pageway("euclidean", {"overrides": {}, "preset": "own"}).index_files_to_store("stub")
    algorithm.fit("stub")
    with pytest.raises(ValueError, match="uint8"):
        algorithm.query(bytes_[:5].astype(np.float32) + 0.5, 10)
    algorithm.done()


def test_big_ann_benchmarks_configuration(big, vectors, queries):
    yaml = pytest.importorskip("yaml")
    sets = yaml.safe_load((BIG_ANN / "config.yaml").read_text())
    ((entry,),) = (
        own.values() for own in yaml.safe_load((BIG_ANN / "filter.yaml").read_text()).values()
    )
    for params in json.loads(entry["run-groups"]["base"]["args"]):
        big.Filter("euclidean", params)
    assert {"bigann-1B", "deep-10M", "msspacev-100M", "ssnpp-1B", "random-xs"} <= set(sets)
    for name, algorithms in sets.items():
        (entry,) = algorithms.values()
        assert entry["module"] == "benchmark.algorithms.pageway"
        assert {"docker-tag", "constructor", "base-args", "run-groups"} <= set(entry)
        for group in entry["run-groups"].values():
            for params in json.loads(group["args"]):
                big.Pageway("euclidean", params)
            for query in json.loads(group["query-args"]):
                assert set(query) <= {"list_size", "threads", "beam", "limit"}
                assert ("limit" in query) == ("ssnpp" in name or "range" in name)
    for name, radius in (("random-xs", None), ("random-range-xs", 4)):
        group = sets[name]["pageway"]["run-groups"]["base"]
        search = "range" if radius else "knn"
        dataset = Dataset(big.directory, vectors, queries, "euclidean", search)
        big.sets[name] = lambda dataset=dataset: dataset
        algorithm = big.Pageway("euclidean", json.loads(group["args"])[0])
        asked = [[query] for query in json.loads(group["query-args"])]
        assert len(run_big(algorithm, dataset, name, radius or 10, asked)) == len(asked)


class Sparse:
    """Rows of columns, as scipy's csr_matrix has them."""

    def __init__(self, rows, columns):
        self.shape = len(rows), columns
        self.indptr = np.cumsum([0] + [len(row) for row in rows])
        self.indices = np.array([tag for row in rows for tag in row], np.int32)


def test_big_ann_benchmarks_filters(big):
    rows = clustered("uint8", count=1540)
    base, queries = rows[:1500], rows[1500:]
    tags = [sorted({row % 7, 10 + row % 3, 20 + row % 500}) for row in range(1500)]
    dataset = Dataset(big.directory, base, queries, "euclidean")
    dataset.get_dataset_metadata = lambda: Sparse(tags, 520)
    big.sets["stub"] = lambda: dataset
    algorithm = big.Filter("euclidean", {**PARAMS, "memory": "2MB"})
    assert algorithm.track() == "filter" and not algorithm.load_index("stub")
    algorithm.fit("stub")
    algorithm.set_query_arguments({"list_size": 100, "threads": 1})
    wanted = [[[q % 7], [q % 7, 10 + q % 3], [20 + q]][q % 3] for q in range(40)]
    algorithm.filtered_query(queries, Sparse(wanted, 520), 10)
    found = algorithm.get_results()
    assert found.shape == (40, 10) and found.dtype.kind == "i"
    hits = 0
    for query, (ids, own) in enumerate(zip(found, wanted)):
        matching = [row for row in range(1500) if set(own) <= set(tags[row])]
        assert (ids >= 0).sum() == min(10, len(matching)) and set(ids[ids >= 0]) <= set(matching)
        far = ((base[matching].astype(int) - queries[query].astype(int)) ** 2).sum(1)
        nearest = np.array(matching)[np.argsort(far, kind="stable")][:10]
        hits += len(set(nearest) & set(ids)) / len(nearest)
    assert hits / 40 > 0.97
    assert algorithm.get_additional()["dist_comps"] > 0
    algorithm.done()
