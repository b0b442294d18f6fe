"""A file for rows that outgrow memory, beside the index that is built; gone when the build is over.

The file is locked while it is in use, so that a later build can tell what a killed one left, and
remove it.
"""

from __future__ import annotations

import os
from typing import IO, Any, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from ..errors import NoSpaceError, StorageError

try:
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

#: Length of the header of a ``.npy`` file, whatever the number of rows.
_HEADER_BYTES = 128


class Scratch:
    """Names for files beside `beside`, all removed by `close`; counts the bytes written."""

    def __init__(self, beside: str) -> None:
        self.directory, name = os.path.split(os.path.abspath(beside))
        self.written_bytes = 0
        self._prefix = f".{name}.rows-"
        self._files: List[RowFile] = []
        self._remove_orphans()

    def file(self, dtype: "np.dtype[Any]", dimension: Optional[int]) -> "RowFile":
        """A new file of rows, or of single numbers without a `dimension`."""
        self._make_directory()
        name = f"{self._prefix}{os.getpid()}-{id(self):x}-{len(self._files)}.npy"
        file = RowFile(os.path.join(self.directory, name), dtype, dimension)
        self._files.append(file)
        return file

    def check_space(self, needed_bytes: int) -> None:
        """Refuses what the disk cannot take, before the work."""
        self._make_directory()
        disk = os.statvfs(self.directory)
        free_bytes = disk.f_bavail * disk.f_frsize
        if needed_bytes > free_bytes:
            raise NoSpaceError(
                f"{self.directory}: the rows need {needed_bytes:,} bytes while the index is built, "
                f"{free_bytes:,} are free"
            )

    def close(self) -> None:
        """Removes the files."""
        for file in self._files:
            file.remove()
        self._files = []

    def _make_directory(self) -> None:
        """Makes the directory where it is missing, as the engine does for an index."""
        try:
            os.makedirs(self.directory, exist_ok=True)
        except OSError as error:
            words = f"{self.directory}: {error.strerror}"
            raise StorageError(words, error.errno, self.directory) from error

    def _remove_orphans(self) -> None:
        """Files of builds that were killed: those that nobody has locked."""
        if not os.path.isdir(self.directory):
            return
        for name in os.listdir(self.directory):
            if name.startswith(self._prefix) and name.endswith(".npy"):
                _remove_unlocked(os.path.join(self.directory, name))


def _remove_unlocked(path: str) -> None:
    try:
        with open(path, "rb+") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.remove(path)
    except OSError:
        pass  # in use, or gone


class RowFile:
    """A ``.npy`` file that grows by rows."""

    def __init__(self, path: str, dtype: "np.dtype[Any]", dimension: Optional[int]) -> None:
        self.path, self._dtype, self._dimension = path, dtype, dimension
        self._rows = 0
        try:
            self._file: IO[bytes] = open(path, "xb")
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error
        if fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.write(bytes(_HEADER_BYTES))

    def append(self, rows: npt.NDArray[Any]) -> int:
        """Adds rows in C order; gives their bytes."""
        try:
            self._file.write(rows.data.cast("B"))
        except OSError as error:
            raise NoSpaceError(f"{self.path}: {error.strerror}") from error
        self._rows += len(rows)
        return rows.nbytes

    def finish(self) -> str:
        """Writes the header; gives the path. The file stays locked."""
        shape: Tuple[int, ...] = (self._rows,)
        if self._dimension is not None:
            shape = (self._rows, self._dimension)
        description = {"descr": self._dtype.str, "fortran_order": False, "shape": shape}
        literal = repr(description).encode("ascii")
        room = _HEADER_BYTES - 10
        header = b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little")
        try:
            self._file.seek(0)
            self._file.write(header + literal.ljust(room - 1) + b"\n")
            self._file.seek(0, os.SEEK_END)
            self._file.flush()
        except OSError as error:
            raise NoSpaceError(f"{self.path}: {error.strerror}") from error
        return self.path

    def remove(self) -> None:
        """Takes the file away."""
        try:
            os.remove(self.path)
        except FileNotFoundError:
            pass
        finally:
            try:
                self._file.close()
            except OSError:
                pass  # what was not written is not missed
