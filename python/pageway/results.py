"""What searches, measurements and checks answer."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from .reports import FileCheck

__all__ = [
    "Acknowledged",
    "MergeReport",
    "Preset",
    "RangeResult",
    "RecallReport",
    "Row",
    "RowPage",
    "SearchResult",
    "VerifyReport",
]


#: Ids: int64, with -1 where there is no neighbour; uint64 where one of them needs it; objects where
#: rows have names, which are str then.
Ids = npt.NDArray[Any]


#: What stands where there is no neighbour, among ids that int64 does not hold.
_NOBODY = 2**64 - 1


def as_given(ids: npt.NDArray[np.uint64]) -> Ids:
    """Ids as users count: int64 where they fit, no copy."""
    signed = ids.view(np.int64)
    return signed if not signed.size or signed.min() >= -1 else ids


def as_known(ids: Ids, names: Sequence[Optional[str]]) -> Ids:
    """Ids in the shape of `ids`, with names in place of the ids of rows that have one."""
    if not names:
        return ids
    known = np.array(ids.ravel().tolist(), dtype=object)
    known[known == _NOBODY] = -1
    for at, name in enumerate(names):
        if name is not None:
            known[at] = name
    return known.reshape(ids.shape)


class _Unpacks:
    """Unpacks, and is indexed, as a tuple of its first attributes."""

    _first: ClassVar[Tuple[str, ...]] = ()

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter(tuple(getattr(self, name) for name in self._first))

    def __getitem__(self, at: int) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = getattr(self, self._first[at])
        return found

    def __len__(self) -> int:
        return len(self._first)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._first)
        return f"{type(self).__name__}({fields})"


class _Attributed:
    """May have attributes, and a filter."""

    attributes: Sequence[Optional[Dict[str, Any]]] = ()
    filter: Optional[Dict[str, Any]] = None


class SearchResult(_Attributed, _Unpacks):
    """Nearest vectors, nearest first; unpacks as ``ids, distances``.

    Attributes
    ----------
    ids : ndarray of int64, shape (k,) or (n, k)
        Row numbers of the vectors, or the ids given at build; -1 where there are fewer neighbours.
        uint64 when an id is 2**63 or more; objects, of str and int, where rows have names. ``(k,)``
        for one query of shape ``(d,)``.
    distances : ndarray of float32, same shape
        Distances; smaller is nearer in every metric. L2: squared Euclidean. Inner product: negated.
        Cosine: one minus the cosine.
    errors : ndarray of float32, same shape
        How far off each distance may be, in its unit, at four standard deviations; 0 where it is
        exact, as all are unless a tolerance was given.
    stats : dict of str to ndarray of uint64
        What each query cost; shape ``()`` for one query, ``(n,)`` for many. ``reads`` and ``pages``
        (I/O requests, pages read), ``refine_reads`` (those of the reads that came at the end, for
        exact distances alone), ``early_reads`` (those that began before that), ``unused_reads``
        (those of them for nothing), ``page_hits`` (pages that the page cache had), ``bytes_read``,
        ``bytes_used``, ``rounds`` (waits for I/O), ``hops`` (nodes expanded), ``exact_distances``,
        ``approximate_distances``, ``estimated`` (answers whose distance is an estimate),
        ``wait_ns``, ``compute_ns``, ``latency_ns``; and ``cache_hits`` by distance from the entry
        in hops, with a last axis of 8.
    settings : dict of str to int
        What the search resolved to: ``list_size`` (their mean where each query chooses its own),
        ``beam``, ``threads``, ``interleave``.
    expected_recall : float, optional
        Mean recall that the calibration expects of these queries, without their truth; None with a
        filter, and of an index that was not calibrated.
    unlike : float
        Share of the queries, 0 to 1, that lie farther from the data in kind than 99 in 100 of the
        calibrated ones. Above 0.05 recall is extrapolated, and `Index.calibrate` with such queries
        measures it.
    attributes : list of dict or None
        Attributes of ``ids``, flattened, where they were wanted; None where a row has none.
    filter : dict, optional
        What the filter did: ``matches``, ``documents`` (read to tell), ``strategy``, ``walk_cost``,
        ``scan_cost``, ``spent_cost`` (in scores of codes, of a query), ``rescued`` (queries whose walk
        was given up for a scan).
    """

    ids: Ids
    distances: npt.NDArray[np.float32]
    errors: npt.NDArray[np.float32]
    stats: Dict[str, npt.NDArray[np.uint64]]
    settings: Dict[str, int]
    expected_recall: Optional[float] = None
    unlike: float = 0.0
    _first = ("ids", "distances")

    def __init__(
        self,
        ids: npt.NDArray[np.uint64],
        distances: npt.NDArray[np.float32],
        stats: Optional[Dict[str, npt.NDArray[np.uint64]]] = None,
        settings: Optional[Dict[str, int]] = None,
        errors: Optional[npt.NDArray[np.float32]] = None,
    ) -> None:
        self.ids = as_given(ids)
        self.distances = distances
        self.errors = np.zeros_like(distances) if errors is None else errors
        self.stats = stats or {}
        self.settings = settings or {}


class RangeResult(_Attributed, _Unpacks):
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
    ids : ndarray of int64 (or uint64, as for `SearchResult`), shape (lims[-1],)
        Row numbers of the vectors, or the ids given at build; per query nearest first.
    distances : ndarray of float32, same shape
        Distances, in the unit of `SearchResult`.
    errors : ndarray of float32, same shape
        How far off each distance may be, as in `SearchResult`.
    stats : dict of str to ndarray of uint64
        What each query cost, as in `SearchResult`.
    settings : dict of str to int
        What the search resolved to, as in `SearchResult`; ``list_size`` is what it began with.
    truncated : int
        Queries that found as many results as ``limit`` allows: there may be more.
    attributes, filter
        As in `SearchResult`.
    """

    lims: npt.NDArray[np.int64]
    ids: Ids
    distances: npt.NDArray[np.float32]
    errors: npt.NDArray[np.float32]
    stats: Dict[str, npt.NDArray[np.uint64]]
    settings: Dict[str, int]
    truncated: int
    _first = ("lims", "ids", "distances")

    def __init__(
        self,
        found: Tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64], npt.NDArray[np.float32]],
        errors: npt.NDArray[np.float32],
        stats: Dict[str, npt.NDArray[np.uint64]],
        settings: Dict[str, int],
        truncated: int,
    ) -> None:
        self.lims, ids, self.distances = found
        self.ids = as_given(ids)
        self.errors = errors
        self.stats = stats
        self.settings = settings
        self.truncated = truncated


class Acknowledged(NamedTuple):
    """What a change did, or several.

    Attributes
    ----------
    inserted : int
        Rows that are new.
    replaced : int
        Rows in place of others of their ids.
    deleted : int
        Rows that were deleted.
    changed : int
        Rows whose attributes changed.
    absent : int
        Ids to delete or to change that no row had.
    first_id : int or None
        The first of the ids that the index gave; those of a call that no other was beside follow
        each other.
    lsn : int
        The last record of the log when it was done.
    durable : bool
        Whether a power cut loses nothing of it any more; of a call without rows, nothing of the log.
    """

    inserted: int = 0
    replaced: int = 0
    deleted: int = 0
    changed: int = 0
    absent: int = 0
    first_id: Optional[int] = None
    lsn: int = 0
    durable: bool = False

    def plus(self, later: Acknowledged) -> Acknowledged:
        """Both, of which `later` came later."""
        return Acknowledged(
            self.inserted + later.inserted,
            self.replaced + later.replaced,
            self.deleted + later.deleted,
            self.changed + later.changed,
            self.absent + later.absent,
            later.first_id if self.first_id is None else self.first_id,
            later.lsn,
            later.durable,
        )


class Row(NamedTuple):
    """A row as an index holds it.

    Attributes
    ----------
    id : int or str
        Its id, or its name where it has one.
    attributes : dict or None
        Its attributes, if it has any and they were wanted.
    vector : ndarray, shape (d,), or None
        Its vector, if it was wanted.
    """

    id: Union[int, str]
    attributes: Optional[Dict[str, Any]] = None
    vector: Optional[npt.NDArray[Any]] = None


class RowPage(NamedTuple):
    """Rows in the order of their ids.

    Attributes
    ----------
    rows : list of Row
        They.
    offset : int or None
        The id of the next row; None where no row follows.
    """

    rows: List[Row]
    offset: Optional[int] = None


class MergeReport(NamedTuple):
    """What a merge did.

    Attributes
    ----------
    merges : int
        Merges that were made.
    merged_segments : int
        Segments that became fewer.
    rows : int
        Rows of the segments that they became.
    dropped : int
        Dead rows that are gone.
    """

    merges: int
    merged_segments: int
    rows: int
    dropped: int


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
    recall_p5 : float
        Recall that one query in twenty does not reach (the 5th percentile).
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
    recall_p5: float
    k: int
    list_size: int
    queries: int
    pages_per_query: float


class PublishReport(NamedTuple):
    """What publishing an index did.

    Attributes
    ----------
    version : int
        Number of the version that is current now.
    files, bytes : int
        What it names.
    uploaded_files, uploaded_bytes : int
        What the version before had not.
    """

    version: int
    files: int
    bytes: int
    uploaded_files: int
    uploaded_bytes: int


class VerifyReport(NamedTuple):
    """What a check of every page found.

    Attributes
    ----------
    files : list of dict
        Per file ``name``, ``pages``, ``bytes`` and ``damaged``, the number of damaged pages.
    records : int
        Records that were decoded.
    log_records : int
        Records of the log that are made again when the index is next opened to be changed.
    problems : list of str
        One sentence per problem; empty when the index is sound.
    """

    files: List[FileCheck]
    records: int
    log_records: int
    problems: List[str]

    @property
    def sound(self) -> bool:
        """True when no problem was found."""
        return not self.problems
