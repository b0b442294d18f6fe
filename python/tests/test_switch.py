"""Going from one index to another, with one codebook."""

import numpy as np
import pytest
from conftest import clustered

import pageway

DESIGNS = ["diskann", "aisaq"]


def codebook(path):
    (file,) = path.glob("codebook*")
    return file.read_bytes()


@pytest.fixture(scope="module", params=DESIGNS)
def pair(request, tmp_path_factory, vectors, queries):
    """Two indexes over different vectors of one space; the second has the codebook of the first."""
    directory = tmp_path_factory.mktemp(request.param)
    first, second = directory / "first", directory / "second"
    settings = {"memory": "4MB", "preset": request.param, "degree": 24, "queries": queries}
    pageway.build(first, vectors[:900], **settings).close()
    pageway.build(second, vectors[900:], codebook_from=first, seed=7, **settings).close()
    return first, second


def test_a_codebook_is_taken_over(pair, tmp_path, vectors):
    first, second = pair
    assert codebook(first) == codebook(second)
    pageway.build(tmp_path / "own", vectors[900:], memory="4MB", seed=7).close()
    assert codebook(tmp_path / "own") != codebook(first)


def test_the_other_index_answers_as_if_it_were_opened(pair, queries):
    first, second = pair
    with pageway.open(first) as one, pageway.open(second) as opened:
        with one.switch(second) as other:
            assert other.path == str(second) and len(other) == len(opened) == 600
            mine, theirs = (index.search(queries, effort=40) for index in (other, opened))
            np.testing.assert_array_equal(mine.ids, theirs.ids)
            np.testing.assert_array_equal(mine.distances, theirs.distances)
        assert not one.closed and len(one) == 900
        back = one.switch(first)
        np.testing.assert_array_equal(
            back.search(queries, effort=40).ids, one.search(queries, effort=40).ids
        )


def test_each_index_lives_on_its_own(pair, queries):
    first, second = pair
    one = pageway.open(first)
    other = one.switch(second)
    expected = other.search(queries, effort=40).ids
    one.close()
    np.testing.assert_array_equal(other.search(queries, effort=40).ids, expected)
    with pytest.raises(pageway.InvalidInputError, match="is closed; open it again"):
        one.switch(second)
    other.close()


def test_settings_are_those_of_open(pair):
    first, second = pair
    with pageway.open(first) as one:
        with one.switch(second, memory="6MB", threads=2) as other:
            assert other.stats()["memory"]["budget_bytes"] == 6_000_000
        with pytest.raises(pageway.InvalidInputError, match="smallest that works"):
            one.switch(second, memory="10kB")
        with pytest.raises(pageway.NotFoundError):
            one.switch(first.parent / "none")


def test_an_index_of_another_space_is_opened_all_the_same(pair, tmp_path, queries):
    first, _ = pair
    rows = clustered(np.uint8, count=300, dimension=8)
    pageway.build(tmp_path / "i", rows, metric="cosine", memory="2MB").close()
    with pageway.open(first) as one, one.switch(tmp_path / "i") as other:
        assert (other.metric, other.dtype, other.shape) == ("cosine", np.uint8, (300, 8))
        assert other.search(rows[3], k=1).distances[0] == pytest.approx(0, abs=1e-5)


def test_a_codebook_of_another_space_is_refused(pair, tmp_path, vectors):
    first, _ = pair
    with pytest.raises(pageway.InvalidInputError, match="codebook of .*24 x f32, l2"):
        pageway.build(tmp_path / "i", vectors[:, :8], codebook_from=first, memory="2MB")
    with pytest.raises(pageway.NotFoundError):
        pageway.build(tmp_path / "i", vectors, codebook_from=tmp_path / "none", memory="2MB")
