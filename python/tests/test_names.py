"""Rows that are known by names: texts and UUIDs as ids."""

from uuid import UUID, uuid5

import numpy as np
import pytest

import pageway

SPACE = UUID("12345678-1234-5678-1234-567812345678")


@pytest.fixture
def rows():
    return np.random.default_rng(3).normal(size=(400, 16)).astype(np.float32)


def built(tmp_path, rows, ids, **options):
    return pageway.build(
        tmp_path / "i", rows, metric="l2", memory="20MB", ids=ids, calibration_queries=20, **options
    )


@pytest.mark.parametrize("kind", [list, np.array, lambda names: np.array(names, dtype=object)])
def test_searches_give_names(tmp_path, rows, kind):
    names = [f"doc/{row}" for row in range(400)]
    index = built(tmp_path, rows, kind(names), attributes=[{"n": row} for row in range(400)])
    result = index.search(rows[:5], k=3, list_size=60, with_attributes=True)
    assert result.ids.shape == (5, 3)
    assert result.ids[:, 0].tolist() == names[:5]
    assert [own["n"] for own in result.attributes[::3]] == list(range(5))
    near = index.range(rows[7], radius=1e-6)
    assert near.ids.tolist() == ["doc/7"]
    np.testing.assert_array_equal(index.vectors(["doc/9", "doc/3"]), rows[[9, 3]])
    np.testing.assert_array_equal(index.vectors("doc/9"), rows[9])
    with pytest.raises(pageway.InvalidInputError, match="no row has the name 'none'"):
        index.vectors(["doc/9", "none"])
    found = index.rows(["doc/4", "none"])
    assert [(row.id, row.attributes) for row in found] == [("doc/4", {"n": 4})]
    assert index.count(["doc/1", "doc/2", "none"]) == 2
    assert index.search(rows[1], k=3, filter=["doc/1"]).ids.tolist() == ["doc/1", -1, -1]
    assert index.fields() == {"n": (["integer"], 400)}


def test_names_change(tmp_path, rows):
    ids = [uuid5(SPACE, str(row)) for row in range(300)]
    built(tmp_path, rows[:300], ids).close()
    with pageway.open(tmp_path / "i", writable=True) as index:
        with pytest.raises(pageway.InvalidInputError, match=str(ids[2])):
            index.insert(rows[300:302], [uuid5(SPACE, "new"), ids[2]])
        done = index.upsert(rows[300:302], [uuid5(SPACE, "new"), ids[2]])
        assert (done.inserted, done.replaced) == (1, 1)
        assert index.insert(rows[302]).first_id == 0
        assert index.set({"n": 1}, ids[2]).changed == 1
        assert index.unset("n", [ids[2]]).changed == 1
        gone = index.delete([str(ids[5]), "nobody"])
        assert (gone.deleted, gone.absent) == (1, 1)
        index.merge(full=True)
        found = index.search(rows[300:303], k=1, list_size=60).ids.ravel().tolist()
        assert found == [str(uuid5(SPACE, "new")), str(ids[2]), 0]
        page = index.scroll(limit=1000)
        assert {row.id for row in page.rows} >= {0, str(ids[1])} and len(page.rows) == 301


def test_what_is_no_name_is_refused(tmp_path, rows):
    with pytest.raises(pageway.InvalidInputError, match="row 1 is 7"):
        built(tmp_path, rows[:2], ["a", 7])
    with pytest.raises(pageway.InvalidInputError, match="name \"a\""):
        built(tmp_path, rows[:3], ["a", "b", "a"])
    with pytest.raises(pageway.InvalidInputError, match="257 bytes"):
        built(tmp_path, rows[:2], ["a", "n" * 257])
