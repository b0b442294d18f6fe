"""Places that callers name: paths and URLs."""

from __future__ import annotations

import os
from typing import Union

from .errors import InvalidInputError

PathLike = Union[str, os.PathLike[str]]


def is_path(source: object) -> bool:
    """Whether `source` names a file."""
    return isinstance(source, (str, os.PathLike))


def as_path(path: PathLike, name: str = "path") -> str:
    """`path` as text, with ``~`` for the directory of the user."""
    if not is_path(path):
        raise TypeError(f"{name} must be a str or a pathlib.Path, not {type(path).__name__}")
    return os.fspath(os.path.expanduser(path))


def as_directory(path: PathLike) -> str:
    """`path` of a directory, which no URL names, as text."""
    text = as_path(path)
    if is_url(text):
        words = "a URL, where a directory is needed: publish to object storage from one"
        raise InvalidInputError(f"{text}: {words}")
    return text


def is_url(path: str) -> bool:
    """Whether a place is in object storage."""
    return "://" in path
