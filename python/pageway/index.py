"""One noun, `Index`, and the way to an index that exists, `open`.

This module checks and converts arguments; the work happens in `pageway._native`, with the GIL
released.
"""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import Any, Optional, Tuple, Type, cast

import numpy as np

from . import _native
from ._asynchronous import Asynchronous
from ._checks import checked_flag
from ._elements import name_of, shown
from ._measuring import Measured
from ._notebook import Notebook
from ._paths import PathLike, as_path, is_url
from ._progress import LOG, ProgressWish, Reporting
from ._searching import Searching
from ._settings import Memory, Metric, cache_options, one_size, open_options, update_options
from ._vectors import StoredVectors
from .changing import Changing
from .errors import InvalidInputError, naming
from .reports import BuildReport, IndexStats
from .results import PublishReport, VerifyReport

__all__ = ["Index", "open", "publish", "verify"]


class Index(Searching, Changing, StoredVectors, Measured, Asynchronous, Notebook):
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
    def path(self) -> str:
        """Directory of the index."""
        return self._native.path

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vectors and components per vector, of an index that is open."""
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
        """Gives files and memory back, once running searches are done. Closing twice is fine.

        What was changed is made durable, then flushed and merged as far as there is room. Ctrl-C
        stops that: the index is closed all the same, and what was not flushed stays in its log.
        """
        self._native.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _opened, (self._place, self._settings)

    def __len__(self) -> int:
        return len(self._native)

    def __enter__(self) -> Index:
        if self.closed:
            raise InvalidInputError(
                f"the index {self.path} is closed; open it again with pageway.open"
            )
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        rows, dimension = "", self._native.dimension
        if not self.closed:
            rows = f"{len(self)} x "
        state = ", closed" if self.closed else ""
        what = f"{rows}{dimension} {name_of(self._dtype)}, {self.metric}{state}"
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
        Read a damaged log as far as it is sound, and give up the changes behind the damage;
        ``salvaged`` of `Index.changes` says which.
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
    writable = checked_flag("writable", writable)
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
