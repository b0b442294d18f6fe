"""Exceptions, one per kind of trouble: by what the caller can do about it.

Every exception of the package is a `PagewayError`. Where Python has a built-in exception of the
same meaning, the class is a subclass of that one too, so ``except FileNotFoundError`` works as
expected.
"""

__all__ = [
    "BusyError",
    "CancelledError",
    "CorruptError",
    "IncompatibleError",
    "InternalError",
    "InvalidInputError",
    "NoSpaceError",
    "NotFoundError",
    "PagewayError",
    "PagewayWarning",
    "ReadOnlyError",
    "StorageError",
    "TimedOutError",
    "UnsupportedError",
]


class PagewayError(Exception):
    """Base of every exception that this package raises."""


class InvalidInputError(PagewayError, ValueError):
    """The request or the input vectors are wrong: correct them."""


class NotFoundError(PagewayError, FileNotFoundError):
    """The index, file or directory is not there."""


class IncompatibleError(PagewayError):
    """Written by a newer version, or for another purpose."""


class CorruptError(PagewayError):
    """Bytes on disk are not what was written: restore or rebuild."""


class StorageError(PagewayError, OSError):
    """The medium or the operating system failed."""


class NoSpaceError(StorageError):
    """The disk or the quota is full."""


class BusyError(StorageError):
    """Another process writes this index."""


class ReadOnlyError(StorageError, PermissionError):
    """Writing was refused."""


class UnsupportedError(PagewayError):
    """Legal, but not with this index or this build."""


class CancelledError(PagewayError):
    """Stopped on request; nothing was published."""


class TimedOutError(PagewayError, TimeoutError):
    """Did not end in the time it was given; try again, or give more."""


class InternalError(PagewayError):
    """A defect of the engine itself: please report it."""


class PagewayWarning(UserWarning):
    """Something works, but not as well as it was asked for; a recall out of reach, for example."""
