"""HDF5 files as ann-benchmarks has them: a data set of rows, ``train`` by name."""

from __future__ import annotations

import os
from typing import Any, Iterator, Optional

from ..errors import InvalidInputError, NotFoundError
from .batches import Batch, Batches, library, rows_per_batch

#: What ann-benchmarks calls the vectors to index.
DEFAULT_DATASET = "train"


def from_hdf5(path: str, dataset: Optional[str]) -> Batches:
    """A data set of a file, a run of rows at a time."""
    h5py = library("h5py", path)
    if not os.path.exists(path):
        raise NotFoundError(f"{path}: no such file")
    name = f"{path}, {dataset or DEFAULT_DATASET}"
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read as HDF5: {error}") from error
    with file:
        count = len(_dataset(h5py, file, path, dataset))

    def read() -> Iterator[Batch]:
        with h5py.File(path, "r") as file:
            yield from _rows(_dataset(h5py, file, path, dataset))

    return Batches(read, name, count)


def from_dataset(dataset: Any, name: str) -> Batches:
    """A data set of an open file."""
    if getattr(dataset, "ndim", 0) != 2:
        raise InvalidInputError(f"{name}: vectors come as an HDF5 data set of shape (n, d)")
    return Batches(lambda: _rows(dataset), name, len(dataset))


def _rows(dataset: Any) -> Iterator[Batch]:
    rows = rows_per_batch(dataset.shape[1] * dataset.dtype.itemsize)
    for start in range(0, len(dataset), rows):
        yield Batch(dataset[start : start + rows])


def _dataset(h5py: Any, file: Any, path: str, wish: Optional[str]) -> Any:
    name = wish or DEFAULT_DATASET
    found = file.get(name)
    if isinstance(found, h5py.Dataset) and found.ndim == 2:
        return found
    shapes = [
        f"{key!r} of shape {value.shape}"
        for key, value in file.items()
        if isinstance(value, h5py.Dataset)
    ]
    raise InvalidInputError(
        f"{path}: {name!r} is no data set of shape (n, d); there are {', '.join(shapes) or 'none'}. "
        "Name one with column="
    )
