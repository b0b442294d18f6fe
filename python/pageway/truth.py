"""Exact neighbours, by comparing everything with everything."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from . import _native
from ._checks import checked_count, checked_text
from ._progress import ProgressWish, Reporting
from ._settings import Metric
from ._sources import as_input
from .results import SearchResult

__all__ = ["ground_truth"]


def ground_truth(
    base: Any,
    queries: Any,
    k: int = 10,
    metric: Metric = "l2",
    *,
    threads: int = 0,
    progress: ProgressWish = False,
    dtype: Any = None,
) -> SearchResult:
    """Finds the true `k` nearest rows of `base` for each query: what recall is measured against.

    Costs ``len(base) * len(queries)`` distances and one pass over `base`, which may be a file of
    any size.

    Parameters
    ----------
    base : path or array_like, shape (n, d)
        As the vectors of `pageway.build`.
    queries : path or array_like, shape (m, d)
        Floats are cast to the float type of `base`; bytes and floats are never mixed.
    k : int
        Neighbours per query, from 1 to n.
    metric : {"l2", "inner_product", "cosine", "l1", "hamming", "jaccard"}
        Distance.
    threads : int
        0 for all cores.
    progress : bool or callable
        As for `pageway.build`.
    dtype : dtype, optional
        As for `pageway.build`; holds for both files.

    Returns
    -------
    SearchResult
        Row numbers and distances of shape (m, k), nearest first, equal distances by row number.

    Raises
    ------
    InvalidInputError
        Shapes or types that differ, NaN, a zero vector under cosine, `k` out of range.
    """
    options: _native._TruthOptions = {
        "k": checked_count("k", k),
        "metric": checked_text("metric", metric),
        "threads": checked_count("threads", threads),
    }
    with ExitStack() as stack:
        rows = stack.enter_context(as_input(base, "base", dtype=dtype)).vectors
        asked = stack.enter_context(as_input(queries, "queries", dtype=dtype)).vectors
        callback = stack.enter_context(Reporting(progress, "ground truth"))
        ids, distances = _native.ground_truth(rows, asked, options, callback)
    return SearchResult(ids, distances)
