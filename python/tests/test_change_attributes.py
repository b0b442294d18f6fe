"""Attributes of rows that change."""

from __future__ import annotations

import numpy as np
import pytest

import pageway


@pytest.fixture
def index(tmp_path):
    with pageway.create(tmp_path / "index", dimension=8) as opened:
        yield opened


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 8)).astype(np.float32)


def test_whole_numbers_beyond_64_bits_are_refused(index, tmp_path):
    ends = {"least": -(2**63), "most": 2**64 - 1, "text": str(2**70), "float": 1e30}
    index.insert(rows(1), [7], attributes=[ends])
    assert index.rows([7])[0].attributes == ends
    beyond = [{}, {"place": {"n": [2**64]}}]
    words = 'row 1: field "n": 18446744073709551616'
    for put in (
        lambda: index.insert(rows(2), attributes=beyond),
        lambda: index.upsert(rows(2), [7, 8], attributes=beyond),
        lambda: pageway.build(tmp_path / "other", rows(2), attributes=beyond),
    ):
        with pytest.raises(pageway.InvalidInputError, match=words):
            put()
    for overwrite in (False, True):
        with pytest.raises(pageway.InvalidInputError, match='field "n": -9223372036854775809'):
            index.set({"n": -(2**63) - 1}, [7], overwrite=overwrite)
    assert index.rows([7])[0].attributes == ends and len(index) == 1
    assert not (tmp_path / "other").exists()


def test_attributes_come_change_and_go(index):
    vectors = rows(20)
    colors = [{"color": "red" if row % 2 else "blue", "n": row} for row in range(20)]
    index.insert(vectors, np.arange(20), attributes=colors)
    assert index.count("color = 'red'") == 10
    found = index.search(vectors[3], k=20, list_size=50, filter="n < 5", with_attributes=True)
    assert sorted(found.ids[found.ids >= 0]) == [0, 1, 2, 3, 4]
    assert found.attributes[0] == {"color": "red", "n": 3}
    assert index.set({"color": "green"}, [1, 2, 99]).changed == 2
    assert index.set({"at": 5}, filter="color = 'green'", at="place").changed == 2
    index.flush()
    assert index.rows([2, 99])[0].attributes == {"color": "green", "n": 2, "place": {"at": 5}}
    assert index.unset("place.at", 2).changed == 1
    assert index.set({"only": True}, 3, overwrite=True).changed == 1
    assert index.unset(ids=[4]).changed == 1
    by_id = {row.id: row.attributes for row in index.rows([2, 3, 4])}
    assert by_id == {2: {"color": "green", "n": 2, "place": {}}, 3: {"only": True}, 4: None}
    assert index.delete(filter={"must": [{"key": "n", "range": {"gte": 10}}]}).deleted == 10
    assert len(index.rows(np.arange(20))) == 10
    index.merge(full=True)
    assert {row.id: row.attributes for row in index.rows([2, 3, 4])} == by_id


def test_an_upsert_brings_all_attributes(index):
    index.insert(rows(2), [5, 6], attributes=[{"a": 1}, {"a": 2}])
    index.upsert(rows(1, 1), [5])
    index.upsert(rows(1, 2)[0], 6, attributes={"b": 3})
    assert [row.attributes for row in index.rows([5, 6])] == [None, {"b": 3}]


def test_rows_come_in_the_order_of_ids(index):
    vectors = rows(30)
    ids = np.random.default_rng(3).permutation(1000)[:30]
    index.insert(vectors[:20], ids[:20], attributes=[{"n": int(one)} for one in ids[:20]])
    index.flush()
    index.insert(iter([(vectors[20:], ids[20:], [{"n": int(one)} for one in ids[20:]])]))
    seen, offset = [], 0
    while offset is not None:
        page = index.scroll(limit=7, offset=offset, vectors=True)
        seen, offset = seen + page.rows, page.offset
    assert [row.id for row in seen] == sorted(ids)
    for row in seen:
        assert row.attributes == {"n": row.id}
        assert np.array_equal(row.vector, vectors[list(ids).index(row.id)])
    few = index.scroll(filter="n < 300", limit=100, attributes=False)
    assert [row.id for row in few.rows] == sorted(one for one in ids if one < 300)
    assert few.offset is None and few.rows[0].attributes is None


def test_what_cannot_be_is_refused(index):
    index.insert(rows(1))
    with pytest.raises(pageway.InvalidInputError, match="2 rows for 1"):
        index.insert(rows(1), attributes=[{}, {}])
    with pytest.raises(pageway.InvalidInputError, match="either ids or a filter"):
        index.set({"a": 1})
    with pytest.raises(pageway.InvalidInputError, match="either ids or a filter"):
        index.delete()
    with pytest.raises(pageway.InvalidInputError, match="mapping"):
        index.set([1], 0)
    with pytest.raises(pageway.InvalidInputError, match="limit|rows at a time"):
        index.scroll(limit=0)
    for own in ({"limit": -1}, {"offset": -1}, {"offset": 2**64}):
        with pytest.raises(pageway.InvalidInputError, match="must be between 0"):
            index.scroll(**own)
    assert len(index) == 1
