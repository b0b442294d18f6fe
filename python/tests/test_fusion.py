"""Rankings are fused by the reciprocal of their places."""

import numpy as np
import pageway
import pytest
from pageway import fuse

DRAW = np.random.default_rng(11)


def by_definition(rankings, weights, constant):
    ids = {one for ranking in rankings for one in ranking if one != -1}
    return {
        one: sum(
            weight / (constant + list(ranking).index(one) + 1)
            for ranking, weight in zip(rankings, weights)
            if one in ranking
        )
        for one in ids
    }


def test_scores_are_those_of_the_definition():
    for _ in range(50):
        lengths = DRAW.integers(1, 30, size=3)
        rankings = [DRAW.permutation(40)[:length] for length in lengths]
        weights, constant = DRAW.random(3), float(DRAW.integers(0, 100))
        expected = by_definition(rankings, weights, constant)
        found = fuse(rankings, k=50, weights=weights, constant=constant)
        assert set(found.ids[: len(expected)].tolist()) == set(expected)
        assert (found.ids[len(expected) :] == -1).all() and found.ids.dtype == np.int64
        for one, score in zip(found.ids[: len(expected)].tolist(), found.scores):
            assert score == pytest.approx(expected[one])
        assert (np.diff(found.scores) <= 0).all()


def test_many_queries_are_each_as_alone():
    first, second = DRAW.integers(0, 30, (6, 12)), DRAW.integers(0, 30, (6, 7))
    first[:, 9:] = -1
    both = fuse([first, second], k=8)
    assert both.ids.shape == both.scores.shape == (6, 8)
    for query in range(6):
        one = fuse([first[query], second[query]], k=8)
        np.testing.assert_array_equal(one.ids, both.ids[query])
        np.testing.assert_array_equal(one.scores, both.scores[query])


def test_equals_come_by_place_then_by_ranking():
    assert fuse([[7, 8], [9, 6]], k=4).ids.tolist() == [7, 9, 8, 6]
    assert fuse([["b", "a"], np.array(["a", "c"])], k=3).ids.tolist() == ["a", "b", "c"]
    assert fuse([[1, 1, 1, 2], [2]], k=2).scores[1] == pytest.approx(1 / 61)
    assert fuse([[2**64 - 2], ["row", -1]], k=3).ids.tolist() == [2**64 - 2, "row", -1]
    assert fuse([[], []], k=2).ids.tolist() == [-1, -1]
    assert fuse([[1]], k=0).ids.shape == (0,)
    assert fuse([np.empty((0, 4), int)], k=3).scores.shape == (0, 3)
    assert fuse([np.empty((2, 0), int)], k=1).ids.tolist() == [[-1], [-1]]


def test_results_of_searches_are_fused_with_lists(tmp_path):
    rows = DRAW.normal(size=(300, 8)).astype(np.float32)
    with pageway.build(tmp_path / "index", rows, memory="2MB") as index:
        near = index.search(rows[5], k=20)
        words = [near.ids[3], 299]
        found = fuse([near, words], k=3)
        assert found.ids[0] == near.ids[3]
        many = index.search(rows[:4], k=20)
        assert (fuse([many, many], k=20).ids == many.ids).all()
        names = np.array(["x", near.ids[0]], dtype=object)
        assert set(fuse([near, names], k=2).ids) == {"x", near.ids[0]}


@pytest.mark.parametrize(
    ("rankings", "options", "words"),
    [
        ([], {}, "none to fuse"),
        ([[1], [[1], [2]]], {}, r"different queries, with shapes \(1,\), \(2, 1\)"),
        ([np.zeros((2, 3), int), np.zeros((3, 3), int)], {}, "different queries"),
        ([np.zeros((1, 1, 1), int)], {}, "number 0 has shape"),
        ([np.zeros(3)], {}, "float64, which are no ids"),
        ([[[1], [2, 3]]], {}, r"\[1\] is no id"),
        ([[1, 2.5]], {}, "2.5 is no id"),
        ([[1]], {"weights": [1, 2]}, "2 for 1"),
        ([[1]], {"weights": [-1]}, "-1.0 is not"),
        ([[1]], {"weights": [float("nan")]}, "nan is not"),
        ([[1]], {"constant": -1}, "constant is -1"),
        ([[1]], {"k": -1}, "k is -1"),
    ],
)
def test_what_cannot_be_fused_is_said(rankings, options, words):
    with pytest.raises(pageway.InvalidInputError, match=words):
        fuse(rankings, **options)
