"""Exceptions, one per kind of trouble: by what the caller can do about it.

Every exception of the package is a `PagewayError`. Where Python has a built-in exception of the
same meaning, the class is a subclass of that one too, so ``except FileNotFoundError`` works as
expected; those have ``errno``, ``strerror`` and ``filename``, as others have.
"""

import errno
import os
from contextlib import contextmanager
from typing import Any, ClassVar, Iterator, Optional, Tuple

__all__ = [
    "BusyError",
    "CancelledError",
    "CorruptError",
    "ExistsError",
    "IncompatibleError",
    "InternalError",
    "InvalidInputError",
    "NoSpaceError",
    "NotFoundError",
    "OutOfMemoryError",
    "PagewayError",
    "PagewayWarning",
    "ReadOnlyError",
    "StorageError",
    "TimedOutError",
    "UnsupportedError",
]


class PagewayError(Exception):
    """Base of every exception that this package raises."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class InvalidInputError(PagewayError, ValueError):
    """The request or the input vectors are wrong: correct them."""


class _SystemError(PagewayError, OSError):
    """An error with the number that the operating system gave it, or has for its kind."""

    _errno: ClassVar[int] = errno.EIO

    def __init__(
        self, message: str = "", number: Optional[int] = None, filename: Optional[str] = None
    ) -> None:
        super().__init__(message)
        self.errno = self._errno if number is None else number
        self.strerror = os.strerror(self.errno)
        self.filename = filename

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (str(self), self.errno, self.filename)


class NotFoundError(_SystemError, FileNotFoundError):
    """The index, file or directory is not there."""

    _errno = errno.ENOENT


class ExistsError(_SystemError, FileExistsError):
    """There is an index already: build elsewhere, or with ``overwrite=True``."""

    _errno = errno.EEXIST


class IncompatibleError(PagewayError):
    """Written by a newer version, or for another purpose."""


class CorruptError(PagewayError):
    """Bytes on disk are not what was written: restore or rebuild."""


class StorageError(_SystemError):
    """The medium or the operating system failed."""


class NoSpaceError(StorageError):
    """The disk or the quota is full."""

    _errno = errno.ENOSPC


class BusyError(StorageError):
    """Another process writes this index."""

    _errno = errno.EBUSY


class ReadOnlyError(StorageError, PermissionError):
    """Writing was refused."""

    _errno = errno.EACCES


class UnsupportedError(PagewayError):
    """Legal, but not with this index or this build."""


class CancelledError(PagewayError):
    """Stopped on request; nothing was published."""


class TimedOutError(_SystemError, TimeoutError):
    """Did not end in the time it was given; try again, or give more."""

    _errno = errno.ETIMEDOUT


class OutOfMemoryError(PagewayError, MemoryError):
    """The system gave less memory than was asked for, within the budget."""


class InternalError(PagewayError):
    """A defect of the engine itself: please report it."""


class PagewayWarning(UserWarning):
    """Something works, but not as well as it was asked for; a recall out of reach, for example."""


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Gives errors of the operating system that name no file the one that was worked on."""
    try:
        yield
    except _SystemError as error:
        if error.filename is None:
            error.filename = path
        raise
