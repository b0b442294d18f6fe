"""Tags of rows from the files of big-ann-benchmarks."""

import numpy as np
import pageway
import pytest


def write(path, rows, columns, head=None):
    offsets = np.cumsum([0] + [len(row) for row in rows]).astype("<i8")
    tags = np.array([tag for row in rows for tag in row], "<i4")
    with path.open("wb") as file:
        np.array(head or [len(rows), columns, tags.size], "<i8").tofile(file)
        for part in (offsets, tags, np.ones(tags.size, "<f4")):
            part.tofile(file)
    return path


def test_tags_of_a_file_are_a_list_to_filter_by(tmp_path):
    vectors = np.random.default_rng(1).normal(size=(200, 8)).astype(np.float32)
    tags = [sorted({row % 5, 7 + row % 9}) if row % 10 else [] for row in range(200)]
    path = write(tmp_path / "tags.spmat", tags, 16)
    with pageway.build(
        tmp_path / "index", vectors, attributes=path, memory="4MB", degree=16
    ) as index:
        for own in ([3], [3, 9], [15]):
            filter = {"must": [{"key": "tags", "match": {"value": tag}} for tag in own]}
            matching = {row for row in range(200) if set(own) <= set(tags[row])}
            assert index.count(filter) == len(matching)
            found = index.search(vectors[0], k=200, filter=filter).ids
            assert {int(id) for id in found if id >= 0} == matching


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ([9, 4, 2], "9 rows, 4 columns and 2 entries"),
        ([-1, 4, 2], "-1 rows"),
        ([2, 1, 2], "outside of the 1"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(tmp_path, head, words):
    path = write(tmp_path / "tags.spmat", [[0], [3]], 4, head)
    vectors = np.ones((2, 8), np.float32)
    with pytest.raises(pageway.InvalidInputError, match=words):
        pageway.build(tmp_path / "index", vectors, attributes=path)
    with pytest.raises(pageway.NotFoundError):
        pageway.build(tmp_path / "index", vectors, attributes=tmp_path / "none.spmat")
