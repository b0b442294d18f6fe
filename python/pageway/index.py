"""One noun, `Index`, and the way to an index that exists, `open`.

This module checks and converts arguments; the work happens in `pageway._native`, with the GIL
released.
"""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union, cast

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import (
    as_path,
    as_queries,
    as_rows,
    checked_count,
    is_url,
    name_of,
    shown,
)
from ._asynchronous import Asynchronous
from ._attributes import Filter, as_filter, from_json
from ._notebook import Notebook
from ._progress import LOG, ProgressWish, Reporting
from ._settings import (
    Memory,
    Metric,
    PathLike,
    Tolerance,
    cache_options,
    one_size,
    open_options,
    range_options,
    search_options,
    update_options,
    warn_of_limit,
)
from ._vectors import StoredVectors
from .changing import Changing
from .errors import InvalidInputError, naming
from .reports import BuildReport, Calibration, IndexStats
from .results import (
    PublishReport,
    RangeResult,
    RecallReport,
    SearchResult,
    VerifyReport,
    as_known,
)

__all__ = ["Index", "open", "publish", "verify"]


class Index(Changing, StoredVectors, Asynchronous, Notebook):
    """An index that is open for searching, and where it is writable, for changes.

    Made by `pageway.build`, `pageway.create` or `pageway.open`.

    Any number of threads may search one index at the same time. It holds files and memory until it
    is closed, by `close`, at the end of a ``with`` block, or when it is collected. Pickled, it is
    its path and the settings of `pageway.open`: another process opens it anew.

    Examples
    --------
    >>> with pageway.open("my.index") as index:
    ...     ids, distances = index.search(query, k=10)
    """

    #: What the build measured and decided, of an index that comes from `build`; None otherwise.
    build_report: Optional[BuildReport]

    def __init__(
        self, native: _native.Index, settings: Optional[_native._OpenOptions] = None
    ) -> None:
        self._native = native
        self._settings = settings
        self._place = native.path if is_url(native.path) else os.path.abspath(native.path)
        self.build_report = None

    def search(
        self,
        q: Any,
        k: int = 10,
        *,
        recall: Optional[float] = None,
        list_size: Optional[int] = None,
        beam: Optional[int] = None,
        threads: int = 0,
        tolerance: Tolerance = 0.0,
        timeout: Optional[float] = None,
        effort: Optional[int] = None,
        filter: Optional[Filter] = None,
        with_attributes: bool = False,
        strategy: Optional[str] = None,
    ) -> SearchResult:
        """Finds the `k` nearest vectors of one query or many.

        Many queries at once are much faster than one at a time: their reads overlap.

        Parameters
        ----------
        q : array_like, shape (d,) or (n, d)
            Queries in the element type of the index. Floats are cast to the float type of the
            index; bytes and floats are never mixed. Must not be written to while the search runs.
        k : int
            Neighbours per query, from 1 to ``len(index)``.
        recall : float, optional
            Recall@k to reach on average, 0.95 by default. The calibration of the index turns it
            into a list size.
        list_size : int, optional
            Candidate list size (L), instead of `recall`; below `k` it means `k`. Larger finds more
            and reads more.
        beam : int, optional
            Reads per round (W), instead of the index's own.
        threads : int
            Threads that share the queries; 0 for those that `open` set aside.
        tolerance : float or "any"
            How far off a returned distance may be, as a share of it: 0 is exact. Where codes are
            sure that a vector is an answer, and of its distance within this, their estimate is
            returned, which saves a read; ``errors`` of the result says how far off it may be.
            ``"any"`` takes every estimate of a sure answer.
        timeout : float, optional
            Seconds that the whole call may take, waiting for memory that other searches hold
            included. Without it there is no bound.
        effort : int, optional
            The older name of `list_size`; only one of them can be given.
        filter : str, mapping, bytes, or iterable of int or bool, optional
            What rows must be to be found: an expression (``"lang = 'de' and year >= 2020"``), a
            filter of Qdrant's as a dict, ids, or a mask: a bool for each id, from 0 on; of names
            10,000 at most. A set of ids is asked for each row, which reads all their ids. With m
            rows that match, min(k, m) are returned and the other places hold -1.
        with_attributes : bool
            Whether to read the attributes of what is found.
        strategy : {"walk", "scan-codes", "scan-vectors"}, optional
            How rows that match the filter are searched, whatever it costs; the cheaper way unless
            given. ``result.filter`` says which it was, and what each would cost.

        Returns
        -------
        SearchResult
            Unpacks as ``ids, distances``, of shape (k,) or (n, k).

        Raises
        ------
        InvalidInputError
            Queries of another dimension or type, NaN, a zero query under cosine, `k` out of range,
            `recall` and `list_size` together, or a closed index.
        UnsupportedError
            A recall that the index cannot reach.
        TimedOutError
            No answer within `timeout`.
        CorruptError, StorageError
            A page that is damaged or cannot be read.
        KeyboardInterrupt
            Ctrl-C during a large batch.
        """
        queries = as_queries(q, self._native.dimension, self._dtype)
        size = one_size(list_size, effort)
        options = search_options(k, recall, size, beam, threads, tolerance, timeout, strategy)
        among = as_filter(filter), with_attributes
        with naming(self.path):
            found = self._native.search(as_rows(queries), options, among)
        shape = (*queries.shape[:-1], options["k"])
        ids, distances = found.ids.reshape(shape), found.distances.reshape(shape)
        errors = found.errors.reshape(shape)
        result = SearchResult(ids, distances, _stats(found, queries), found.settings, errors)
        result.expected_recall, result.unlike = found.expected_recall, found.unlike
        return _with_attributes(result, found)

    def range(
        self,
        queries: Any,
        radius: float,
        *,
        list_size: int = 20,
        limit: Optional[int] = None,
        beam: Optional[int] = None,
        threads: int = 0,
        tolerance: Tolerance = 0.0,
        timeout: Optional[float] = None,
        filter: Optional[Filter] = None,
        with_attributes: bool = False,
        strategy: Optional[str] = None,
    ) -> RangeResult:
        """Finds every vector within a radius of each query, as far as the walk gets to them.

        The candidate list grows for as long as at least half of it lies within the radius, so the
        cost follows the number of results: about a page read per result and place of the list,
        fewer where results share pages.

        Parameters
        ----------
        queries : array_like, shape (n, d) or (d,)
            As for `search`.
        radius : float
            Largest distance of a result, in the unit of the distances that `search` returns:
            squared for L2, negated for the inner product, one minus the cosine for cosine. Rounded
            to float32.
        list_size : int
            Candidate list size (L) to begin with, from 1 to 100,000. Larger misses less.
        limit : int, optional
            Results per query at most, the nearest ones, and what the list may grow to: 1 to
            100,000, in memory that `open` set aside. 10,000 by default, with a warning where it cuts.
        tolerance : float or "any"
            How far off distances may be, as for `search`.
        beam, threads, timeout, with_attributes, strategy
            As for `search`.
        filter : str, mapping, bytes, or iterable of int or bool, optional
            As for `search`. Rows that match and lie within may be missed, as without one.

        Returns
        -------
        RangeResult
            Unpacks as ``lims, ids, distances``: the results of query ``i`` are
            ``ids[lims[i] : lims[i + 1]]``, nearest first.

        Raises
        ------
        InvalidInputError
            Queries as for `search`; a radius that is no number; sizes out of range, or too large
            for the memory that `open` set aside.
        TimedOutError
            No answer within `timeout`.
        CorruptError, StorageError
            A page that is damaged or cannot be read.
        KeyboardInterrupt
            Ctrl-C.

        Examples
        --------
        >>> lims, ids, distances = index.range(queries, radius=6.0)
        >>> len(lims) == len(queries) + 1, bool((distances <= 6.0).all())
        (True, True)
        """
        rows = as_queries(queries, self._native.dimension, self._dtype)
        options = range_options(
            radius, list_size, limit, beam, threads, tolerance, timeout, strategy
        )
        among = as_filter(filter), with_attributes
        with naming(self.path):
            found = self._native.search(as_rows(rows), options, among)
        results = (found.lims, found.ids, found.distances)
        stats = _stats(found, rows)
        result = RangeResult(results, found.errors, stats, found.settings, found.truncated)
        warn_of_limit(limit, found.truncated)
        return _with_attributes(result, found)

    def count(self, filter: Filter) -> int:
        """How many rows match a filter, exactly.

        Parameters
        ----------
        filter : str, mapping, bytes, or iterable of int or bool
            As for `search`.

        Returns
        -------
        int

        Raises
        ------
        InvalidInputError
            A filter that makes no sense, or an expression on a field that no row has.
        UnsupportedError
            An index without attributes.

        Examples
        --------
        >>> index.count([0, 1, 2])
        3

        Of an index with attributes ``index.count("lang = 'de' and year >= 2020")``.
        """
        matching = as_filter(filter)
        assert matching is not None
        with naming(self.path):
            return self._native.count(matching)

    def fields(self) -> Dict[str, Tuple[List[str], int]]:
        """The fields of attributes: by path the kinds of values and how many are different.

        Returns
        -------
        dict of str to (list of str, int)
        """
        with naming(self.path):
            return {path: (kinds, values) for path, kinds, values in self._native.fields()}

    def switch(
        self,
        path: PathLike,
        *,
        memory: Optional[Memory] = None,
        threads: int = 1,
        interleave: int = 8,
        k: int = 10,
        list_size: Optional[int] = None,
        beam: Optional[int] = None,
        effort: Optional[int] = None,
    ) -> Index:
        """Opens another index to go on with: what both have in common is not loaded again.

        Indexes of one vector space share the codebook when one was built with ``codebook_from`` of
        the other; with a design that keeps no codes in memory, such as ``"aisaq"``, hardly anything
        else is read. This index stays open until it is closed.

        Parameters
        ----------
        path : path
            Directory of the other index.
        memory, threads, interleave, k, list_size, beam, effort
            As for `pageway.open`.

        Returns
        -------
        Index
            The other index, independent of this one.

        Raises
        ------
        NotFoundError, InvalidInputError, CorruptError, IncompatibleError
            As `pageway.open`; and `InvalidInputError` when this index is closed.

        Examples
        --------
        >>> with pageway.open("monday.index") as index:
        ...     other = index.switch("tuesday.index")
        >>> ids, distances = other.search(query, k=10)
        """
        size = one_size(list_size, effort)
        options = open_options(memory, threads, interleave, k, size, beam)
        place = as_path(path)
        with naming(place):
            return Index(self._native.switch(place, options), options)

    def measure_recall(
        self,
        queries: Any = None,
        k: int = 10,
        recall: Optional[float] = None,
        effort: Optional[int] = None,
        *,
        list_size: Optional[int] = None,
        filter: Optional[Filter] = None,
        rows: int = 200,
        progress: ProgressWish = False,
    ) -> RecallReport:
        """Measures the recall@k that a search with these settings has now on these queries.

        The exact answer comes from a scan of all vectors, rows that came or went since the build
        included: a pass over the whole index, within the memory of searches.

        Parameters
        ----------
        queries : array_like, shape (n, d) or (d,), optional
            As for `search`. Without them rows of the index stand for queries, each of which does
            not find itself.
        k, recall, list_size, effort, filter
            As for `search`; a filter needs queries.
        rows : int
            How many rows of the index stand for queries.
        progress : bool or callable
            As for `build`.

        Returns
        -------
        RecallReport

        Raises
        ------
        InvalidInputError, CorruptError, StorageError
            As `search`.
        """
        own = None
        if queries is not None:
            own = as_rows(as_queries(queries, self._native.dimension, self._dtype))
        options = search_options(k, recall, one_size(list_size, effort))
        how = (options, checked_count("rows", rows))
        with Reporting(progress) as callback:
            found = self._native.measure_recall(own, how, as_filter(filter), callback)
        return RecallReport(**found)

    def calibrate(
        self,
        queries: Optional[npt.ArrayLike] = None,
        *,
        k: Union[int, Sequence[int]] = (),
        calibration_queries: int = 500,
        seed: int = 42,
        progress: ProgressWish = False,
    ) -> Calibration:
        """Measures recall anew and stores it in the index, which needs no rebuild.

        What ``recall=`` of a search is read off. A build measures it on rows of the data, held
        out; queries that are unlike the data miss more, and some hundred of them say how much.
        Takes one pass over the index and some thousand searches. Other processes use it once they
        open or `refresh` the index. Lists that the memory of this index has no room for are not
        measured.

        Parameters
        ----------
        queries : array_like, shape (n, d), optional
            Queries such as will be asked (`recent_queries`); held-out rows where absent.
        k : int or sequence of int, optional
            Numbers of neighbours to measure beside 1, 10, 30, 100, 300 and 1000. Between measured
            ones list sizes are interpolated.
        calibration_queries : int
            Queries to measure with at most, evenly drawn.
        seed : int
            Of the draw.
        progress : bool or callable
            As for `build`.

        Returns
        -------
        dict (`pageway.reports.Calibration`)

        Raises
        ------
        InvalidInputError
            For no queries, or queries of another shape.
        BusyError
            Where a writer has the index.
        UnsupportedError
            For an index with dead rows.
        """
        rows = None
        if queries is not None:
            rows = as_rows(as_queries(queries, self._native.dimension, self._dtype))
        ranks = [int(k)] if isinstance(k, (int, np.integer)) else [int(one) for one in k]
        with Reporting(progress) as callback:
            options = (ranks, calibration_queries, seed)
            calibration: Calibration = json.loads(self._native.calibrate(rows, options, callback))
        return calibration

    def stats(self) -> IndexStats:
        """What the index is and what it holds: everything ``pageway inspect`` prints.

        Returns
        -------
        dict (`pageway.reports.IndexStats`)
            The description of the index, ``memory`` (the budget and what each part of the open
            index takes of it, in bytes) and ``backend`` (how pages are read, and why so). The
            description has, among others, ``spec`` (every choice of the design; parts of it can be
            ``overrides`` of a build), ``nodes``, ``index_bytes``, ``files``, ``mean_degree``,
            ``nodes_per_page``, ``vectors_per_page``, ``page_utilisation`` (share of the bytes of
            record pages in use) and ``overlap`` (OR(G): mean share of a page's other nodes that a
            node of it names; None where the graph was built in parts) and ``list_memory_bytes``
            (what all adjacency lists take in memory; None where memory does not hold lists).
        """
        report: IndexStats = json.loads(self._native.report())
        return report

    def verify(self, *, progress: ProgressWish = False) -> VerifyReport:
        """Reads and checks every page of the index. See `pageway.verify`."""
        return verify(self.path, progress=progress)

    @property
    def calibration(self) -> Calibration:
        """What the build or `calibrate` measured: recall and page reads by k and list size."""
        calibration: Calibration = json.loads(self._native.calibration())
        return calibration

    @property
    def path(self) -> str:
        """Directory of the index."""
        return self._native.path

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vectors and components per vector."""
        return len(self._native), self._native.dimension

    @property
    def metric(self) -> Metric:
        """``"l2"``, ``"inner_product"``, ``"cosine"`` or ``"l1"``; of bits ``"hamming"`` or
        ``"jaccard"``."""
        return cast(Metric, self._native.metric)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the vectors: float32, float16, uint8, int8 or bool; float32 too where they
        are stored as bfloat16, for which numpy has no numbers."""
        return shown(self._dtype)

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._native.closed

    def close(self) -> None:
        """Gives files and memory back, once running searches are done. Closing twice is fine."""
        self._native.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _opened, (self._place, self._settings)

    def __len__(self) -> int:
        return len(self._native)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        count, dimension = self.shape
        state = ", closed" if self.closed else ""
        what = f"{count} x {dimension} {name_of(self._dtype)}, {self.metric}{state}"
        return f"<pageway.Index {self.path!r}: {what}>"


def open(
    path: PathLike,
    *,
    writable: bool = False,
    memory: Optional[Memory] = None,
    update_memory: Optional[Memory] = None,
    threads: int = 1,
    interleave: int = 8,
    k: int = 10,
    list_size: Optional[int] = None,
    beam: Optional[int] = None,
    effort: Optional[int] = None,
    follow: Optional[float] = None,
    recent_queries: int = 0,
    salvage: bool = False,
    latency_target: Optional[float] = None,
    cache: Optional[PathLike] = None,
    cache_bytes: Memory = "1GB",
    cache_mode: str = "codes",
) -> Index:
    """Opens an index for searching, and where `writable`, to be changed.

    Parameters
    ----------
    path : path or URL
        Directory of the index; or where it was published: ``s3://``, ``gs://``, ``az://``,
        ``file://``. That is for searches alone, and needs a `cache`.
    writable : bool
        Whether the index is to be changed: one process at a time may do that. What its log holds
        beyond its files is made again first.
    memory : int or str, optional
        Everything the process may hold for this index: bytes, ``"200MB"``, or a share of the raw
        vectors (``"20%"``); codes first, then cached nodes. Default: what it was built for.
    update_memory : int or str, optional
        What changes may hold beside it: rows that are in no file yet, and one flush and one merge
        at a time. By default an eighth of `memory`, or the least that works, and 256 MiB to merge.
    threads : int
        Searches that run at the same time; memory is set aside for each as far as it goes, and
        others wait. 0 for all cores.
    interleave : int
        Queries of a batch that each thread keeps in flight; fewer when memory is short.
    k, list_size, beam : int, optional
        Largest values of searches to come, which memory is set aside for. Default: a high recall of
        10 neighbours. For `Index.range` with many results, its ``limit`` as `k` and `list_size`.
    effort : int, optional
        The older name of `list_size`; only one of them can be given.
    follow : float, optional
        Seconds after which a search first looks whether another process has committed a change, and
        turns to it, which reads the manifest. Never by default, but by `Index.refresh`.
    recent_queries : int
        Of those asked lately, how many `Index.recent_queries` keeps; they count as `memory`.
    salvage : bool
        Read a damaged log as far as it is sound, and give up the changes behind the damage.
    latency_target : float, optional
        Seconds that 99 of 100 searches are to stay within: changes and what they take make way.
    cache : path, optional
        Directory on local disk that keeps blocks of an index in object storage. One open index at a
        time has it; it stays when the index is closed.
    cache_bytes : int or str
        Most bytes of that directory.
    cache_mode : str
        What opening brings there: ``"lazy"``, nothing that is not read; ``"codes"``, all but the
        records; ``"all"``.

    Returns
    -------
    Index

    Raises
    ------
    NotFoundError
        There is no index.
    InvalidInputError
        The budget is too small; the message names the smallest that works.
    CorruptError, IncompatibleError
        The index is damaged, or of a newer format; a damaged log only keeps it from being changed.
    BusyError
        Another process changes the index.
    """
    kept = cache_options(cache, cache_bytes, cache_mode)
    sizes = (memory, threads, interleave, k, one_size(list_size, effort), beam)
    options = open_options(*sizes, follow, recent_queries, kept)
    path = as_path(path)
    if writable and is_url(path):
        raise InvalidInputError(f"{path}: an index in object storage is not changed: publish anew")
    if writable:
        update = update_options(update_memory, salvage, latency_target)
        with naming(path):
            return Index(_native.Index.open_writable(path, options, update), options)
    return _opened(path, options)


def _opened(path: str, settings: Optional[_native._OpenOptions]) -> Index:
    """The index at `path`; also what a pickled one becomes."""
    if settings is None:
        return open(path)
    LOG.debug("open %s: %s", path, settings)
    with naming(path):
        return Index(_native.Index.open(path, settings), settings)


def verify(path: PathLike, *, progress: ProgressWish = False) -> VerifyReport:
    """Reads and checks every page of an index.

    Parameters
    ----------
    path : path
        Directory of the index; it may be open.
    progress : bool or callable
        As for `build`.

    Returns
    -------
    VerifyReport
        ``problems`` is empty when the index is sound.

    Raises
    ------
    NotFoundError
        There is no index.
    CorruptError
        The manifest is damaged, so that nothing else can be checked.
    """
    place = as_path(path)
    with naming(place), Reporting(progress, f"verify {place}") as callback:
        return VerifyReport(**json.loads(_native.verify(place, callback)))


def publish(path: PathLike, url: str, *, progress: ProgressWish = False) -> PublishReport:
    """Publishes an index to object storage, where `open` finds it by its URL.

    Files that the version before had are not sent again. Readers see the new version when they
    open the index after that.

    Parameters
    ----------
    path : path
        Directory of the index; nobody changes it meanwhile.
    url : str
        ``s3://bucket/prefix``, ``gs://``, ``az://`` or ``file:///path``. Keys and regions come from
        the environment, by the names that the clouds' own tools use.
    progress : bool or callable
        As for `build`.

    Returns
    -------
    PublishReport

    Raises
    ------
    BusyError
        Another process changes the index.
    StorageError, UnsupportedError
        The store fails, or knows no conditional put.
    """
    place = as_path(path)
    with naming(place), Reporting(progress, f"publish {place}") as callback:
        return PublishReport(**json.loads(_native.publish(place, url, callback)))


_Result = TypeVar("_Result", SearchResult, RangeResult)


def _with_attributes(result: _Result, found: _native.Answers) -> _Result:
    """What was found, with its attributes and what the filter did."""
    result.ids = as_known(result.ids, found.names)
    result.attributes = from_json(found.attributes)
    result.filter = json.loads(found.filter) if found.filter else None
    return result


def _stats(found: _native.Answers, queries: npt.NDArray[Any]) -> Dict[str, npt.NDArray[np.uint64]]:
    """The counters of all queries; of one query, without the axis of the queries."""
    if queries.ndim > 1:
        return found.stats
    return {name: column[0] for name, column in found.stats.items()}
