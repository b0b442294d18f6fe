"""What builds and indexes say of themselves: dicts with known keys."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, TypedDict

__all__ = [
    "Backend",
    "BuildReport",
    "Calibration",
    "CalibrationCurve",
    "CalibrationRow",
    "FileCheck",
    "FileStats",
    "IndexStats",
    "MemoryStats",
    "SegmentStats",
    "StepReport",
]


class VectorShape(TypedDict):
    """What the vectors are."""

    dimension: int
    element: str


class BuildReport(TypedDict):
    """What a build measured and decided."""

    nodes: int
    shape: VectorShape
    seconds: List[Tuple[str, float]]
    shards: int
    relinked_nodes: int
    tamed_rows: int
    mean_degree: float
    code_bytes: int
    raw_bytes: int
    #: Element type that vectors are stored in: f16 where that holds all of f32 vectors exactly.
    stored: str
    index_bytes: int
    #: Bytes by what the files of the index hold.
    file_bytes: List[Tuple[str, int]]
    #: Bytes that the build wrote to temporary files, at most, and removed.
    temporary_bytes: int
    memory_bytes: int
    build_memory_bytes: int
    best_recall_at_10: float
    list_size: Optional[int]
    warnings: List[str]
    #: Bytes that were written beside the index, and removed, because vectors came in batches.
    scratch_bytes: int
    #: How far `store` moved a vector at most, as a share of its length.
    worst_rounding: Optional[float]


class StepReport(TypedDict):
    """What a step of a build did."""

    step: str
    #: Whether an earlier process had finished it.
    done_before: bool
    segments: int
    #: Vectors: of the segment, or of all.
    nodes: int
    build_memory_bytes: int
    seconds: List[Tuple[str, float]]
    warnings: List[str]
    #: Of the index, once it is there.
    index: Optional[BuildReport]
    scratch_bytes: int
    worst_rounding: Optional[float]


class CalibrationRow(TypedDict):
    """Means over some queries at one list size, and the recall that one in twenty does not reach.

    ``lost_by_codes`` is by how much recall is less where codes may answer.
    """

    list_size: int
    queries: int
    recall: float
    lost_by_codes: float
    standard_error: float
    recall_p5: float
    pages: float
    rounds: float


class _FittedDimension(TypedDict):
    first_list: int
    exponent: float
    unusual: float
    quantiles: List[float]


class DimensionFit(_FittedDimension, total=False):
    """How misses go with the local dimension of a query.

    ``true_exponent`` and ``levels``, what queries were found to miss beside that, where measured.
    """

    true_exponent: float
    levels: List[float]


class Moments(TypedDict):
    """A mean and a standard deviation over queries."""

    mean: float
    deviation: float


class Likeness(TypedDict):
    """Logarithms of the distances of queries to their nearest and kth neighbours, and between."""

    nearest: Moments
    farthest: Moments
    between: Moments


class _MeasuredCurve(TypedDict):
    k: int
    rows: List[CalibrationRow]


class CalibrationCurve(_MeasuredCurve, total=False):
    """Recall and cost by list size, of one number of neighbours; ``dimension`` where it was fitted.

    ``early`` is the same by the least list, for queries that need no longer one; ``likeness`` says
    how far the queries lay from their neighbours.
    """

    dimension: DimensionFit
    early: DimensionFit
    likeness: Likeness


class Calibration(TypedDict):
    """Recall and cost by k and list size, as the build or `Index.calibrate` measured them."""

    queries: int
    held_out: bool
    apart: bool
    beam: int
    curves: List[CalibrationCurve]


class FileStats(TypedDict):
    """A file of an index."""

    name: str
    pages: int
    bytes: int


class FileCheck(TypedDict):
    """A file of an index, read whole."""

    name: str
    pages: int
    bytes: int
    damaged: int


class SegmentStats(TypedDict):
    """A run of rows that was built by itself."""

    first_row: int
    nodes: int
    #: Element type that its vectors are stored in.
    stored: str
    #: Components at the end of a vector that lie in a free bit of the others.
    folded: int
    index_bytes: int
    code_bytes: int
    entry: List[int]
    mean_degree: float
    max_degree: int
    shards: int
    page_utilisation: float
    overlap: Optional[float]
    list_memory_bytes: Optional[int]
    page_list_bytes: Optional[int]


class MemoryStats(TypedDict):
    """What an open index holds, in bytes by part."""

    budget_bytes: int
    parts: List[Tuple[str, int]]
    cached_nodes: int
    cached_pages: int
    cached_edge_bits: Optional[float]
    searches_peak_bytes: int
    workers_made: int


class Backend(TypedDict):
    """How pages are read, and why so."""

    io_backend: str
    reason: str
    direct: bool


class IndexStats(TypedDict):
    """What an index is and what it holds; `pageway.Index.stats` says what the keys mean."""

    generation: int
    created_by: str
    spec: Dict[str, Any]
    nodes: int
    raw_bytes: int
    index_bytes: int
    mean_degree: float
    max_degree: int
    shards: int
    entry: List[int]
    nodes_per_page: int
    vectors_per_page: int
    pages_per_read: int
    page_utilisation: float
    overlap: Optional[float]
    list_memory_bytes: Optional[int]
    list_edge_bits: Optional[float]
    page_list_bytes: Optional[int]
    page_edge_bits: Optional[float]
    memory_bytes: int
    files: List[FileStats]
    missing: List[str]
    schema: Optional[Dict[str, str]]
    segments: List[SegmentStats]
    calibration: Calibration
    memory: MemoryStats
    backend: Backend
