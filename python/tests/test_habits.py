"""What users of Python expect of any package."""

import asyncio
import errno
import io
import logging
import multiprocessing
import os
import pickle
import pydoc
import re
from typing import get_args, get_type_hints

import numpy as np
import pytest
from conftest import clustered

import pageway
from pageway import _native, _settings, reports


def test_ids_are_int64_where_they_fit(index, queries, tmp_path, vectors):
    assert index.search(queries[:2]).ids.dtype == np.int64
    assert index.range(queries[:2], radius=5.0).ids.dtype == np.int64
    assert pageway.ground_truth(vectors, queries[:2]).ids.dtype == np.int64
    ids = np.arange(len(vectors), dtype=np.uint64) + np.uint64(2**63)
    with pageway.build(tmp_path / "i", vectors, ids=ids, memory="2MB") as large:
        assert large.search(vectors[5], k=1).ids.tolist() == [2**63 + 5]


@pytest.mark.parametrize("settings", [{}, {"preset": "starling"}, {"segments": 3}], ids=str)
@pytest.mark.parametrize("named", [False, True])
def test_vectors_come_back_by_id(tmp_path, vectors, settings, named):
    ids = np.random.default_rng(1).permutation(len(vectors)) * 11 if named else None
    keys = np.arange(len(vectors)) if ids is None else ids
    with pageway.build(tmp_path / "i", vectors, ids=ids, memory="2MB", **settings) as index:
        rows = [7, 3, 1499, 7]
        np.testing.assert_array_equal(index.vectors(keys[rows]), vectors[rows])
        assert index.vectors(int(keys[9])).shape == vectors[9].shape
        assert index.vectors([]).shape == (0, vectors.shape[1])
        with pytest.raises(pageway.InvalidInputError, match=r"id 999999 \(number 1 of those"):
            index.vectors([keys[0], 999_999])
        stored = list(index.export())
        order = np.argsort(np.concatenate([batch.ids for batch in stored]))
        exported = np.concatenate([batch.vectors for batch in stored])[order]
        np.testing.assert_array_equal(exported, vectors[np.argsort(keys)])


def test_an_export_is_what_a_build_takes(index, tmp_path, vectors):
    with pageway.build(tmp_path / "again", index.export(), memory="2MB") as again:
        np.testing.assert_array_equal(again.vectors(np.arange(len(vectors))), vectors)


def test_segments_and_calibration_queries_reach_the_engine(tmp_path, vectors):
    settings = {"segments": 3, "calibration_queries": 50, "memory": "2MB"}
    with pageway.build(tmp_path / "i", vectors, **settings) as index:
        stats = index.stats()
        assert len(stats["segments"]) == 3 and stats["calibration"]["queries"] == 50


def test_rows_cut_by_space_keep_their_numbers(tmp_path, vectors):
    settings = {"segments": 3, "cut": "space", "memory": "2MB"}
    with pageway.build(tmp_path / "i", vectors, **settings) as index:
        assert len(index.stats()["segments"]) == 3
        found = index.search(vectors[:20], k=1)
        assert list(found.ids[:, 0]) == list(range(20))
    with pytest.raises(ValueError, match="choose arrival or space"):
        pageway.build(tmp_path / "j", vectors, segments=3, cut="spaces")


def test_an_index_that_stands_is_not_replaced_unasked(tmp_path, vectors):
    pageway.build(tmp_path / "i", vectors[:50], memory="2MB").close()
    with pytest.raises(pageway.ExistsError, match="overwrite=True") as caught:
        pageway.build(tmp_path / "i", vectors, memory="2MB")
    assert isinstance(caught.value, FileExistsError) and caught.value.errno == errno.EEXIST
    with pageway.build(tmp_path / "i", vectors, memory="2MB", overwrite=True) as index:
        assert len(index) == len(vectors)


def test_errors_have_a_number_and_a_file(tmp_path, vectors):
    with pytest.raises(FileNotFoundError) as caught:
        pageway.open(tmp_path / "none")
    error = caught.value
    assert (error.errno, error.filename) == (errno.ENOENT, str(tmp_path / "none"))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.errno, again.filename) == (str(error), error.errno, error.filename)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError) as caught:
        pageway.build(tmp_path / "file" / "i", vectors, memory="2MB")
    assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENOENT)
    assert str(tmp_path / "file") in str(caught.value)


def test_a_pickled_index_opens_anew(built, queries):
    with pageway.open(built, memory="3MB", threads=2) as index:
        expected = index.search(queries, list_size=50)
        copy = pickle.loads(pickle.dumps(index))
        budget = index.stats()["memory"]["budget_bytes"]
    with copy:
        np.testing.assert_array_equal(copy.search(queries, list_size=50).ids, expected.ids)
        assert copy.stats()["memory"]["budget_bytes"] == budget == 3_000_000


def _found(index, queries):
    return index.search(queries, list_size=50).ids


def test_other_processes_search_what_they_are_sent(index, queries):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(_found, (index, queries))
    np.testing.assert_array_equal(found, _found(index, queries))


def test_searches_can_be_awaited(index, queries):
    async def all_of_them():
        near = [index.asearch(query, k=3, list_size=50) for query in queries]
        return await asyncio.gather(*near, index.arange(queries, 5.0))

    *near, within = asyncio.run(all_of_them())
    np.testing.assert_array_equal(
        np.stack([found.ids for found in near]), index.search(queries, k=3, list_size=50).ids
    )
    np.testing.assert_array_equal(within.lims, index.range(queries, 5.0).lims)
    with pytest.raises(pageway.InvalidInputError):
        asyncio.run(index.asearch(queries[0], k=0))


def test_stages_are_logged(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "pageway"):
        pageway.build(tmp_path / "i", clustered(np.float32), memory="2MB").close()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) >= 4 and all(str(tmp_path / "i") in line for line in lines)
    assert "done after" in lines[-1]


class Bar:
    """What tqdm looks like."""

    made = []

    def __init__(self, total=None, unit=None):
        self.total, self.n, self.closed = total, 0.0, False
        self.made.append(self)

    def update(self, n):
        assert n >= 0
        self.n += n

    def set_description_str(self, text, refresh=True):
        self.text = text

    def close(self):
        self.closed = True


@pytest.mark.parametrize("segments", [1, 4])
def test_bars_show_the_share_of_the_whole(tmp_path, segments):
    rows, settings = clustered(np.float32), {"memory": "2MB", "segments": segments}
    pageway.build(tmp_path / "a", rows, progress=Bar, **settings).close()
    bar = Bar.made.pop()
    assert bar.closed and bar.n == pytest.approx(100, abs=0.5)
    mine = Bar(total=1)
    pageway.build(tmp_path / "b", rows, progress=mine, **settings).close()
    assert not mine.closed and mine.n == pytest.approx(1, abs=0.05)
    shares = []
    report = pageway.progress_share(lambda share, stage: shares.append(share))
    pageway.build(tmp_path / "c", rows, progress=report, **settings).close()
    assert shares == sorted(shares) and shares[-1] == 1.0 and len(set(shares)) > 3


def test_a_bar_never_moves_back():
    bar = Bar(total=1)
    shown = pageway._share.Bar(bar)
    for share in [0.06, 0.88, 0.88, 1.0, 1.0]:
        shown(share, "encode")
    assert bar.n == pytest.approx(1)


def test_tqdm_itself(tmp_path):
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed").tqdm
    shown = io.StringIO()
    bar = tqdm(total=100, file=shown)
    pageway.build(tmp_path / "a", clustered(np.float32), memory="2MB", progress=bar).close()
    bar.close()
    assert bar.n == pytest.approx(100, abs=0.5)


def test_names_are_those_of_the_engine():
    assert set(get_args(_settings.PresetName)) == {preset.name for preset in pageway.presets()}
    hints = get_type_hints(pageway.build)
    with pytest.raises(pageway.InvalidInputError, match="unknown metric") as refused:
        pageway.build("refused.index", np.zeros((1, 8), np.float32), metric="none")
    words = re.findall(r"\w+", str(refused.value).partition("use ")[2])
    known = [word for word in words if word not in ("or", "of", "bits")]
    assert list(get_args(hints["metric"])) == known
    defaults = _native.defaults()
    assert {"degree", "recall", "seed"} <= set(defaults)
    assert pageway.build.__kwdefaults__["degree"] == defaults["degree"]
    assert defaults["recall"] == 0.95


def test_reports_have_the_keys_they_declare(tmp_path, vectors):
    with pageway.build(tmp_path / "i", vectors, memory="2MB") as index:
        stats = index.stats()
        cases = [
            (reports.BuildReport, index.build_report),
            (reports.IndexStats, stats),
            (reports.MemoryStats, stats["memory"]),
            (reports.Backend, stats["backend"]),
            (reports.SegmentStats, stats["segments"][0]),
            (reports.FileStats, stats["files"][0]),
            (reports.FileCheck, index.verify().files[0]),
            (reports.Calibration, index.calibration),
            (reports.CalibrationCurve, index.calibration["curves"][0]),
            (reports.DimensionFit, index.calibration["curves"][0]["dimension"]),
            (reports.CalibrationRow, index.calibration["curves"][0]["rows"][0]),
        ]
        for declared, found in cases:
            needed = declared.__required_keys__
            assert needed <= set(found) <= set(get_type_hints(declared)), declared


def test_a_notebook_shows_a_table_and_a_plot(tmp_path, vectors):
    from xml.dom import minidom

    with pageway.build(tmp_path / "i & j", vectors, memory="2MB") as index:
        html = index._repr_html_()
        page = minidom.parseString(html.replace("&times;", "x"))
        rows = sum(len(c["rows"]) for c in index.calibration["curves"] if c["k"] == 10)
    assert "i &amp; j" in html and len(page.getElementsByTagName("tr")) == 4
    assert len(page.getElementsByTagName("circle")) == (rows if rows > 1 else 0)
    assert "closed" in index._repr_html_()


def test_help_is_about_the_class(index, queries):
    for name in ("SearchResult", "RangeResult"):
        text = pydoc.render_doc(getattr(pageway, name))
        assert "inherited from builtins.tuple" not in text and len(text.splitlines()) < 95
    found = index.search(queries, k=4)
    ids, distances = found
    assert found[0] is ids is found.ids and found[-1] is distances and len(found) == 2
    assert repr(found).startswith("SearchResult(ids=array(")
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.ids, ids)


def test_an_index_can_be_found_again_after_a_change_of_directory(built, tmp_path, monkeypatch):
    monkeypatch.chdir(built.parent)
    index = pageway.open(built.name)
    data = pickle.dumps(index)
    index.close()
    monkeypatch.chdir(tmp_path)
    with pickle.loads(data) as copy:
        assert len(copy) == 1500 and os.path.isabs(copy.path)
