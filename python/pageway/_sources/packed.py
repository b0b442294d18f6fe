"""Files that gzip may have packed; damage to one is told by its name."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import IO, Any, Iterator

from ..errors import InvalidInputError, NotFoundError


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a file from the front; of one that ends with ``.gz``, what is packed in it.

    Raises
    ------
    NotFoundError
        There is no file.
    InvalidInputError
        While it is read: what is packed is damaged, cut, or no gzip at all.
    """
    opener: Any = gzip.open if path.lower().endswith(".gz") else open
    try:
        file = opener(path, "rb")
    except FileNotFoundError as error:
        raise NotFoundError(f"{path}: no such file", filename=path) from error
    with file:
        try:
            yield file
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidInputError(f"{path}: is damaged, or no gzip: {error}") from error
