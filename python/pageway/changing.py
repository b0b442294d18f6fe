"""Changing an index: what `Index` does when it is open for it.

Rows go into a log and into memory at once, and from there into files, by flushes and merges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

import numpy as np

from . import _native
from ._arrays import as_rows, as_vectors_of
from ._attributes import Attributes, Filter, as_documents, as_fields, as_filter
from ._checks import checked_flag, checked_text
from ._elements import DTYPE_OF
from ._ids import as_keys
from ._paths import PathLike, as_path
from ._progress import ProgressWish, Reporting
from ._sources import as_whole
from ._sources.recognise import apart, is_list_of_parts
from .errors import InvalidInputError
from .results import Acknowledged, MergeReport

__all__ = ["Changing"]


class Changing:
    """What an `Index` can do that was opened with ``writable=True``.

    Any number of threads may change an index while others search it: changes of many threads share
    the syncs of the log, and a search that begins after a change was acknowledged sees it.
    """

    _native: _native.Index

    @property
    def _dtype(self) -> np.dtype[Any]:
        """Element type of the rows, which another may have become by a `refresh`."""
        return DTYPE_OF[self._native.element]

    def insert(
        self,
        vectors: Any,
        ids: Any = None,
        *,
        attributes: Optional[Attributes] = None,
        durability: str = "synced",
    ) -> Acknowledged:
        """Puts rows in whose ids no row has.

        A batch of some 256 KiB, half of what the memory for changes holds at most, goes in as a whole
        or not at all. A longer one goes in piece by piece: after an error the pieces before it stay,
        as safe as ``durability="deferred"`` says, and the message tells how many rows they are.

        Parameters
        ----------
        vectors : array_like, shape (n, d) or (d,), table, or iterator or list of batches
            Rows in the element type of the index; floats are cast to its float type. Of a table,
            the one column of lists. An iterator or list gives batches, each an array, a table, a
            pair ``(ids, vectors)``, or a tuple of vectors, their ids, and their attributes; a batch
            that fails leaves those before it in. Arrays are not copied first: no thread may write
            to them until the call returns.
        ids : array_like of int, str or UUID, shape (n,) or (), optional
            An id for each row, from 0 to 2**64 - 2, or a name: a text of up to 256 bytes. By default
            the next ids that were never given.
        attributes : path or iterable of mapping, optional
            Attributes of each row, as for `pageway.build`.
        durability : {"synced", "batched:10ms", "deferred"}
            What has happened when the call returns. ``"synced"``: neither a kill nor a power cut
            loses it. ``"batched:10ms"``: a kill loses nothing, a power cut at most the last 10 ms.
            ``"deferred"``: in memory, in order, for bulk loads that end with `flush` or `close`.

        Returns
        -------
        Acknowledged

        Raises
        ------
        InvalidInputError
            Another dimension or type, NaN, a zero vector under cosine, an id that is given twice or
            that a row has already, found before any row of the batch is in.
        ReadOnlyError
            The index was opened for searches alone, or an earlier write failed.
        NoSpaceError
            The disk is full.
        KeyboardInterrupt
            Ctrl-C, between two pieces of what is longer than one, or while it waits for room; what
            is in stays, as after an error. ``len`` tells how many rows there are.
        """
        return self._put(vectors, (ids, attributes), False, durability)

    def upsert(
        self,
        vectors: Any,
        ids: Any = None,
        *,
        attributes: Optional[Attributes] = None,
        durability: str = "synced",
    ) -> Acknowledged:
        """Puts rows in, each in place of the one that has its id, if one has.

        Parameters
        ----------
        vectors, ids, attributes, durability
            As for `insert`; ids must be given. A row that comes without attributes has none then.

        Returns
        -------
        Acknowledged

        Raises
        ------
        InvalidInputError, ReadOnlyError, NoSpaceError
            As `insert`.
        """
        return self._put(vectors, (ids, attributes), True, durability)

    def delete(
        self,
        ids: Any = None,
        *,
        filter: Optional[Filter] = None,
        durability: str = "synced",
    ) -> Acknowledged:
        """Deletes rows. No search that begins afterwards returns them.

        Parameters
        ----------
        ids : int, str, UUID or array_like of them, shape (n,)
            Ids or names; those that no row has are counted as ``absent``.
        filter : str, mapping or iterable of int
            Instead of ids: rows that match, as for `Index.search`.
        durability : {"synced", "batched:10ms", "deferred"}
            As for `insert`.

        Returns
        -------
        Acknowledged

        Raises
        ------
        InvalidInputError
            An id that is given twice.
        ReadOnlyError
            As `insert`.
        """
        done = self._native.delete(_which(ids, filter), _how_durable(durability))
        return self._acknowledged(done)

    def set(
        self,
        fields: Mapping[str, Any],
        ids: Any = None,
        *,
        filter: Optional[Filter] = None,
        at: Optional[str] = None,
        overwrite: bool = False,
        durability: str = "synced",
    ) -> Acknowledged:
        """Sets attributes of rows that are there.

        A row whose attributes change is put in anew with its vector: that costs what an upsert does,
        and reading it. No other change of a row is lost.

        Parameters
        ----------
        fields : mapping
            Take the place of those of their names, which go where they are None; others stay.
        ids : int, str, UUID or array_like of them, shape (n,)
            Rows; ids and names that no row has are counted as ``absent``.
        filter : str, mapping or iterable of int
            Instead of ids: rows that match, as for `Index.search`.
        at : str, optional
            Sets them in the object at this path, which is made where it is missing.
        overwrite : bool
            Lets no other attributes stay.
        durability : {"synced", "batched:10ms", "deferred"}
            As for `insert`.

        Returns
        -------
        Acknowledged
            ``changed`` counts the rows that are others now.

        Raises
        ------
        InvalidInputError
            Attributes that would be too large; what is no filter; an id that is given twice.
        ReadOnlyError, NoSpaceError
            As `insert`; the rows before are changed.
        """
        if checked_flag("overwrite", overwrite) and at is not None:
            raise InvalidInputError("overwrite: all attributes go, so there is no path to set at")
        what = "overwrite" if overwrite else "set"
        paths = [] if at is None else [at]
        return self._edit((ids, filter), (what, as_fields(fields), paths), durability)

    def unset(
        self,
        paths: Union[None, str, Iterable[str]] = None,
        ids: Any = None,
        *,
        filter: Optional[Filter] = None,
        durability: str = "synced",
    ) -> Acknowledged:
        """Takes attributes from rows.

        Parameters
        ----------
        paths : str or iterable of str, optional
            What goes; all attributes where absent. Paths that lead nowhere, or to one element of
            a list, are passed over.
        ids, filter, durability
            As for `set`.

        Returns
        -------
        Acknowledged

        Raises
        ------
        InvalidInputError, ReadOnlyError, NoSpaceError
            As `set`.
        """
        what = "clear" if paths is None else "remove"
        own = [paths] if isinstance(paths, str) else list(paths or [])
        return self._edit((ids, filter), (what, "{}", own), durability)

    def flush(self, *, progress: ProgressWish = False) -> None:
        """Writes the rows that memory holds into files: a segment of their own.

        Happens by itself when the memory for changes is full. Changes and searches go on meanwhile.

        Parameters
        ----------
        progress : bool or callable
            As for `build`.

        Raises
        ------
        ReadOnlyError, NoSpaceError
            As `insert`; the rows stay where they are.
        KeyboardInterrupt
            Ctrl-C; the rows stay where they are.
        """
        with Reporting(progress) as callback:
            self._native.flush(callback)

    def merge(self, *, full: bool = False, progress: ProgressWish = False) -> MergeReport:
        """Flushes, and makes fewer segments of those of which there are too many.

        Happens by itself when four segments have about the same size, or a quarter of one is dead.

        Parameters
        ----------
        full : bool
            One segment of all.
        progress : bool or callable
            As for `build`.

        Returns
        -------
        MergeReport

        Raises
        ------
        InvalidInputError
            The memory for changes is too small; the message names the smallest that works.
        ReadOnlyError, NoSpaceError, KeyboardInterrupt
            As `flush`.
        """
        whole = checked_flag("full", full)
        with Reporting(progress) as callback:
            return MergeReport(**json.loads(self._native.merge(whole, callback)))

    def snapshot(self, path: PathLike, *, progress: ProgressWish = False) -> None:
        """Copies the index as it is now into a new directory, while changes go on.

        Files that do not change are hard links where the file system has them.

        Parameters
        ----------
        path : path
            Directory of the copy, which does not exist or is empty.
        progress : bool or callable
            As for `build`.

        Raises
        ------
        InvalidInputError
            There is an index already.
        ReadOnlyError, NoSpaceError, KeyboardInterrupt
            As `flush`.
        """
        with Reporting(progress) as callback:
            self._native.snapshot(as_path(path), callback)

    def sync(self) -> int:
        """Makes durable everything that was acknowledged.

        Returns
        -------
        int
            The last record of the log.

        Raises
        ------
        ReadOnlyError, StorageError
            The index was opened for searches alone, or a write failed.
        """
        return self._native.sync()

    def cancel(self) -> None:
        """Stops the flush and the merge in the background, and returns when they have.

        Rows and segments stay as they are; the next that is due begins again.

        Raises
        ------
        ReadOnlyError
            The index was opened for searches alone.
        """
        self._native.cancel()

    def refresh(self) -> bool:
        """Turns to the index as it was last committed by another process that changes it.

        Returns
        -------
        bool
            True when it is another than before, with the `shape`, `dtype` and `metric` of what is
            there now. An index that is open to be changed is always the last: False.
        """
        return self._native.refresh()

    @property
    def changes(self) -> Dict[str, Any]:
        """What has changed, as counts: ``rows`` that a search may find, ``segments``,
        ``delta_rows`` (in no segment yet), ``delta_capacity``, ``dead``, ``lsn`` (the last record
        of the log), ``durable_lsn``, ``floor`` (the last record whose change is in files),
        ``code_drift`` (how many times that of training the error of codes is, of rows that quantizers were
        not trained on; above 1.3 the next merge of all segments trains anew), ``changed_rows`` (that
        came to segments or went since recall was measured), and
        since the index was opened ``flushes``, ``merges``, ``patches`` (those of both that changed pages of a
        segment), ``replayed`` and ``bytes_written``, of which
        ``log_bytes``, ``segment_bytes`` and ``temporary_bytes``. ``background`` lists the flush and
        the merge that are under way (``work``, ``stage``, ``done``, ``total``), ``background_failed`` what
        went wrong there and is the error of the next insert, ``merge_refused`` why segments were not
        merged, ``patch_refused`` why rows became segments where pages were to change. ``latency`` has
        ``target_us``, ``p99_us`` and ``background_share``, where a `latency_target` was given.
        ``salvaged`` says what opening with `salvage` gave up of a damaged log: ``file`` in ``log/``,
        from ``offset`` on, the records ``first`` to ``last``; None where nothing was."""
        changes: Dict[str, Any] = json.loads(self._native.changes())
        return changes

    @property
    def writable(self) -> bool:
        """True when the index can be changed."""
        return self._native.writable

    def _edit(
        self, which: Tuple[Any, Optional[Filter]], edit: Tuple[str, str, List[str]], durability: str
    ) -> Acknowledged:
        what, fields, paths = edit
        wish: _native._EditWish = {"what": what, "fields": fields, "paths": paths}
        done = self._native.edit(_which(*which), wish, _how_durable(durability))
        return self._acknowledged(done)

    def _put(
        self, vectors: Any, beside: Tuple[Any, Any], upsert: bool, durability: str
    ) -> Acknowledged:
        if not (isinstance(vectors, Iterator) or is_list_of_parts(vectors)):
            return self._put_batch(vectors, beside, upsert, durability)
        if any(one is not None for one in beside):
            words = "batches of an iterator or a list bring their own"
            raise InvalidInputError(f"ids and attributes: {words}")
        total = self._put_batch([], ([], None), upsert, durability)
        for batch in vectors:
            rows, own = apart(batch)
            total = total.plus(self._put_batch(rows, own, upsert, durability))
        return total

    def _put_batch(
        self, vectors: Any, beside: Tuple[Any, Any], upsert: bool, durability: str
    ) -> Acknowledged:
        whole, _ = as_whole(vectors, "vectors")
        rows = as_vectors_of(whole, self._native.dimension, self._dtype)
        ids, attributes = beside
        own = None if ids is None else as_keys(ids)
        documents = as_documents([attributes] if isinstance(attributes, Mapping) else attributes)
        how = upsert, _how_durable(durability)
        return self._acknowledged(self._native.put(as_rows(rows), (own, documents), how))

    def _acknowledged(self, done: str) -> Acknowledged:
        """What was done; where that needed no record, how far the log is, and is durable."""
        own = Acknowledged(**json.loads(done))
        if own.lsn:
            return own
        changes = self.changes
        lsn, durable = changes["lsn"], changes["durable_lsn"]
        return own._replace(lsn=lsn, durable=durable >= lsn)


def _how_durable(durability: str) -> str:
    return checked_text("durability", durability)


def _which(ids: Any, filter: Optional[Filter]) -> _native._Which:
    """Rows that are to change."""
    matching = as_filter(filter)
    if ids is not None and matching is None:
        return as_keys(ids)
    if ids is None and matching is not None:
        return matching
    raise InvalidInputError("give either ids or a filter")
