"""Pageway: vector search for vectors that do not fit in memory.

>>> import numpy as np, pageway
>>> index = pageway.build("my.index", vectors, metric="cosine")
>>> ids, distances = index.search(query, k=10)

An index is a directory. It is built (`build`) or filled (`create`, `Index.insert`), then opened by any number of processes (`open`)
within a memory budget that covers everything held for it. Searches state the recall they want, or
the radius (`Index.range`); smaller distances are nearer in every metric. An index has our own
design, or a published one that `presets` lists.
"""

from ._native import __version__
from ._share import progress_share
from ._sources import (
    Batch,
    Batches,
    read_hdf5,
    read_json_lines,
    read_lance,
    read_parquet,
    read_qdrant,
)
from .building import build, create, presets
from .errors import (
    BusyError,
    CancelledError,
    CorruptError,
    ExistsError,
    IncompatibleError,
    InternalError,
    InvalidInputError,
    NoSpaceError,
    NotFoundError,
    OutOfMemoryError,
    PagewayError,
    PagewayWarning,
    ReadOnlyError,
    StorageError,
    TimedOutError,
    UnsupportedError,
)
from .fusion import FusedResult, fuse
from .index import Index, open, publish, verify
from .results import (
    Acknowledged,
    MergeReport,
    Preset,
    PublishReport,
    RangeResult,
    RecallReport,
    Row,
    RowPage,
    SearchResult,
    VerifyReport,
)
from .steps import build_step
from .truth import ground_truth

__all__ = [
    "Acknowledged",
    "Batch",
    "Batches",
    "BusyError",
    "CancelledError",
    "CorruptError",
    "ExistsError",
    "FusedResult",
    "IncompatibleError",
    "Index",
    "InternalError",
    "InvalidInputError",
    "MergeReport",
    "NoSpaceError",
    "NotFoundError",
    "OutOfMemoryError",
    "PagewayError",
    "PagewayWarning",
    "Preset",
    "PublishReport",
    "RangeResult",
    "ReadOnlyError",
    "RecallReport",
    "Row",
    "RowPage",
    "SearchResult",
    "StorageError",
    "TimedOutError",
    "UnsupportedError",
    "VerifyReport",
    "__version__",
    "build",
    "build_step",
    "create",
    "fuse",
    "ground_truth",
    "open",
    "presets",
    "progress_share",
    "publish",
    "read_hdf5",
    "read_json_lines",
    "read_lance",
    "read_parquet",
    "read_qdrant",
    "verify",
]
