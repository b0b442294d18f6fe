"""Places that callers name: paths and URLs."""

from __future__ import annotations

import os
from typing import Union

PathLike = Union[str, os.PathLike[str]]


def is_path(source: object) -> bool:
    """Whether `source` names a file."""
    return isinstance(source, (str, os.PathLike))


def as_path(path: PathLike, name: str = "path") -> str:
    """`path` as text, with ``~`` for the directory of the user."""
    if not is_path(path):
        raise TypeError(f"{name} must be a str or a pathlib.Path, not {type(path).__name__}")
    return os.fspath(os.path.expanduser(path))


def is_url(path: str) -> bool:
    """Whether a place is in object storage."""
    return "://" in path
