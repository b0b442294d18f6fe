"""One noun, `Index`, and the way to an index that exists, `open`.

This module checks and converts arguments; the work happens in `pageway._native`, with the GIL
released.
"""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Dict, Optional, Type, Union

import numpy as np

from . import _native
from ._arrays import (
    DTYPE_OF,
    as_memory,
    as_path,
    as_queries,
    as_rows,
    checked_count,
    checked_optional,
)
from ._progress import ProgressWish, Reporting
from .errors import InvalidInputError
from .results import RecallReport, SearchResult, VerifyReport

__all__ = ["Index", "open", "verify"]

PathLike = Union[str, "os.PathLike[str]"]
Memory = Union[str, int]

DEFAULT_RECALL = 0.95


class Index:
    """An index that is open for searching. Made by `pageway.build` or `pageway.open`.

    Any number of threads may search one index at the same time. It holds files and memory until it
    is closed, by `close`, at the end of a ``with`` block, or when it is collected.

    Examples
    --------
    >>> with pageway.open("my.index") as index:            # doctest: +SKIP
    ...     ids, distances = index.search(query, k=10)
    """

    #: What the build measured and decided, of an index that comes from `build`; None otherwise.
    build_report: Optional[Dict[str, Any]]

    def __init__(self, native: _native.Index) -> None:
        self._native = native
        self._dtype = DTYPE_OF[native.element]
        self.build_report = None

    def search(
        self,
        q: Any,
        k: int = 10,
        *,
        recall: Optional[float] = None,
        effort: Optional[int] = None,
        beam: Optional[int] = None,
        threads: int = 0,
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
            into an effort.
        effort : int, optional
            Candidate list size (L), instead of `recall`; below `k` it means `k`. Larger finds more
            and reads more.
        beam : int, optional
            Reads per round (W), instead of the index's own.
        threads : int
            Threads that share the queries; 0 for those that `open` set aside.

        Returns
        -------
        SearchResult
            Unpacks as ``ids, distances``, of shape (k,) or (n, k).

        Raises
        ------
        InvalidInputError
            Queries of another dimension or type, NaN, a zero query under cosine, `k` out of range,
            `recall` and `effort` together, or a closed index.
        UnsupportedError
            A recall that the index cannot reach.
        CorruptError, StorageError
            A page that is damaged or cannot be read.
        KeyboardInterrupt
            Ctrl-C during a large batch.
        """
        queries = as_queries(q, self._native.dimension, self._dtype)
        options = _search_options(k, recall, effort, beam, threads)
        ids, distances, stats, settings = self._native.search(as_rows(queries), options)
        if queries.ndim == 1:
            stats = {name: column[0] for name, column in stats.items()}
            ids, distances = ids[0], distances[0]
        return SearchResult(ids, distances, stats, settings)

    def measure_recall(
        self,
        queries: Any,
        k: int = 10,
        recall: Optional[float] = None,
        effort: Optional[int] = None,
        *,
        progress: ProgressWish = False,
    ) -> RecallReport:
        """Measures the recall@k that a search with these settings has on these queries.

        The exact answer comes from a scan of the vectors of the index, so this takes one pass over
        the whole index.

        Parameters
        ----------
        queries : array_like, shape (n, d) or (d,)
            As for `search`.
        k, recall, effort
            As for `search`.
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
        rows = as_rows(as_queries(queries, self._native.dimension, self._dtype))
        options = _search_options(k, recall, effort, None, 0)
        with Reporting(progress) as callback:
            return RecallReport(**self._native.measure_recall(rows, options, callback))

    def stats(self) -> Dict[str, Any]:
        """What the index is and what it holds: everything ``pageway inspect`` prints.

        Returns
        -------
        dict
            The description of the index (``nodes``, ``spec``, ``files``, ``index_bytes``,
            ``mean_degree`` and more), ``memory`` (the budget and what each part of the open index
            takes of it, in bytes) and ``backend`` (how pages are read, and why so).
        """
        report: Dict[str, Any] = json.loads(self._native.report())
        return report

    def verify(self, *, progress: ProgressWish = False) -> VerifyReport:
        """Reads and checks every page of the index. See `pageway.verify`."""
        return verify(self.path, progress=progress)

    @property
    def calibration(self) -> Dict[str, Any]:
        """What the build measured: list sizes with their recall@1, 10 and 100 and page reads."""
        calibration: Dict[str, Any] = json.loads(self._native.calibration())
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
    def metric(self) -> str:
        """``"l2"``, ``"inner_product"`` or ``"cosine"``."""
        return self._native.metric

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of the vectors: float32, float16, uint8 or int8."""
        return self._dtype

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._native.closed

    def close(self) -> None:
        """Gives files and memory back, once running searches are done. Closing twice is fine."""
        self._native.close()

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
        what = f"{count} x {dimension} {self.dtype}, {self.metric}{state}"
        return f"<pageway.Index {self.path!r}: {what}>"


def open(
    path: PathLike,
    *,
    memory: Optional[Memory] = None,
    threads: int = 1,
    interleave: int = 8,
    k: int = 10,
    effort: Optional[int] = None,
    beam: Optional[int] = None,
) -> Index:
    """Opens an index for searching.

    Parameters
    ----------
    path : path
        Directory of the index.
    memory : int or str, optional
        Everything the process may hold for this index: bytes, ``"200MB"``, or a share of the raw
        vectors (``"20%"``). What the codes leave over caches nodes. Default: what the index was
        built for.
    threads : int
        Searches that run at the same time; memory is set aside for each as far as it goes, and
        others wait. 0 for all cores.
    interleave : int
        Queries of a batch that each thread keeps in flight; fewer when memory is short.
    k, effort, beam : int, optional
        Largest values that searches will use, so that memory is set aside for them. Default: enough
        for a high recall of 10 neighbours.

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
        The index is damaged, or of a newer format.
    """
    options: _native._OpenOptions = {
        "memory": as_memory("memory", memory),
        "threads": checked_count("threads", threads),
        "interleave": checked_count("interleave", interleave),
        "k": checked_count("k", k),
        "list_size": 0 if effort is None else checked_count("effort", effort),
        "beam": checked_optional("beam", beam),
    }
    return Index(_native.Index.open(as_path(path), options))


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
    with Reporting(progress) as callback:
        return VerifyReport(**json.loads(_native.verify(as_path(path), callback)))


def _search_options(
    k: int,
    recall: Optional[float],
    effort: Optional[int],
    beam: Optional[int],
    threads: int,
) -> _native._SearchOptions:
    if recall is not None and effort is not None:
        raise InvalidInputError("recall and effort both say how hard to try: give one of them")
    if recall is None and effort is None:
        recall = DEFAULT_RECALL
    return {
        "k": checked_count("k", k),
        "recall": None if recall is None else float(recall),
        "list_size": checked_optional("effort", effort),
        "beam": checked_optional("beam", beam),
        "threads": checked_count("threads", threads),
    }
