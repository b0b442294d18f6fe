"""Range search against brute force."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import clustered, distances

import pageway


def radius_of(exact, rank):
    """A radius that about `rank` vectors per query lie in, and that no distance is close to."""
    nearest = np.sort(exact, axis=1)
    wanted = float(np.median(nearest[:, rank]))
    around = np.sort(exact[np.abs(exact - wanted) < 0.1 * abs(wanted) + 1e-3])
    at = min(np.searchsorted(around, wanted), len(around) - 2)
    widest = at + np.argmax(np.diff(around[at : at + 20]))
    return float(around[widest] + around[widest + 1]) / 2


def rows_of(result):
    """The ids of each query."""
    lims, ids, _ = result
    return [ids[low:high].tolist() for low, high in zip(lims, lims[1:])]


@pytest.mark.parametrize("metric", ["l2", "inner_product", "cosine"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8"])
def test_what_is_found_is_what_lies_inside(tmp_path, dtype, metric):
    rows = clustered(dtype, count=1030)
    base, queries = rows[:1000], rows[1000:]
    exact = distances(base, queries, metric)
    radius = radius_of(exact, 20)
    with pageway.build(tmp_path / "i", base, metric=metric, memory="4MB") as index:
        result = index.range(queries, radius, list_size=400)
    lims, ids, found = result
    assert (lims.dtype, ids.dtype, found.dtype) == (np.int64, np.int64, np.float32)
    assert lims.shape == (len(queries) + 1,) and ids.shape == found.shape == (lims[-1],)
    assert lims[0] == 0 and (np.diff(lims) >= 0).all() and result.truncated == 0
    inside = [set(np.nonzero(row <= radius)[0].tolist()) for row in exact]
    for query, (one, all_) in enumerate(zip(rows_of(result), inside)):
        assert len(set(one)) == len(one) and set(one) <= all_, query
        own = found[lims[query] : lims[query + 1]]
        np.testing.assert_allclose(own, exact[query, one], rtol=2e-3, atol=2e-4)
        assert (np.diff(own) >= 0).all()
    assert lims[-1] >= 0.97 * sum(map(len, inside)) > 0


def test_a_longer_list_misses_less(index, vectors, queries):
    exact = distances(vectors, queries, "l2")
    radius = radius_of(exact, 100)
    results = [index.range(queries, radius, list_size=size) for size in (5, 20, 400)]
    counts = [int(result.lims[-1]) for result in results]
    assert counts[-1] == max(counts) >= 0.99 * int((exact <= radius).sum())
    hops = [int(result.stats["hops"].sum()) for result in results]
    assert hops[-1] == max(hops) > hops[0]


def test_one_query_is_a_set_of_one(index, queries):
    one, many = index.range(queries[0], 8.0), index.range(queries[:1], 8.0)
    for mine, theirs in zip(one, many):
        np.testing.assert_array_equal(mine, theirs)
    assert one.lims.shape == (2,) and len(one.ids) > 0
    assert one.stats["hops"].shape == () and one.stats["cache_hits"].shape == (8,)
    assert many.stats["hops"].shape == (1,)


def test_no_queries_and_no_results(index, queries):
    lims, ids, found = index.range(np.empty((0, 24), np.float32), 1.0)
    assert lims.tolist() == [0] and ids.shape == found.shape == (0,)
    for nothing in (-1.0, -np.inf, 0.0):
        assert index.range(queries, nothing).lims.tolist() == [0] * (len(queries) + 1)


def test_a_vector_lies_within_no_distance_of_itself(index, vectors):
    lims, ids, found = index.range(vectors[:50], 0.0, list_size=50)
    assert lims.tolist() == list(range(51)) and ids.tolist() == list(range(50))
    assert (found == 0).all()


def test_a_limit_keeps_the_nearest_and_says_so(index, vectors, queries):
    result = index.range(queries, np.inf, list_size=100, limit=7)
    assert np.diff(result.lims).tolist() == [7] * len(queries)
    assert result.truncated == len(queries)
    nearest = np.sort(distances(vectors, queries, "l2"), axis=1)[:, :7]
    np.testing.assert_allclose(result.distances.reshape(-1, 7), nearest, rtol=1e-4, atol=1e-4)
    assert index.range(queries, np.inf, list_size=1500).lims[-1] == vectors.shape[0] * len(queries)


def test_a_limit_that_nobody_gave_is_told_of(tmp_path):
    rows = np.random.default_rng(3).integers(0, 256, (10_300, 8), dtype=np.uint8)
    with pageway.build(tmp_path / "i", rows, memory="16MB") as index:
        with pytest.warns(pageway.PagewayWarning, match="found 10,000 results: 1"):
            lims, ids, _ = index.range(rows[0], np.inf)
        assert lims[-1] == len(ids) == 10_000
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert index.range(rows[0], np.inf, limit=10).truncated == 1
            assert index.range(rows[0], 10.0).truncated == 0


def test_ids_of_the_caller_are_found(tmp_path, vectors, queries):
    ids = np.arange(len(vectors), dtype=np.uint64) * 5 + 2**63
    with pageway.build(tmp_path / "i", vectors, ids=ids, memory="4MB") as index:
        by_id = index.range(queries, 7.0)
    with pageway.build(tmp_path / "r", vectors, memory="4MB") as index:
        by_row = index.range(queries, 7.0)
    assert len(by_row.ids) > 0
    np.testing.assert_array_equal(by_id.ids, by_row.ids.astype(np.uint64) * np.uint64(5) + np.uint64(2**63))


def test_statistics_are_those_of_a_search(index, queries):
    found, within = index.search(queries), index.range(queries, 8.0, beam=2)
    assert set(within.stats) == set(found.stats) and set(within.settings) == set(found.settings)
    assert within.settings["beam"] == 2 and within.settings["list_size"] == 20
    assert {"refine_reads", "page_hits"} <= set(found.stats)
    for name, column in within.stats.items():
        assert column.dtype == np.uint64 and len(column) == len(queries), name


BAD_RANGES = {
    "radius": (0, {"radius": np.nan}, "radius: not a number"),
    "list size": (0, {"list_size": 0}, "list size 0: give 1 to"),
    "limit": (0, {"limit": 0}, "limit 0: give 1 to"),
    "large limit": (0, {"limit": 10**6}, "limit 1000000: give 1 to 100000"),
    "negative": (0, {"limit": -1}, "limit is -1"),
    "beam": (0, {"beam": 65}, "beam = 65"),
    "dimension": (4, {}, "have 4 components.* index 24"),
}


@pytest.mark.parametrize("name", BAD_RANGES)
def test_bad_ranges_are_refused(index, queries, name):
    components, settings, words = BAD_RANGES[name]
    few = queries[:, :components] if components else queries
    with pytest.raises(pageway.InvalidInputError, match=words):
        index.range(few, **{"radius": 1.0, **settings})


def test_whole_numbers_are_whole(index, queries):
    with pytest.raises(TypeError, match="limit must be an int, not float"):
        index.range(queries, 1.0, limit=1e3)


def test_memory_for_many_results_is_set_aside_on_request(tmp_path):
    rows = np.random.default_rng(3).normal(size=(20_000, 8)).astype(np.float32)
    quick = {"degree": 8, "build_list": 16, "queries": rows[:9]}
    pageway.build(tmp_path / "i", rows, memory="1700kB", **quick).close()
    with pageway.open(tmp_path / "i") as index:
        with pytest.raises(pageway.InvalidInputError, match="set aside for searches"):
            index.range(rows[:2], 1.0)
        few = index.range(rows[:2], 1.0, limit=500)
    with pageway.open(tmp_path / "i", memory="4MB", k=10_000, effort=10_000) as index:
        many = index.range(rows[:2], 1.0)
    np.testing.assert_array_equal(few.ids, many.ids)


def test_threads_do_not_change_what_is_found(built, queries):
    with pageway.open(built, threads=2) as index:
        one, two = (index.range(queries, 8.0, threads=threads) for threads in (1, 2))
        alone = [index.range(query, 8.0).ids.tolist() for query in queries]
    np.testing.assert_array_equal(one.ids, two.ids)
    np.testing.assert_array_equal(one.distances, two.distances)
    assert rows_of(one) == alone


def test_a_closed_index_has_no_range(built, queries):
    index = pageway.open(built)
    index.close()
    with pytest.raises(pageway.InvalidInputError, match="is closed; open it again"):
        index.range(queries, 1.0)


def test_python_runs_during_a_range_search(index, vectors):
    """A thread that counts must get ahead while the search runs in the main thread."""
    stopped, counted = threading.Event(), 0

    def count():
        nonlocal counted
        while not stopped.wait(0.002):
            counted += 1

    counter = threading.Thread(target=count)
    counter.start()
    started, before = time.monotonic(), counted
    index.range(vectors, np.inf, list_size=1500, limit=1)
    elapsed, after = time.monotonic() - started, counted
    stopped.set()
    counter.join()
    assert after - before > elapsed / 0.002 / 20


@pytest.mark.skipif(os.name == "nt", reason="signals are sent another way on Windows")
def test_control_c_stops_a_range_search(index, vectors):
    """The search would take a minute; the default handler raises within moments of the signal."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            index.range(np.tile(vectors, (100, 1)), np.inf, list_size=1500, limit=1)
        assert time.monotonic() - started < 5
    finally:
        alarm.join()
        signal.signal(signal.SIGINT, handler)
    assert len(index.range(vectors[0], 0.0).ids) == 1


def test_what_is_found_does_not_depend_on_the_tolerance(index, queries):
    exact, stated = index.range(queries, 8.0), index.range(queries, 8.0, tolerance=0)
    np.testing.assert_array_equal(exact.distances, stated.distances)
    assert exact.stats["estimated"].sum() == 0
    assert not exact.errors.any()
    estimated = index.range(queries, 8.0, tolerance="any")
    assert estimated.errors.shape == estimated.distances.shape
    assert abs(int(estimated.lims[-1]) - int(exact.lims[-1])) <= 0.05 * exact.lims[-1]
