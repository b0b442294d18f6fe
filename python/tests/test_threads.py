"""The GIL is released, threads may share an index, Ctrl-C stops a build without a trace."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import pageway

LARGE = 60_000
# A flush of so many takes some seconds.
ROWS = 16_000


def large():
    return np.random.default_rng(1).normal(size=(LARGE, 32)).astype(np.float32)


class Stop(Exception):
    """What a callback raises to end a build."""


def test_threads_share_an_index(built, queries):
    with pageway.open(built, threads=4) as index:
        expected = index.search(queries, effort=50)
        with ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(index.search, queries, effort=50) for _ in range(16)]
            ones = [pool.submit(index.search, query, effort=50) for query in queries]
        for run in runs:
            np.testing.assert_array_equal(run.result().ids, expected.ids)
        np.testing.assert_array_equal([one.result().ids for one in ones], expected.ids)


def test_more_threads_than_were_set_aside_still_get_answers(built, queries):
    with pageway.open(built, threads=1) as index:
        expected = index.search(queries, effort=50).ids
        with ThreadPoolExecutor(8) as pool:
            runs = [pool.submit(index.search, queries, effort=50) for _ in range(16)]
        for run in runs:
            np.testing.assert_array_equal(run.result().ids, expected)


def test_closing_waits_for_searches_that_run(built, vectors):
    index = pageway.open(built)
    expected = index.search(vectors, effort=100).ids
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(index.search, vectors, effort=100)
        index.close()
        try:
            np.testing.assert_array_equal(running.result().ids, expected)
        except pageway.InvalidInputError as error:  # it was closed before the search began
            assert "closed" in str(error)


def test_python_runs_during_a_build(tmp_path):
    """A thread that counts must get ahead while the build runs in the main thread."""
    stopped, counted, seconds = threading.Event(), 0, 1.0

    def stop(stage, done, total):
        if time.monotonic() - started > seconds:
            raise Stop

    def count():
        nonlocal counted
        while not stopped.wait(0.01):
            counted += 1

    counter = threading.Thread(target=count)
    started = time.monotonic()
    counter.start()
    with pytest.raises(Stop):
        pageway.build(tmp_path / "i", large(), progress=stop)
    stopped.set()
    counter.join()
    assert counted > 20


def test_what_a_callback_raises_stops_the_build(tmp_path):
    def stop(stage, done, total):
        raise Stop(stage)

    with pytest.raises(Stop):
        pageway.build(tmp_path / "i", large(), progress=stop)
    assert_nothing_at(tmp_path / "i")


SIGNALS = pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")


@SIGNALS
def test_control_c_stops_a_build_and_leaves_no_index(tmp_path):
    path = tmp_path / "i"
    script = f"""
rows = np.random.default_rng(1).normal(size=({LARGE}, 32)).astype("f4")
print("begun", flush=True)
try:
    pageway.build({str(path)!r}, rows)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    assert interrupted(script, 0.5) == b""
    assert_nothing_at(path)


@SIGNALS
def test_control_c_stops_a_close_and_loses_no_row(tmp_path):
    script = f"""
rows = np.random.default_rng(1).normal(size=({ROWS}, 32)).astype("f4")
path = {str(tmp_path / "i")!r}
pageway.create(path, dimension=32, metric="l2").close()
index = pageway.open(path, writable=True, update_memory="1GB")
index.insert(rows)
print("begun", flush=True)
try:
    index.close()
except KeyboardInterrupt:
    print("stopped", flush=True)
again = pageway.open(path, writable=True, update_memory="1GB")
print(index.closed, len(again), flush=True)
os._exit(0)  # without a flush
"""
    assert interrupted(script, 0.2) == f"True {ROWS}\n".encode()


def interrupted(script, after):
    """What a script says after "stopped", which follows Ctrl-C `after` seconds behind "begun"."""
    begin = """
import os, signal
import numpy as np, pageway
# A shell that starts tests in the background has them ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
    command = [sys.executable, "-c", begin + script]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == b"begun\n"
            time.sleep(after)
            child.send_signal(signal.SIGINT)
            sent = time.monotonic()
            assert child.stdout.readline() == b"stopped\n"
            assert time.monotonic() - sent < 3
            return child.stdout.read()
        finally:
            child.kill()


def assert_nothing_at(path):
    with pytest.raises(pageway.NotFoundError):
        pageway.open(path)
    assert not path.exists() or not any(path.iterdir())
