"""Pageway: vector search for vectors that do not fit in memory.

>>> import numpy as np, pageway
>>> index = pageway.build("my.index", vectors, metric="cosine")
>>> ids, distances = index.search(query, k=10)

An index is a directory. It is built once (`build`), then opened by any number of processes (`open`)
within a memory budget that covers everything held for it. Searches state the recall they want, or
the radius (`Index.range`); smaller distances are nearer in every metric. An index has our own
design, or a published one that `presets` lists.
"""

from ._native import __version__
from .building import build, presets
from .errors import (
    BusyError,
    CancelledError,
    CorruptError,
    IncompatibleError,
    InternalError,
    InvalidInputError,
    NoSpaceError,
    NotFoundError,
    PagewayError,
    PagewayWarning,
    ReadOnlyError,
    StorageError,
    TimedOutError,
    UnsupportedError,
)
from .index import Index, open, verify
from .results import Preset, RangeResult, RecallReport, SearchResult, VerifyReport
from .truth import ground_truth

__all__ = [
    "BusyError",
    "CancelledError",
    "CorruptError",
    "IncompatibleError",
    "Index",
    "InternalError",
    "InvalidInputError",
    "NoSpaceError",
    "NotFoundError",
    "PagewayError",
    "PagewayWarning",
    "Preset",
    "RangeResult",
    "ReadOnlyError",
    "RecallReport",
    "SearchResult",
    "StorageError",
    "TimedOutError",
    "UnsupportedError",
    "VerifyReport",
    "__version__",
    "build",
    "ground_truth",
    "open",
    "presets",
    "verify",
]
