"""Searching an index: the nearest vectors, all within a radius, and the rows that match a filter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import as_queries, as_rows
from ._attributes import Filter, as_filter, from_json
from ._checks import checked_flag
from ._settings import Tolerance, one_size, range_options, search_options, warn_of_limit
from .errors import naming
from .results import RangeResult, SearchResult, as_known

if TYPE_CHECKING:
    from . import _native
    from .index import Index


class Searching:
    """What is asked of an index."""

    def search(  # type: ignore[misc]
        self: "Index",
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
            Neighbours per query, from 1 to 100,000. Where there are fewer rows, the rest of a
            query's ids are -1 and their distances infinite.
        recall : float, optional
            Recall@k to reach on average, 0.95 by default. The calibration of the index turns it
            into a list size, with what the queries of this call, or of earlier ones where it has
            fewer than 256, tell of how they lie from what they find. Queries unlike the vectors are
            compared with all of them where that costs less than their lists. `list_size` gives the
            same answer always.
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
        among = as_filter(filter), checked_flag("with_attributes", with_attributes)
        with naming(self.path):
            found = self._native.search(as_rows(queries), options, among)
        shape = (*queries.shape[:-1], options["k"])
        ids, distances = found.ids.reshape(shape), found.distances.reshape(shape)
        errors = found.errors.reshape(shape)
        result = SearchResult(ids, distances, _stats(found, queries), found.settings, errors)
        result.expected_recall, result.unlike = found.expected_recall, found.unlike
        return _with_attributes(result, found)

    def range(  # type: ignore[misc]
        self: "Index",
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
        among = as_filter(filter), checked_flag("with_attributes", with_attributes)
        with naming(self.path):
            found = self._native.search(as_rows(rows), options, among)
        results = (found.lims, found.ids, found.distances)
        stats = _stats(found, rows)
        result = RangeResult(results, found.errors, stats, found.settings, found.truncated)
        warn_of_limit(limit, found.truncated)
        return _with_attributes(result, found)

    def count(self: "Index", filter: Filter) -> int:  # type: ignore[misc]
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

    def fields(self: "Index") -> Dict[str, Tuple[List[str], int]]:  # type: ignore[misc]
        """The fields of attributes: by path the kinds of values and how many are different.

        Returns
        -------
        dict of str to (list of str, int)
        """
        with naming(self.path):
            return {path: (kinds, values) for path, kinds, values in self._native.fields()}


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
