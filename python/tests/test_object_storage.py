"""Indexes that are published, and opened by their URLs."""

import pickle

import numpy as np
import pytest

import pageway


@pytest.fixture(scope="module")
def published(tmp_path_factory, built):
    """The URL of an index, and where its cache may lie."""
    directory = tmp_path_factory.mktemp("objects")
    url = f"file://{directory / 'bucket'}"
    report = pageway.publish(built, url)
    assert report.version == 1 and report.uploaded_bytes == report.bytes > 0
    again = pageway.publish(built, url)
    assert (again.version, again.uploaded_files) == (2, 0)
    return url, directory


@pytest.mark.parametrize("mode", ["lazy", "codes", "all"])
def test_it_answers_as_the_local_one_does(published, built, queries, mode):
    url, directory = published
    settings = {"cache": directory / mode, "cache_bytes": "8MB", "cache_mode": mode}
    # Vectors that memory holds are answered exactly: all of them in both.
    settings["memory"] = "6MB"
    with pageway.open(built, memory="6MB") as local, pageway.open(url, **settings) as remote:
        assert remote.path == url and len(remote) == len(local)
        mine, theirs = (index.search(queries, effort=40) for index in (remote, local))
        np.testing.assert_array_equal(mine.ids, theirs.ids)
        np.testing.assert_array_equal(mine.distances, theirs.distances)
        copy = pickle.dumps(remote)
        with pytest.raises(pageway.StorageError, match="uses this cache"):
            pickle.loads(copy)
    with pickle.loads(copy) as again:
        np.testing.assert_array_equal(again.search(queries, effort=40).ids, mine.ids)
    kept = sum(file.stat().st_size for file in (directory / mode).iterdir())
    assert 0 < kept <= 8_000_000


def test_what_cannot_be_is_said(published, tmp_path):
    url, _ = published
    with pytest.raises(pageway.InvalidInputError, match="cache="):
        pageway.open(url)
    with pytest.raises(pageway.InvalidInputError, match="is not changed"):
        pageway.open(url, cache=tmp_path / "c", writable=True)
    with pytest.raises(pageway.InvalidInputError, match="cache mode"):
        pageway.open(url, cache=tmp_path / "c", cache_mode="some")
    with pytest.raises(pageway.InvalidInputError, match="least"):
        pageway.open(url, cache=tmp_path / "c", cache_bytes=1000)
    with pytest.raises(pageway.InvalidInputError, match="give file"):
        pageway.open("ftp://x/y", cache=tmp_path / "c")
    with pytest.raises(pageway.NotFoundError, match="no index was published"):
        pageway.open(f"file://{tmp_path / 'none'}", cache=tmp_path / "c")


def test_what_makes_a_directory_takes_no_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.eye(8, dtype=np.float32)
    for data in (rows, iter([rows])):
        with pytest.raises(pageway.InvalidInputError, match="s3://bucket/a: a URL"):
            pageway.build("s3://bucket/a", data, metric="l2")
    with pytest.raises(pageway.InvalidInputError, match="a URL"):
        pageway.create("s3://bucket/a", dimension=8, metric="l2")
    assert not list(tmp_path.iterdir())
