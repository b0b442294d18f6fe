"""Searching: shapes, effort, statistics, memory, closing."""

import shutil

import numpy as np
import pytest
from conftest import clustered, recall

import pageway


def test_one_query_gives_a_row_and_many_give_a_table(index, queries):
    one, many = index.search(queries[0], k=5, effort=40), index.search(queries, k=5, effort=40)
    assert one.ids.shape == one.distances.shape == (5,)
    assert many.ids.shape == many.distances.shape == (len(queries), 5)
    np.testing.assert_array_equal(one.ids, many.ids[0])
    ids, distances = many
    assert ids is many.ids and distances is many.distances


def test_no_queries_give_an_empty_table(index):
    result = index.search(np.empty((0, 24), np.float32), k=5)
    assert result.ids.shape == result.distances.shape == (0, 5)


def test_recall_is_reached_and_costs_pages(index, vectors, queries):
    seen = [index.search(queries, k=10, effort=effort) for effort in (10, 60, 240)]
    recalls = [recall(result.ids, vectors, queries, "l2") for result in seen]
    pages = [result.stats["hops"].mean() for result in seen]
    assert recalls == sorted(recalls) and recalls[-1] > 0.98
    assert pages == sorted(pages) and pages[0] < pages[-1]
    wished = index.search(queries, k=10, recall=0.9)
    assert recall(wished.ids, vectors, queries, "l2") >= 0.85
    low, high = (index.search(queries, recall=share).settings for share in (0.8, 0.99))
    assert low["list_size"] <= high["list_size"]


def test_the_default_is_a_recall_of_95_percent(index, queries):
    default, stated = index.search(queries[0]), index.search(queries[0], k=10, recall=0.95)
    assert default.settings["list_size"] == stated.settings["list_size"]
    assert default.ids.shape == (10,)


def test_statistics_have_an_entry_per_query(index, queries):
    many = index.search(queries, effort=50, beam=2)
    assert many.settings["list_size"] == 50 and many.settings["beam"] == 2
    for name, column in many.stats.items():
        assert column.dtype == np.uint64, name
        assert column.shape[0] == len(queries), name
    assert (many.stats["hops"] > 0).all()
    assert (many.stats["bytes_used"] <= many.stats["bytes_read"]).all()
    one = index.search(queries[0], effort=50)
    assert one.stats["hops"].shape == () and one.stats["cache_hits"].shape == (8,)


def test_threads_and_beams_do_not_change_the_answer_of_a_list(built, queries):
    with pageway.open(built, threads=2) as index:
        one = index.search(queries, effort=60, threads=1)
        two = index.search(queries, effort=60, threads=2)
        alone = np.stack([index.search(query, effort=60).ids for query in queries])
    np.testing.assert_array_equal(one.ids, two.ids)
    np.testing.assert_array_equal(one.ids, alone)


def test_a_large_batch_is_searched_as_a_small_one(index, vectors):
    many = index.search(vectors[:300], k=3, effort=40)
    np.testing.assert_array_equal(many.ids[:10], index.search(vectors[:10], k=3, effort=40).ids)
    assert (many.ids[:, 0] == np.arange(300)).mean() > 0.95


def test_measured_recall_is_the_recall(index, vectors, queries):
    report = index.measure_recall(queries, k=10, effort=40)
    found = index.search(queries, k=10, effort=40)
    assert report.recall == pytest.approx(recall(found.ids, vectors, queries, "l2"), abs=1e-6)
    assert (report.k, report.list_size, report.queries) == (10, 40, len(queries))
    assert report.pages_per_query == pytest.approx(found.stats["pages"].mean(), rel=0.2)


def test_recall_is_measured_with_rows_of_the_index_too(index, queries):
    report = index.measure_recall(k=10, list_size=400, rows=50)
    assert report.queries == 50 and report.recall > 0.97
    assert index.measure_recall(k=10, list_size=10, rows=50).recall < report.recall
    with pytest.raises(pageway.InvalidInputError, match="give queries"):
        index.measure_recall(filter=[1, 2, 3])
    among = index.measure_recall(queries, k=3, list_size=400, filter=range(500))
    assert among.recall > 0.97


def test_what_an_index_says_about_itself(index, built, vectors):
    assert len(index) == len(vectors) and index.shape == vectors.shape
    assert (index.metric, index.dtype, index.path) == ("l2", np.float32, str(built))
    assert index.build_report is None
    stats = index.stats()
    assert stats["nodes"] == len(vectors) and stats["memory"] and stats["backend"]["reason"]
    assert index.calibration
    assert "1500 x 24 float32, l2" in repr(index)


def test_verify_tells_a_sound_index_from_a_damaged_one(built, tmp_path):
    report = pageway.verify(built)
    assert report.sound and report.problems == [] and report.records == 1500
    assert {"name", "pages", "bytes"} <= set(report.files[0])
    with pageway.open(built) as index:
        assert index.verify() == report
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for file in built.iterdir():
        (damaged / file.name).write_bytes(file.read_bytes())
    largest = max(damaged.iterdir(), key=lambda file: file.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 1
    largest.write_bytes(content)
    report = pageway.verify(damaged)
    assert not report.sound and largest.name in report.problems[0]


def test_closing(built, queries):
    index = pageway.open(built)
    with index as same:
        assert same is index and not index.closed
    assert index.closed and "closed" in repr(index)
    index.close()
    for use in (
        lambda: len(index),
        lambda: index.shape,
        lambda: index.search(queries[0]),
        index.stats,
        lambda: index.calibration,
        index.__enter__,
    ):
        with pytest.raises(pageway.InvalidInputError, match="is closed; open it again"):
            use()


def test_a_budget_too_small_is_refused_with_one_that_works(built, vectors, queries):
    with pytest.raises(pageway.InvalidInputError, match=r"smallest that works is (\d+) B") as info:
        pageway.open(built, memory="10kB")
    smallest = int(str(info.value).split("smallest that works is ")[1].split(" B")[0])
    with pageway.open(built, memory=smallest) as index:
        assert recall(index.search(queries, effort=80).ids, vectors, queries, "l2") > 0.9
    with pytest.raises(pageway.InvalidInputError):
        pageway.open(built, memory=smallest - 1)


def test_fewer_vectors_than_a_list(tmp_path):
    rows = clustered(np.float32, count=5)
    with pageway.build(tmp_path / "i", rows, memory="2MB") as index:
        assert sorted(index.search(rows[0], k=5, effort=100).ids.tolist()) == [0, 1, 2, 3, 4]
        found = index.search(rows[0], k=7)
        assert sorted(found.ids[:5].tolist()) == [0, 1, 2, 3, 4]
        assert found.ids[5:].tolist() == [-1, -1] and np.isinf(found.distances[5:]).all()
        with pytest.raises(pageway.InvalidInputError, match="k = 100001: give 1 to 100000"):
            index.search(rows[0], k=100_001)


def test_memory_is_set_aside_for_the_searches_that_are_announced(built, vectors, queries):
    def budget(**announced):
        with pytest.raises(pageway.InvalidInputError, match="smallest that works") as info:
            pageway.open(built, memory=1000, **announced)
        return int(str(info.value).split("smallest that works is ")[1].split(" B")[0])

    one = budget(effort=1400)
    assert budget() < one < min(budget(effort=1400, k=1000), budget(effort=1400, beam=64))
    with pageway.open(built, memory=budget(effort=240), effort=240) as index:
        assert recall(index.search(queries, effort=240).ids, vectors, queries, "l2") > 0.95


def test_list_size_is_the_name_and_effort_its_alias(built, index, queries):
    named = index.search(queries, list_size=40)
    older = index.search(queries, effort=40)
    assert named.settings["list_size"] == older.settings["list_size"] == 40
    np.testing.assert_array_equal(named.ids, older.ids)
    report = index.measure_recall(queries[:5], list_size=40)
    assert report == index.measure_recall(queries[:5], effort=40)
    with pageway.open(built, memory="8MB", list_size=400) as opened:
        assert opened.search(queries, list_size=400).settings["list_size"] == 400
    with pytest.raises(pageway.InvalidInputError, match="list_size and effort"):
        pageway.open(built, list_size=40, effort=40)


def test_a_search_ends_with_its_timeout(index, queries):
    for search in (
        lambda **more: index.search(queries, **more),
        lambda **more: index.search(np.tile(queries, (5, 1)), **more),
        lambda **more: index.range(queries, 8.0, **more),
    ):
        with pytest.raises(TimeoutError):
            search(timeout=0.0)
        assert len(search(timeout=600.0).distances) > 0
        for wrong in (-1.0, float("nan"), float("inf")):
            with pytest.raises(pageway.InvalidInputError, match="timeout"):
                search(timeout=wrong)


def test_queries_asked_lately_are_kept_where_that_is_wished(index, queries, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(index.path, path)
    with pageway.open(path, recent_queries=30) as kept:
        assert kept.recent_queries().shape == (0, queries.shape[1])
        kept.search(queries[:20], k=5)
        np.testing.assert_array_equal(kept.recent_queries(), queries[:20])
        kept.search(queries[20:40], k=5)
        recent = {row.tobytes() for row in kept.recent_queries()}
        assert len(kept.recent_queries()) == 30
        assert recent < {row.tobytes() for row in queries[:40]}
        held = dict(kept.stats()["memory"]["parts"])["recent queries"]
        assert held == 30 * queries[0].nbytes
        calibration = kept.calibrate(kept.recent_queries())
        assert calibration["queries"] == 30 and not calibration["held_out"]
        with pytest.warns(pageway.PagewayWarning, match="with 3 of your queries"):
            kept.calibrate(queries[:3])
    assert len(index.recent_queries()) == 0
