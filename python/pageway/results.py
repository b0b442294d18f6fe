"""What searches, measurements and checks answer."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import numpy.typing as npt

__all__ = ["Preset", "RangeResult", "RecallReport", "SearchResult", "VerifyReport"]


class _Neighbours(NamedTuple):
    ids: npt.NDArray[np.uint64]
    distances: npt.NDArray[np.float32]


class SearchResult(_Neighbours):
    """Nearest vectors, nearest first; unpacks as ``ids, distances``.

    Attributes
    ----------
    ids : ndarray of uint64, shape (k,) or (n, k)
        Row numbers of the vectors, or the ids given at build. ``(k,)`` for one query of shape
        ``(d,)``.
    distances : ndarray of float32, same shape
        Distances, exact but for those that ``estimated`` counts; smaller is nearer in every metric.
        L2: squared Euclidean. Inner product: negated. Cosine: one minus the cosine.
    stats : dict of str to ndarray of uint64
        What each query cost; shape ``()`` for one query, ``(n,)`` for many. ``reads`` and ``pages``
        (I/O requests, pages read), ``refine_reads`` (those of the reads that came at the end, for
        exact distances alone), ``page_hits`` (pages that the page cache had), ``bytes_read``,
        ``bytes_used``, ``rounds`` (waits for I/O), ``hops`` (nodes expanded), ``exact_distances``,
        ``approximate_distances``, ``estimated`` (answers whose distance is an estimate),
        ``wait_ns``, ``compute_ns``, ``latency_ns``; and ``cache_hits`` by distance from the entry
        in hops, with a last axis of 8.
    settings : dict of str to int
        What the search resolved to: ``list_size``, ``beam``, ``threads``, ``interleave``.
    """

    stats: Dict[str, npt.NDArray[np.uint64]]
    settings: Dict[str, int]

    def __new__(
        cls,
        ids: npt.NDArray[np.uint64],
        distances: npt.NDArray[np.float32],
        stats: Optional[Dict[str, npt.NDArray[np.uint64]]] = None,
        settings: Optional[Dict[str, int]] = None,
    ) -> SearchResult:
        self = super().__new__(cls, ids, distances)
        self.stats = stats or {}
        self.settings = settings or {}
        return self


class _Within(NamedTuple):
    lims: npt.NDArray[np.int64]
    ids: npt.NDArray[np.uint64]
    distances: npt.NDArray[np.float32]


class RangeResult(_Within):
    """Vectors within a radius; unpacks as ``lims, ids, distances``, as in faiss.

    Examples
    --------
    >>> lims, ids, distances = index.range(queries, radius=6.0)
    >>> of_the_third_query = ids[lims[2] : lims[3]]

    Attributes
    ----------
    lims : ndarray of int64, shape (n + 1,)
        The results of query ``i`` are those from ``lims[i]`` to ``lims[i + 1]``; ``lims[0]`` is 0,
        ``lims[-1]`` the number of all results. ``n`` is 1 for one query of shape ``(d,)``.
    ids : ndarray of uint64, shape (lims[-1],)
        Row numbers of the vectors, or the ids given at build; per query nearest first.
    distances : ndarray of float32, same shape
        Exact distances, in the unit of `SearchResult`.
    stats : dict of str to ndarray of uint64
        What each query cost, as in `SearchResult`.
    settings : dict of str to int
        What the search resolved to, as in `SearchResult`; ``list_size`` is what it began with.
    truncated : int
        Queries that found as many results as ``limit`` allows: there may be more.
    """

    stats: Dict[str, npt.NDArray[np.uint64]]
    settings: Dict[str, int]
    truncated: int

    def __new__(
        cls,
        found: Tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.float32]],
        stats: Dict[str, npt.NDArray[np.uint64]],
        settings: Dict[str, int],
        truncated: int,
    ) -> RangeResult:
        self = super().__new__(cls, *found)
        self.stats = stats
        self.settings = settings
        self.truncated = truncated
        return self


class Preset(NamedTuple):
    """A design.

    Attributes
    ----------
    name : str
        What `pageway.build` calls it.
    summary : str
        What it is, in a sentence or two.
    """

    name: str
    summary: str


class RecallReport(NamedTuple):
    """Recall that was measured, and what it cost.

    Attributes
    ----------
    recall : float
        Share of the true `k` nearest neighbours that were found, mean over the queries.
    k : int
        Neighbours per query.
    list_size : int
        Candidate list size (L) that was used.
    queries : int
        Queries that were measured.
    pages_per_query : float
        Pages read per query, mean.
    """

    recall: float
    k: int
    list_size: int
    queries: int
    pages_per_query: float


class VerifyReport(NamedTuple):
    """What a check of every page found.

    Attributes
    ----------
    files : list of dict
        Per file ``name``, ``pages``, ``bytes`` and ``damaged``, the number of damaged pages.
    records : int
        Records that were decoded.
    problems : list of str
        One sentence per problem; empty when the index is sound.
    """

    files: List[Dict[str, Any]]
    records: int
    problems: List[str]

    @property
    def sound(self) -> bool:
        """True when no problem was found."""
        return not self.problems
