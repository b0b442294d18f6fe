"""Changing an index: what `Index` does when it is open for it.

Rows go into a log and into memory at once, and from there into files, by flushes and merges.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Dict

import numpy as np

from . import _native
from ._arrays import as_ids, as_path, as_rows, as_vectors_of
from ._progress import ProgressWish, Reporting
from ._settings import PathLike
from .errors import InvalidInputError
from .results import Acknowledged, MergeReport

__all__ = ["Changing"]


class Changing:
    """What an `Index` can do that was opened with ``writable=True``.

    Any number of threads may change an index while others search it: changes of many threads share
    the syncs of the log, and a search that begins after a change was acknowledged sees it.
    """

    _native: _native.Index
    _dtype: np.dtype[Any]

    def insert(
        self, vectors: Any, ids: Any = None, *, durability: str = "synced"
    ) -> Acknowledged:
        """Puts rows in whose ids no row has.

        Parameters
        ----------
        vectors : array_like, shape (n, d) or (d,), or iterator of batches
            Rows in the element type of the index; floats are cast to its float type. An iterator
            gives batches, each an array or a pair of an array and its ids; a batch that fails
            leaves those before it in. Arrays are not copied first: no thread may write to them
            until the call returns.
        ids : array_like of int, shape (n,) or (), optional
            An id for each row, from 0 to 2**64 - 1; by default the next ids that were never given.
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
            that a row has already; nothing of the batch is in then.
        ReadOnlyError
            The index was opened for searches alone, or an earlier write failed.
        NoSpaceError
            The disk is full.
        """
        return self._put(vectors, ids, False, durability)

    def upsert(
        self, vectors: Any, ids: Any = None, *, durability: str = "synced"
    ) -> Acknowledged:
        """Puts rows in, each in place of the one that has its id, if one has.

        Parameters
        ----------
        vectors, ids, durability
            As for `insert`; ids must be given.

        Returns
        -------
        Acknowledged

        Raises
        ------
        InvalidInputError, ReadOnlyError, NoSpaceError
            As `insert`.
        """
        return self._put(vectors, ids, True, durability)

    def delete(self, ids: Any, *, durability: str = "synced") -> Acknowledged:
        """Deletes rows. No search that begins afterwards returns them.

        Parameters
        ----------
        ids : int or array_like of int, shape (n,)
            Ids; those that no row has are counted as ``absent``.
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
        own = as_ids(_several(ids))
        return Acknowledged(**json.loads(self._native.delete(own, durability)))

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
        with Reporting(progress) as callback:
            return MergeReport(**json.loads(self._native.merge(bool(full), callback)))

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
            True when it is another than before. An index that is open to be changed is always the
            last: False.
        """
        return self._native.refresh()

    @property
    def changes(self) -> Dict[str, Any]:
        """What has changed, as counts: ``rows`` that a search may find, ``segments``,
        ``delta_rows`` (in no segment yet), ``delta_capacity``, ``dead``, ``lsn`` (the last record
        of the log), ``durable_lsn``, ``floor`` (the last record whose change is in files), and
        since the index was opened ``flushes``, ``merges``, ``replayed`` and ``bytes_written``, of which
        ``log_bytes``, ``segment_bytes`` and ``temporary_bytes``. ``background`` lists the flush and
        the merge that are under way (``work``, ``stage``, ``done``, ``total``), ``background_failed`` what
        went wrong there and is the error of the next insert, ``merge_refused`` why segments were not
        merged."""
        changes: Dict[str, Any] = json.loads(self._native.changes())
        return changes

    @property
    def writable(self) -> bool:
        """True when the index can be changed."""
        return self._native.writable

    def _put(self, vectors: Any, ids: Any, upsert: bool, durability: str) -> Acknowledged:
        if not isinstance(vectors, Iterator):
            return self._put_batch(vectors, ids, upsert, durability)
        if ids is not None:
            raise InvalidInputError("ids: batches of an iterator bring their own: (vectors, ids)")
        total = Acknowledged()
        for batch in vectors:
            rows, own = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
            total = total.plus(self._put_batch(rows, own, upsert, durability))
        return total

    def _put_batch(
        self, vectors: Any, ids: Any, upsert: bool, durability: str
    ) -> Acknowledged:
        rows = as_vectors_of(vectors, self._native.dimension, self._dtype)
        own = None if ids is None else as_ids(_several(ids))
        done = self._native.put(as_rows(rows), own, (upsert, durability))
        return Acknowledged(**json.loads(done))


def _several(ids: Any) -> Any:
    """One id as a list of one."""
    return [ids] if isinstance(ids, (int, np.integer)) else ids

