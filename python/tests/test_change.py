"""An index that changes: what goes in is found, what is deleted is not, and threads may do both."""

import shutil
import signal
import threading

import numpy as np
import pytest

import pageway
from conftest import DIMENSION, clustered, distances


@pytest.fixture
def empty(tmp_path):
    with new(tmp_path / "new.index") as index:
        yield index


def new(path, **settings):
    return pageway.create(path, dimension=DIMENSION, memory="4MB", expected=3000, degree=24, **settings)


def nearest(index, queries):
    """Ids by a search that sees everything."""
    return index.search(queries, k=1, list_size=300).ids[:, 0]


def true_nearest(rows, ids, queries):
    return np.asarray(ids)[distances(rows, queries, "l2").argmin(axis=1)]


def test_rows_are_found_at_once_also_after_flushes_and_reopening(tmp_path, empty, vectors, queries):
    done = empty.insert(vectors[:700])
    assert done == pageway.Acknowledged(inserted=700, first_id=0, lsn=done.lsn, durable=True)
    assert len(empty) == 700 and empty.changes["delta_rows"] == 700
    truth = true_nearest(vectors[:700], range(700), queries)
    assert np.array_equal(nearest(empty, queries), truth)
    empty.flush()
    assert empty.changes["delta_rows"] == 0 and empty.changes["segments"] == 1
    own = np.arange(5000, 5100)
    assert empty.insert(vectors[700:800], own).first_id is None
    ids = [*range(700), *own]
    truth = true_nearest(vectors[:800], ids, queries)
    assert np.array_equal(nearest(empty, queries), truth)
    empty.close()
    with pageway.open(tmp_path / "new.index") as reader:
        assert np.array_equal(nearest(reader, queries), truth)
    with pageway.open(tmp_path / "new.index", writable=True) as index:
        assert len(index) == 800
        assert np.array_equal(nearest(index, queries), truth)
        assert index.verify().sound


def test_upserts_replace_and_deletes_count(empty, vectors):
    empty.insert(vectors[:300], range(300))
    done = empty.upsert(vectors[300:500], range(200, 400), durability="batched:5ms")
    assert (done.inserted, done.replaced) == (100, 100)
    assert len(empty) == 400
    assert nearest(empty, vectors[300:301])[0] == 200
    done = empty.delete([200, 201, 9999])
    assert (done.deleted, done.absent) == (2, 1)
    assert nearest(empty, vectors[300:301])[0] != 200
    assert empty.delete(5).deleted == 1
    assert empty.insert(vectors[5], 5).inserted == 1
    with pytest.raises(pageway.InvalidInputError, match="7"):
        empty.insert(vectors[600:602], [7, 9000])
    assert len(empty) == 398


def test_batches_of_an_iterator_go_in(empty, vectors):
    pairs = ((vectors[at : at + 50], np.arange(at, at + 50) + 100) for at in range(0, 200, 50))
    done = empty.insert(pairs, durability="deferred")
    assert done.inserted == 200
    done = empty.insert(iter([vectors[200:250], vectors[250:260]]))
    assert done.inserted == 60 and done.first_id == 300 and done.durable
    assert empty.sync() == done.lsn == empty.changes["durable_lsn"]
    with pytest.raises(pageway.InvalidInputError, match="iterator"):
        empty.insert(iter([vectors[:1]]), [1])


def test_changes_without_rows_say_how_far_the_log_is(tmp_path, empty, vectors):
    nothing = [[], iter([]), vectors[:0], iter([vectors[:0]])]
    put = [lambda rows=rows: empty.insert(rows) for rows in nothing]
    calls = [*put, lambda: empty.upsert([], []), lambda: empty.delete([])]
    last = empty.insert(vectors[:5])
    assert last.durable and last.lsn > 0
    for call in calls:
        assert call() == pageway.results.Acknowledged(lsn=last.lsn, durable=True)
    later = empty.insert(vectors[5:9], durability="deferred")
    assert not later.durable
    assert empty.insert([]) == pageway.results.Acknowledged(lsn=later.lsn)
    assert empty.insert(iter([vectors[9:12], vectors[:0]])).durable
    with pytest.raises(pageway.InvalidInputError, match="durability"):
        empty.insert(iter([]), durability="soon")


def test_lists_of_batches_and_tables_go_in(empty, vectors):
    pairs = [(np.arange(50), vectors[:50]), (vectors[50:90], np.arange(50, 90), [{"a": 1}] * 40)]
    assert empty.insert(pairs).inserted == 90
    assert empty.insert([vectors[90:100], vectors[100:120]]).inserted == 30
    assert nearest(empty, vectors[[7, 60, 110]]).tolist() == [7, 60, 110]
    with pytest.raises(pageway.InvalidInputError, match="bring their own"):
        empty.insert([vectors[:2]], ids=[500, 501])
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"emb": vectors[120:200].tolist(), "n": range(80)})
    assert empty.insert(table).inserted == 80
    assert empty.upsert(table, np.arange(120, 200)).replaced == 80
    assert nearest(empty, vectors[150:151])[0] == 150


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_an_insert_stops_at_a_signal_and_keeps_what_is_in(tmp_path):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    rows = np.random.default_rng(1).normal(size=(800_000, 8)).astype(np.float32)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pageway.create(tmp_path / "index", dimension=8, memory="2MB", degree=8) as index:
            with pytest.raises(Stop):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                index.insert(rows, durability="deferred")
            held = len(index)
            assert held < len(rows)
            assert index.insert(rows[:3], np.arange(3) + len(rows)).inserted == 3
            assert len(index) == held + 3
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_refresh_takes_another_shape(tmp_path, vectors):
    path = tmp_path / "i"
    pageway.build(path, vectors, memory="2MB").close()
    other = clustered(np.uint8, count=200, dimension=9)
    with pageway.open(path) as index:
        pageway.build(path, other, memory="2MB", metric="l1", overwrite=True).close()
        assert index.refresh()
        assert (index.shape, index.dtype, index.metric) == (other.shape, np.uint8, "l1")
        assert index.search(other[5], k=1, list_size=100).distances[0] == 0


def test_an_index_that_was_built_changes_merges_and_is_copied(tmp_path, vectors, queries):
    path = tmp_path / "built.index"
    pageway.build(path, vectors[:1000], memory="4MB").close()
    reader = pageway.open(path)
    with pageway.open(path, writable=True, update_memory="32MB", latency_target=0.5) as index:
        assert index.changes["latency"]["target_us"] == 500_000
        assert index.writable and not reader.writable
        index.delete(range(0, 500))
        index.insert(vectors[1000:])
        ids = [*range(500, 1000), *range(1000, len(vectors))]
        truth = true_nearest(vectors[ids], ids, queries)
        assert np.array_equal(nearest(index, queries), truth)
        index.snapshot(tmp_path / "copy.index")
        # Dead rows go now, or went with a merge in the background.
        assert index.merge(full=True).dropped in (0, 500)
        assert index.changes["segments"] == 1 and index.changes["dead"] == 0
        assert np.array_equal(nearest(index, queries), truth)
        assert len(reader) == 1000 and reader.refresh() and len(reader) == len(ids)
        assert not reader.refresh() and not index.refresh()
        with pytest.raises(pageway.BusyError):
            pageway.open(path, writable=True)
    reader.close()
    with pytest.raises(pageway.InvalidInputError, match="follow"):
        pageway.open(path, follow=-1)
    with pageway.open(tmp_path / "copy.index") as copy:
        assert np.array_equal(nearest(copy, queries), truth)
        with pytest.raises(pageway.ReadOnlyError, match="writable"):
            copy.insert(vectors[:1])


def test_a_reader_follows_who_changes_the_index(tmp_path, empty, vectors):
    empty.insert(vectors[:300])
    empty.flush()
    path = tmp_path / "new.index"
    with pageway.open(path, follow=0) as follower, pageway.open(path, follow=3600) as later:
        assert nearest(follower, vectors[:1])[0] == 0 and nearest(later, vectors[:1])[0] == 0
        empty.delete(0)
        empty.insert(vectors[300:301], [1000])
        assert nearest(follower, vectors[300:301])[0] != 1000, "seen before it is flushed"
        empty.flush()
        assert nearest(follower, vectors[300:301])[0] == 1000
        assert nearest(follower, vectors[:1])[0] != 0
        assert len(later) == 300 and nearest(later, vectors[:1])[0] == 0
        assert later.refresh() and nearest(later, vectors[:1])[0] != 0


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8])
def test_rows_have_the_type_of_the_index(tmp_path, dtype):
    rows = clustered(dtype, count=60)
    with new(tmp_path / "a.index", dtype=dtype) as index:
        assert index.insert(rows).inserted == 60
        assert nearest(index, rows[9:10])[0] == 9
        for wrong in (rows[:, :5], rows.astype(np.int32)):
            with pytest.raises(pageway.InvalidInputError, match="vectors:"):
                index.insert(wrong)


def test_bad_rows_and_settings_are_refused_whole(tmp_path, empty, vectors):
    bad = vectors[:3].copy()
    bad[1, 2] = np.nan
    refused = [
        lambda: empty.insert(bad),
        lambda: empty.insert(vectors[:2], [1, 1]),
        lambda: empty.insert(vectors[:2], [1]),
        lambda: empty.upsert(vectors[:2]),
        lambda: empty.insert(vectors[:2], durability="often"),
        lambda: empty.delete([3, 3]),
        lambda: new(tmp_path / "new.index"),
        lambda: pageway.create(tmp_path / "x", dimension=3, memory="10%"),
        lambda: pageway.open(tmp_path / "new.index", writable=True, update_memory=1000),
    ]
    for number, call in enumerate(refused):
        with pytest.raises((pageway.InvalidInputError, pageway.BusyError)):
            call()
            pytest.fail(f"case {number} was not refused")
    assert len(empty) == 0


def test_threads_change_and_search_at_the_same_time(empty, vectors):
    errors = []

    def work(first):
        try:
            for at in range(first, first + 200, 10):
                empty.insert(vectors[at : at + 10], np.arange(at, at + 10))
                found = empty.search(vectors[at : at + 10], k=1, list_size=200)
                assert np.array_equal(found.ids[:, 0], np.arange(at, at + 10))
                empty.delete([at])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 800, 200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(empty) == 800 - 80
    assert empty.changes["durable_lsn"] == empty.changes["lsn"]


def test_an_index_that_is_collected_keeps_what_was_put_in(tmp_path, vectors):
    index = new(tmp_path / "a.index")
    index.insert(vectors[:20], durability="deferred")
    del index
    with pageway.open(tmp_path / "a.index", writable=True) as index:
        assert len(index) == 20


def test_what_salvage_gave_up_is_told(tmp_path, vectors):
    with new(tmp_path / "i") as index:
        assert index.changes["salvaged"] is None
        for row in vectors[:20]:
            index.insert(row[None])
        shutil.copytree(tmp_path / "i", tmp_path / "killed")
    (log,) = (tmp_path / "killed" / "log").iterdir()
    damaged = bytearray(log.read_bytes())
    damaged[len(damaged.rstrip(b"\0")) // 2] ^= 1
    log.write_bytes(damaged)
    with pytest.raises(pageway.CorruptError):
        pageway.open(tmp_path / "killed", writable=True)
    with pageway.open(tmp_path / "killed", writable=True, salvage=True) as index:
        lost = index.changes["salvaged"]
        assert lost["file"] == log.name and lost["offset"] > 0
        assert 2 <= lost["first"] == len(index) + 1 and lost["last"] == 20
    with pageway.open(tmp_path / "killed", writable=True, salvage=True) as index:
        assert index.changes["salvaged"] is None
