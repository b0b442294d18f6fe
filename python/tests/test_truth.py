"""Exact neighbours."""

import numpy as np
import pytest
from conftest import clustered, distances

import pageway


@pytest.mark.parametrize("metric", ["l2", "inner_product", "cosine"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int8"])
def test_truth_is_what_numpy_finds(dtype, metric):
    rows = clustered(dtype, count=520)
    base, queries = rows[:500], rows[500:]
    ids, found = pageway.ground_truth(base, queries, k=10, metric=metric)
    exact = distances(base, queries, metric)
    np.testing.assert_allclose(found, np.sort(exact, axis=1)[:, :10], rtol=2e-3, atol=2e-4)
    reached = np.take_along_axis(exact, ids.astype(np.int64), axis=1)
    np.testing.assert_allclose(reached, found, rtol=2e-3, atol=2e-4)


def test_truth_of_files(tmp_path, vectors, queries):
    np.save(tmp_path / "base.npy", vectors)
    np.save(tmp_path / "queries.npy", queries)
    from_files = pageway.ground_truth(tmp_path / "base.npy", tmp_path / "queries.npy", k=5)
    from_arrays = pageway.ground_truth(vectors, queries, k=5, threads=1)
    np.testing.assert_array_equal(from_files.ids, from_arrays.ids)
    np.testing.assert_array_equal(from_files.distances, from_arrays.distances)


def test_queries_take_the_type_of_the_base(vectors, queries):
    halves = queries.astype(np.float16)
    expected = pageway.ground_truth(vectors, halves.astype(np.float32), k=5)
    np.testing.assert_array_equal(pageway.ground_truth(vectors, halves, k=5).ids, expected.ids)
    bits, asked = vectors[:, :16] > 0, queries[:, :16] > 0
    expected = pageway.ground_truth(bits, asked, k=5, metric="hamming")
    packed = pageway.ground_truth(bits, np.packbits(asked, axis=1), k=5, metric="hamming")
    np.testing.assert_array_equal(packed.ids, expected.ids)


def test_bad_questions_are_refused(vectors, queries):
    spoilt = queries.copy()
    spoilt[3, 1] = np.nan
    for arguments, words in [
        ((vectors, queries, 0), "k is 0"),
        ((vectors, queries, 1501), "1500"),
        ((vectors, queries[:, :5], 1), "5"),
        ((vectors, np.ones(queries.shape, np.uint8), 1), "u8"),
        ((vectors, spoilt, 1), "queries: row 3, component 1 is NaN"),
        ((vectors, queries, 1, "chebyshev"), "cosine"),
    ]:
        with pytest.raises(pageway.InvalidInputError, match=words):
            pageway.ground_truth(*arguments)
