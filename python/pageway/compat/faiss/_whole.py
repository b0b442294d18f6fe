"""Functions of faiss over whole indexes and arrays."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ...errors import InvalidInputError, UnsupportedError
from .._growing import Growing, marks_of
from ._factory import index_factory
from ._index import METRIC_INNER_PRODUCT, METRIC_L2, Index

IO_FLAG_MMAP = 2
IO_FLAG_READ_ONLY = 2


def write_index(index: Index, fname: Any) -> None:
    """Writes an index as a directory of that name."""
    marks = {"description": index.kind.description, "trained": index.is_trained}
    index.rows.save(os.fspath(fname), json.dumps(marks).encode())


def read_index(fname: Any, io_flags: int = 0) -> Index:
    """Reads what `write_index` wrote, or any index of pageway over float32."""
    path = os.fspath(fname)
    marks = json.loads(marks_of(path))
    rows = Growing.load(path)
    if rows.metric == "cosine" or rows.dtype != np.float32:
        raise InvalidInputError(
            f"{path}: holds {rows.dtype} under {rows.metric}; open it with pageway.open"
        )
    metric = METRIC_L2 if rows.metric == "l2" else METRIC_INNER_PRODUCT
    index = index_factory(rows.dimension, marks.get("description", "IVF1,Flat"), metric)
    rows.settings = index.kind.settings
    index.rows, index.is_trained = rows, True
    return index


def downcast_index(index: Index) -> Index:
    """The index itself."""
    return index


def normalize_L2(x: Any) -> None:
    """Divides each row by its length, in place; rows of zeros stay."""
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    x /= lengths


class ParameterSpace:
    """Parameters by name."""

    def set_index_parameter(self, index: Index, name: str, value: float) -> None:
        """Sets ``efSearch`` or ``nprobe``."""
        if name not in ("efSearch", "nprobe"):
            raise UnsupportedError(f"parameter {name!r} is not there: efSearch, nprobe")
        setattr(index.hnsw, name, int(value))

    def set_index_parameters(self, index: Index, description: str) -> None:
        """Sets parameters written ``nprobe=16,efSearch=64``."""
        for part in filter(None, description.split(",")):
            name, _, value = part.partition("=")
            self.set_index_parameter(index, name.strip(), float(value))


def omp_set_num_threads(count: int) -> None:
    """Takes note of nothing: threads are those of `pageway.open`."""


def omp_get_max_threads() -> int:
    """The cores of this machine."""
    return os.cpu_count() or 1
