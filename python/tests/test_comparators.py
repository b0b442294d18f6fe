"""The comparators: their protocol, what they share, and every library that is installed.

The scripts run as the lab runs them: one process per command, lines of JSON on standard output.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import clustered

import pageway

SCRIPTS = Path(__file__).parents[2] / "crates" / "lab" / "comparators"
LIBRARIES = {
    "with_diskannpy": "diskannpy",
    "with_faiss": "faiss-cpu",
    "with_hnswlib": "hnswlib",
    "with_lancedb": "lancedb",
    "with_usearch": "usearch",
}

pytestmark = pytest.mark.skipif(not SCRIPTS.is_dir(), reason="not a checkout: no comparators")

#: A library of numpy alone, which prints as real ones do: to standard output.
TOY = """
import os
import numpy as np
from common import Library, Opened, run

class Scan(Opened):
    def __init__(self, rows):
        self._rows = rows

    def set_effort(self, effort):
        self._seen = self._rows[:effort]

    def one(self, query, k):
        distances = ((self._seen - query) ** 2).sum(axis=1)
        ids = np.argsort(distances, kind="stable")[:k]
        return ids, distances[ids].astype(np.float32)

class Toy(Library):
    name, module, requirement = "toy", os.environ.get("TOY_MODULE", "numpy"), "numpy"
    effort_means = "rows that are looked at"

    def build(self, task):
        os.system("echo what libraries print")
        np.save(task.out / "rows.npy", np.asarray(task.rows, np.float32))
        return {"shift": task.option("shift", 0.5)}

    def open(self, task):
        print("more of it")
        return Scan(np.load(task.directory / "rows.npy"))

run(Toy())
"""


def said(script, *arguments, code=0, **environment):
    """The lines of JSON that a script prints; nothing else may be on its standard output."""
    done = subprocess.run(
        [sys.executable, str(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(SCRIPTS), **environment},
    )
    assert done.returncode == code, done.stderr + done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


def write_vectors(path, rows):
    with path.open("wb") as file:
        np.array(rows.shape, np.uint32).tofile(file)
        rows.tofile(file)
    return path


def write_truth(path, ids, distances=None):
    with path.open("wb") as file:
        np.array(ids.shape, np.uint32).tofile(file)
        ids.astype(np.uint32).tofile(file)
        if distances is not None:
            distances.astype(np.float32).tofile(file)
    return path


class Data:
    """Files of vectors, queries and exact neighbours."""

    def __init__(self, directory, dtype="float32", metric="l2", count=1200):
        rows = clustered(dtype, count=count + 20, dimension=32)
        self.base, self.queries, self.metric = rows[:count], rows[count:], metric
        ending = {"float32": ".fbin", "uint8": ".u8bin"}[dtype]
        self.base_file = write_vectors(directory / f"base{ending}", self.base)
        self.query_file = write_vectors(directory / f"queries{ending}", self.queries)
        own = {"ip": "inner_product"}.get(metric, metric)
        ids, distances = pageway.ground_truth(self.base, self.queries, k=20, metric=own)
        self.truth_file = write_truth(directory / "truth.ibin", ids, distances)

    def build(self, script, out, *more, code=0):
        settings = ("--metric", self.metric, "--threads", 1, "--seed", 7)
        command = ("build", "--data", self.base_file, "--out", out, *settings)
        (line,) = said(script, *command, *more, code=code)
        return line

    def search(self, script, command, index, *more, code=0):
        files = ("--index", index, "--queries", self.query_file, "--truth", self.truth_file)
        return said(script, command, *files, "-k", 10, "--threads", 1, *more, code=code)


@pytest.fixture
def toy(tmp_path):
    script = tmp_path / "toy.py"
    script.write_text(TOY)
    return script


@pytest.fixture
def measuring(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import measuring

    return measuring


# The contract


@pytest.mark.parametrize("script", LIBRARIES)
def test_check_tells_whether_a_library_is_there(script):
    try:
        version = importlib.metadata.version(LIBRARIES[script])
    except importlib.metadata.PackageNotFoundError:
        version = None
    (line,) = said(SCRIPTS / f"{script}.py", "check", code=0 if version else 3)
    assert set(line) == {"library", "version", "available", "reason"}
    assert line["library"] == script.replace("with_", "")
    assert (line["available"], line["version"]) == (version is not None, version)
    if version is None:
        assert f"pip install {LIBRARIES[script]}==" in line["reason"]


def test_a_python_without_numpy_is_told_so(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('none here')")
    (line,) = said(SCRIPTS / "with_faiss.py", "check", code=3, PYTHONPATH=str(tmp_path))
    assert (line["library"], line["available"]) == ("faiss", False)
    assert "pip install numpy (none here)" in line["reason"]


def test_a_missing_library_ends_every_command_alike(toy, tmp_path):
    data = Data(tmp_path)
    build = ("build", "--data", data.base_file, "--out", tmp_path / "i")
    for command in (("check",), build):
        (line,) = said(toy, *command, code=3, TOY_MODULE="surely_not_installed")
        assert line["available"] is False and "pip install numpy" in line["reason"]
    assert not (tmp_path / "i").exists()


def test_build_and_search_print_what_the_lab_reads(toy, tmp_path):
    data = Data(tmp_path)
    built = data.build(toy, tmp_path / "i", "--option", "shift=2", "unused=1")
    assert built["parameters"] == {"shift": 2.0, "element": "float32", "seed": 7}
    assert (built["rows"], built["dimensions"]) == data.base.shape
    assert built["build_seconds"] > 0 and built["index_bytes"] > built["raw_bytes"]
    (line,) = data.search(toy, "search", tmp_path / "i", "--effort", 1200)
    assert line["recall"] == 1.0 and line["queries"] == 20 and line["k"] == 10
    assert (line["library"], line["effort"], line["threads"]) == ("toy", 1200, 1)
    assert line["qps"] == pytest.approx(line["queries"] / line["seconds"])
    latency = line["latency_us"]
    assert 0 < latency["p50"] <= latency["p99"] and latency["mean"] <= latency["p99"]
    assert line["memory_kind"] == "resident" and line["open_ms"] > 0
    assert line["index_bytes"] >= data.base.nbytes
    assert line["parameters"]["effort_means"] == "rows that are looked at"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
def test_memory_and_reads_are_counted(toy, tmp_path):
    data = Data(tmp_path)
    assert data.build(toy, tmp_path / "i")["peak_memory_bytes"] > 1_000_000
    cold = ("--effort", 100, "--drop-cache", "--warm-up", 0)
    (line,) = data.search(toy, "search", tmp_path / "i", *cold)
    assert line["peak_memory_bytes"] >= line["memory_before_open_bytes"] > 1_000_000
    assert line["anonymous_memory_bytes"] > 0 and line["mapped_memory_bytes"] > 0
    assert line["os_read_bytes"] >= 0 and line["open_read_bytes"] >= 0


def test_a_sweep_prints_a_line_per_effort(toy, tmp_path):
    data = Data(tmp_path)
    data.build(toy, tmp_path / "i")
    limits = ("--limit", 5, "--latency-queries", 3)
    lines = data.search(toy, "sweep", tmp_path / "i", "--efforts", "20,600,1200", *limits)
    assert [line["effort"] for line in lines] == [20, 600, 1200]
    recalls = [line["recall"] for line in lines]
    assert recalls == sorted(recalls) and recalls[0] < recalls[-1] == 1.0
    assert {(line["queries"], line["latency_queries"]) for line in lines} == {(5, 3)}
    assert len({line["open_ms"] for line in lines}) == 1


def test_failures_are_said_in_the_line(toy, tmp_path):
    data = Data(tmp_path)
    (line,) = data.search(toy, "search", tmp_path / "none", "--effort", 5, code=1)
    assert line["library"] == "toy" and "no index" in line["error"]
    line = data.build(toy, tmp_path / "i", "--option", "shift=x", code=1)
    assert "not of type float" in line["error"]
    (line,) = data.search(toy, "search", tmp_path / "i", "--effort", 5, code=1)
    assert "was not finished" in line["error"]
    data.build(toy, tmp_path / "i")
    (line,) = data.search(toy, "search", tmp_path / "i", "--effort", 5, "-k", 21, code=1)
    assert "the truth has 20" in line["error"]
    write_truth(data.truth_file, np.zeros((19, 20)))
    (line,) = data.search(toy, "search", tmp_path / "i", "--effort", 5, code=1)
    assert "20 queries, but the truth is of 19" in line["error"]
    said(toy, "search", code=2)


def test_other_directories_are_not_removed(toy, tmp_path):
    data = Data(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "letter.txt").write_text("keep me")
    assert "something else" in data.build(toy, tmp_path / "own", code=1)["error"]
    assert (tmp_path / "own" / "letter.txt").read_text() == "keep me"


# What they share


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_threads_are_limited(measuring):
    code = (
        "import os, measuring; measuring.limit_threads(1); "
        "print(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SCRIPTS)}
    out = subprocess.check_output([sys.executable, "-c", code], text=True, env=environment)
    assert out.split() == ["1", "1"]


def test_recall_counts_ids_once_and_ties_as_found(measuring):
    truth = np.array([[4, 7, 1, 9, 3]]), np.array([[0.5, 1.0, 2.0, 2.0, 3.0]], np.float32)

    def recall(ids, distances=None, k=3, truth=truth):
        distances = None if distances is None else np.array([distances], np.float32)
        return measuring.recall((np.array([ids]), distances), truth, k)

    assert recall([1, 4, 7]) == 1.0
    assert recall([9, 4, 7]) == 1.0, "listed at the distance of the third"
    assert recall([3, 4, 7]) == pytest.approx(2 / 3)
    assert recall([4, 4, 4]) == pytest.approx(1 / 3)
    assert recall([4, -1, -1]) == pytest.approx(1 / 3)
    assert recall([4, 7, 8], [0.5, 1.0, 2.0]) == 1.0, "not listed, at the distance of the third"
    assert recall([4, 7, 8], [0.5, 1.0, 2.5]) == pytest.approx(2 / 3)
    without = truth[0], None
    assert recall([9, 4, 7], [2.0, 0.5, 1.0], truth=without) == pytest.approx(2 / 3)


def test_recall_is_that_of_the_package(measuring, index, vectors, queries):
    whole = pageway.ground_truth(vectors, queries, k=30)
    for effort in (10, 25):
        report = index.measure_recall(queries, k=10, effort=effort)
        found = index.search(queries, k=10, effort=effort)
        mine = measuring.recall((found.ids.astype(np.int64), found.distances), whole, 10)
        assert mine == pytest.approx(report.recall, abs=1e-9)


def test_truth_with_and_without_distances(measuring, tmp_path):
    ids, distances = np.arange(6).reshape(2, 3), np.arange(6).reshape(2, 3) / 2
    read = measuring.read_truth(write_truth(tmp_path / "a.ibin", ids, distances))
    np.testing.assert_array_equal(read[0], ids)
    np.testing.assert_array_equal(read[1], distances.astype(np.float32))
    assert measuring.read_truth(write_truth(tmp_path / "b.ibin", ids))[1] is None


# The libraries


def installed(script):
    """Skips the test where the library of `script` is missing."""
    done = subprocess.run([sys.executable, SCRIPTS / f"{script}.py", "check"], capture_output=True)
    if done.returncode == 3:
        pytest.skip(json.loads(done.stdout)["reason"])


#: Script, options of the build, an effort for low and one for high recall, metrics.
CASES = [
    ("with_hnswlib", [], (10, 200), ("l2", "ip", "cosine")),
    ("with_usearch", [], (10, 200), ("l2", "ip", "cosine")),
    ("with_usearch", ["memory=resident"], (10, 200), ("l2",)),
    ("with_faiss", ["lists=20", "code_bytes=16"], (1, 20), ("l2", "ip", "cosine")),
    ("with_faiss", ["lists=20", "memory=resident"], (1, 20), ("l2",)),
    ("with_faiss", ["kind=hnsw"], (10, 200), ("l2", "ip", "cosine")),
    ("with_lancedb", ["lists=4", "code_bytes=16"], (1, 4), ("l2", "cosine")),
    ("with_diskannpy", ["code_bytes=16"], (10, 200), ("l2", "ip", "cosine")),
]


@pytest.mark.parametrize(
    ("script", "options", "efforts", "metric", "dtype"),
    [
        (script, options, efforts, metric, dtype)
        for script, options, efforts, metrics in CASES
        for metric, dtype in [*((metric, "float32") for metric in metrics), ("l2", "uint8")]
    ],
)
def test_a_library_finds_the_neighbours(tmp_path, script, options, efforts, metric, dtype):
    installed(script)
    data, path = Data(tmp_path, dtype, metric), SCRIPTS / f"{script}.py"
    option = ["--option", *options] if options else []
    built = data.build(path, tmp_path / "i", *option)
    assert built["index_bytes"] > 0 and built["peak_memory_bytes"] > 0
    own = {"with_usearch", "with_diskannpy"}
    assert built["parameters"]["element"] == (dtype if script in own else "float32")
    low, high = data.search(
        path, "sweep", tmp_path / "i", "--efforts", f"{efforts[0]},{efforts[1]}", *option
    )
    assert low["recall"] <= high["recall"] > 0.95
    mapped = "memory=resident" not in options and "kind=hnsw" not in options
    by_mapping = script in ("with_faiss", "with_usearch") and mapped
    assert high["memory_kind"] == ("mmap page cache" if by_mapping else "resident")
