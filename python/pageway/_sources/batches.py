"""Vectors that come a batch at a time."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Iterator, NamedTuple, Optional

from ..errors import UnsupportedError

#: About as many bytes as a batch that is read has.
BATCH_BYTES = 8 << 20
#: Rows of a batch at most, whatever their size is thought to be.
BATCH_ROWS_MAX = 8192


class Batch(NamedTuple):
    """Some rows.

    Attributes
    ----------
    vectors : array_like, shape (n, d)
        The rows.
    ids : array_like of int, str or UUID, shape (n,), or None
        Their ids, or names, where the source has some.
    """

    vectors: Any
    ids: Optional[Any] = None


class Batches:
    """Vectors of a file or table, read a batch at a time; what `pageway.build` takes as data.

    Made by `pageway.read_parquet` and its like. Iterating reads from the beginning, and gives pairs
    ``(vectors, ids)``; ``ids`` is None where there are none.

    Attributes
    ----------
    name : str
        What messages call it.
    count : int or None
        Number of vectors, where the source knows it beforehand.
    """

    name: str
    count: Optional[int]

    def __init__(
        self, read: Callable[[], Iterator[Batch]], name: str, count: Optional[int] = None
    ) -> None:
        self._read = read
        self.name = name
        self.count = count

    def __iter__(self) -> Iterator[Batch]:
        return self._read()

    def __repr__(self) -> str:
        count = "" if self.count is None else f", {self.count} vectors"
        return f"<pageway.Batches of {self.name}{count}>"


def rows_per_batch(row_bytes: float) -> int:
    """Rows of about `row_bytes` that make a batch."""
    return max(1, min(BATCH_ROWS_MAX, int(BATCH_BYTES / max(row_bytes, 1))))


#: Packages that are called otherwise than their modules.
_PACKAGES = {"lance": "pylance"}


def library(name: str, what: str) -> Any:
    """A library that only some inputs need.

    Raises
    ------
    UnsupportedError
        It is not installed; the sentence says how to get it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        package = _PACKAGES.get(package, package)
        raise UnsupportedError(
            f"{what} needs {package}, which cannot be imported ({error}): pip install {package}"
        ) from error
