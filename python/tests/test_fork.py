"""Forked workers share an open index: before, during and after searches of their parent."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import pageway

WAYS = ["uring", "threads", "blocking"]
PATIENCE_SECONDS = 120

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

_index = None


def answer(queries):
    """What a worker does: a search of the index that its parent opened."""
    return _index.search(queries, effort=50).ids


def workers(queries, expected):
    """Workers that are forked now answer as their parent does."""
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for found in pool.map_async(answer, [queries] * 6).get(PATIENCE_SECONDS):
            np.testing.assert_array_equal(found, expected)


def run(path, rows):
    """The checks, in a process whose `PAGEWAY_IO` names the way of reading."""
    global _index
    queries = np.load(rows)
    with pageway.open(path) as other:
        expected = other.search(queries, effort=50).ids
    _index = pageway.open(path)
    workers(queries, expected)
    np.testing.assert_array_equal(answer(queries), expected)
    workers(queries, expected)
    stopped = threading.Event()
    wrong = []

    def search():
        while not stopped.is_set():
            if not np.array_equal(answer(queries), expected):
                wrong.append("a search of the parent")

    searching = threading.Thread(target=search)
    searching.start()
    for _ in range(3):
        workers(queries, expected)
    stopped.set()
    searching.join()
    assert not wrong
    np.testing.assert_array_equal(answer(queries), expected)
    _index.close()


@pytest.mark.parametrize("way", WAYS)
def test_forked_workers_answer_as_their_parent(built, queries, tmp_path, way):
    np.save(tmp_path / "queries.npy", queries)
    program = [sys.executable, __file__, str(built), str(tmp_path / "queries.npy")]
    environment = dict(os.environ, PAGEWAY_IO=way)
    ended = subprocess.run(
        program, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE_SECONDS
    )
    if "io_uring is denied" in ended.stderr:
        pytest.skip("io_uring is denied here")
    assert ended.returncode == 0, ended.stderr


def test_a_child_closes_what_its_parent_changes(tmp_path):
    rows = np.eye(8, dtype=np.float32)
    with pageway.create(tmp_path / "index", dimension=8) as index:
        index.insert(rows[:4])
        child = os.fork()
        if child == 0:
            ended = 1
            try:
                with pytest.raises(pageway.UnsupportedError, match="forked"):
                    index.insert(rows[4:])
                index.close()
                ended = 0
            finally:
                os._exit(ended)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(pageway.BusyError):
            pageway.open(tmp_path / "index", writable=True)
        assert index.insert(rows[4:]).inserted == 4
    with pageway.open(tmp_path / "index", writable=True) as again:
        assert len(again) == 8


if __name__ == "__main__":
    run(*sys.argv[1:])
