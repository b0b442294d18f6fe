"""Vectors that are added one after the other, and the index that is built when it is asked for."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
import weakref
from typing import Any, Iterator, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from .. import building
from .._settings import Metric
from .._sources.batches import Batch, Batches, rows_per_batch
from ..errors import ExistsError, InvalidInputError, PagewayWarning, UnsupportedError
from ..index import Index
from ..index import open as open_index
from ..results import Ids

#: Searches that an index may be asked for without being opened anew.
_LIST_SIZE, _K = 1000, 1000


class Growing:
    """Rows in a file of their own, and an index over them, made anew when rows were added.

    Parameters
    ----------
    dimension : int
        Components of a vector.
    metric : str
        As of `pageway.build`.
    dtype : dtype
        Element type.
    id_type : dtype
        Type of ids.
    settings
        As of `pageway.build`.
    """

    def __init__(
        self, dimension: int, metric: Metric, dtype: Any, id_type: Any = np.int64, **settings: Any
    ) -> None:
        self.dimension, self.metric, self.dtype = int(dimension), metric, np.dtype(dtype)
        self.id_type, self.settings = np.dtype(id_type), settings
        self._folder = tempfile.mkdtemp(prefix="pageway-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._rows = os.path.join(self._folder, "rows")
        self._ids: List[Ids] = []
        self._index: Optional[Index] = None
        self.count = 0

    def add(self, vectors: Any, ids: Any = None) -> None:
        """Appends rows of shape (n, d); `ids` are consecutive where there are none."""
        array = np.ascontiguousarray(np.atleast_2d(vectors), dtype=self.dtype)
        if array.ndim != 2 or array.shape[1] != self.dimension:
            raise InvalidInputError(
                f"vectors have shape {np.shape(vectors)}, the index has {self.dimension} dimensions"
            )
        given = np.arange(self.count, self.count + len(array)) if ids is None else np.asarray(ids)
        if given.size and given.dtype.kind not in "iu":
            raise InvalidInputError(f"ids: must be whole numbers, these are {given.dtype}")
        if given.shape != (len(array),):
            raise InvalidInputError(f"{len(array)} vectors come with ids of shape {given.shape}")
        bounds = np.iinfo(self.id_type)
        for own in (int(given.min()), int(given.max())) if given.size else ():
            if not bounds.min <= own <= bounds.max:
                raise InvalidInputError(
                    f"id {own}: ids are {self.id_type} here, from {bounds.min} to {bounds.max}"
                )
        with open(self._rows, "ab") as file:
            file.write(array.data.cast("B"))
        self._ids.append(given.astype(self.id_type))
        self.count += len(array)
        self.close()

    @property
    def ids(self) -> Ids:
        """The ids of all rows, in the order they came."""
        return np.concatenate([np.empty(0, self.id_type), *self._ids])

    def rows(self) -> npt.NDArray[Any]:
        """All rows, mapped."""
        if not self.count:
            return np.empty((0, self.dimension), self.dtype)
        return np.memmap(self._rows, self.dtype, "r", shape=(self.count, self.dimension))

    def latest(self) -> Tuple[npt.NDArray[Any], Ids]:
        """Places and ids of the rows that count: the last of each id."""
        ids = self.ids
        _, last = np.unique(ids[::-1], return_index=True)
        places = np.sort(len(ids) - 1 - last)
        return places, ids[places]

    def index(self) -> Index:
        """The index over the rows of now."""
        if self._index is None:
            self._index = self._built(os.path.join(self._folder, "index"))
        return self._index

    def save(self, path: str, marks: bytes) -> None:
        """Writes the index to the directory `path`, with `marks` of the shim beside it.

        It takes the place of a file or an index there once it is whole; readers of that one keep it.
        """
        path = os.path.realpath(path)
        _refuse_strangers(path)
        self.index()
        self.close()
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        beside = tempfile.mkdtemp(prefix=f".{name}-", dir=folder)
        try:
            copy = os.path.join(beside, "index")
            shutil.copytree(os.path.join(self._folder, "index"), copy)
            with open(os.path.join(copy, MARKS), "wb") as file:
                file.write(marks)
            _sync(copy)
            _swap(copy, path, os.path.join(beside, "old"))
        finally:
            if os.path.lexists(path) or not os.path.lexists(os.path.join(beside, "old")):
                shutil.rmtree(beside, ignore_errors=True)

    @classmethod
    def load(cls, path: str, **settings: Any) -> "Growing":
        """What `save` wrote: rows and index."""
        with open_index(path) as stored:
            growing = cls(stored.shape[1], stored.metric, stored.dtype, **settings)
            for batch in stored.export():
                growing.add(batch.vectors, batch.ids)
        shutil.copytree(path, os.path.join(growing._folder, "index"))
        growing._open()
        return growing

    def close(self) -> None:
        """Gives the index away; the rows stay."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _built(self, path: str) -> Index:
        if not self.count:
            raise InvalidInputError("the index is empty: add vectors before searching")
        places, ids = self.latest()
        rows = self.rows()

        def read() -> Iterator[Batch]:
            step = rows_per_batch(self.dimension * self.dtype.itemsize)
            for start in range(0, len(places), step):
                own = places[start : start + step]
                yield Batch(rows[own], ids[start : start + step])

        data = Batches(read, "the vectors that were added", len(places))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PagewayWarning)
            settings = {"calibration_queries": 100, **self.settings, "overwrite": True}
            building.build(path, data, metric=self.metric, **settings).close()
        self._open()
        assert self._index is not None
        return self._index

    def _open(self) -> None:
        """Opened with room for the long lists that other libraries allow, as far as memory goes."""
        path = os.path.join(self._folder, "index")
        try:
            self._index = open_index(path, list_size=_LIST_SIZE, k=_K)
        except InvalidInputError:
            self._index = open_index(path)


def _refuse_strangers(path: str) -> None:
    """Says so where replacing the directory `path` would take away what no shim wrote."""
    names = os.listdir(path) if os.path.isdir(path) else []
    own = (MARKS, "MANIFEST", "LOCK")
    other = next((name for name in names if name not in own and not name.endswith(".pw")), None)
    if other is not None:
        words = f"is no index alone, it has {other!r} in it: write to another directory"
        raise ExistsError(f"{path}: {words}", filename=path)


def _sync(folder: str) -> None:
    """Makes the files of a directory durable."""
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb+") as file:
            os.fsync(file.fileno())


def _swap(new: str, path: str, old: str) -> None:
    """Puts `new` in the place of `path`, whose files go to `old`, and come back where that fails."""
    if not os.path.lexists(path):
        os.rename(new, path)
        return
    os.rename(path, old)
    try:
        os.rename(new, path)
    except BaseException:
        os.rename(old, path)
        raise


#: The file beside an index in which a shim keeps what the index does not say.
MARKS = "compat.json"


def marks_of(path: str) -> bytes:
    """What a shim wrote beside the index at `path`."""
    try:
        with open(os.path.join(path, MARKS), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b"{}"
    except NotADirectoryError as error:
        raise UnsupportedError(
            f"{path}: is a file, and no index of pageway; 'pageway import' takes the vectors out of files "
            "of faiss and hnswlib"
        ) from error
