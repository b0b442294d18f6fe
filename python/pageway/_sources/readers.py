"""Files by name, for those who want to say more than a path, or to look at the batches."""

from __future__ import annotations

import os
from typing import Any, List, Optional, Sequence, Union

from .._paths import PathLike, as_path
from . import arrow, hdf5, json_lines, qdrant
from .batches import Batches

__all__ = ["read_hdf5", "read_json_lines", "read_lance", "read_parquet", "read_qdrant"]


def read_parquet(
    path: Union[PathLike, Sequence[PathLike]],
    column: Optional[str] = None,
    id_column: Optional[str] = None,
) -> Batches:
    """Vectors of a Parquet file, of several, or of a directory of them; read a batch at a time.

    Needs pyarrow.

    Parameters
    ----------
    path : path or list of paths
        A file, files that are read one after the other, or a directory, whose ``.parquet`` files
        are read in the order of their names.
    column : str, optional
        Column of lists of numbers. By default the only one; or, where there is none, all columns of
        numbers, a component each.
    id_column : str, optional
        Column of ids: whole numbers from 0 to 2**64 - 2, or texts or UUIDs, which are names of rows.

    Returns
    -------
    Batches
        What `pageway.build` and `pageway.ground_truth` take; iterable.

    Raises
    ------
    NotFoundError, InvalidInputError
        No file, no Parquet, or no such column; the sentence names those that there are.
    UnsupportedError
        pyarrow is not installed.

    Examples
    --------
    >>> texts = pageway.read_parquet("texts.parquet", column="embedding")  # doctest: +SKIP
    >>> index = pageway.build("texts.index", texts, metric="cosine")       # doctest: +SKIP
    """
    return arrow.from_parquet(_files(path), column, id_column)


def read_hdf5(path: PathLike, dataset: str = hdf5.DEFAULT_DATASET) -> Batches:
    """Vectors of an HDF5 file, as ann-benchmarks lays them out; read a batch at a time.

    Needs h5py.

    Parameters
    ----------
    path : path
        The file.
    dataset : str
        Data set of shape (n, d): ``"train"``, or ``"test"`` for the queries.

    Returns
    -------
    Batches
        As of `read_parquet`.

    Raises
    ------
    NotFoundError, InvalidInputError, UnsupportedError
        As `read_parquet`.
    """
    return hdf5.from_hdf5(as_path(path), dataset)


def read_json_lines(
    path: PathLike, column: Optional[str] = None, id_column: Optional[str] = None
) -> Batches:
    """Vectors of a file with a JSON object, or a list of numbers, per line; ``.gz`` too.

    Parameters
    ----------
    path : path
        The file.
    column : str, optional
        Field with the list of numbers; by default the only list of the first line.
    id_column : str, optional
        Field with the id, a whole number.

    Returns
    -------
    Batches
        As of `read_parquet`.

    Raises
    ------
    NotFoundError, InvalidInputError
        No file, or a line that holds no vector, by its number.
    """
    return json_lines.from_json_lines(as_path(path), column, id_column)


def read_lance(
    path: PathLike, column: Optional[str] = None, id_column: Optional[str] = None
) -> Batches:
    """Vectors of a Lance data set, such as a table of LanceDB; read a batch at a time.

    Needs pylance. A data set that is open already is taken by `pageway.build` as it is.

    Parameters
    ----------
    path : path
        Directory ``NAME.lance``.
    column : str, optional
        Column of lists of numbers; by default the only one.
    id_column : str, optional
        Column of ids, as of `read_parquet`.

    Returns
    -------
    Batches
        What `pageway.build` and `pageway.ground_truth` take; iterable.

    Raises
    ------
    NotFoundError, InvalidInputError
        No data set, or no such column; the sentence names those that there are.
    UnsupportedError
        pylance is not installed.
    """
    name = as_path(path)
    return arrow.from_dataset(arrow.lance_dataset(name), name, column, id_column)


def read_qdrant(client: Any, collection: str, vector: Optional[str] = None) -> Batches:
    """Vectors of a collection of Qdrant, with the ids of its points; read a page at a time.

    Parameters
    ----------
    client : qdrant_client.QdrantClient
        A client of a server, or of a local directory. A snapshot is restored to either first.
    collection : str
        Its name. UUIDs of points become names of rows; numbers and UUIDs in one collection are
        refused. Under cosine, Qdrant normalised the vectors.
    vector : str, optional
        Name of the vector, where points have several.

    Returns
    -------
    Batches
        What `pageway.build` and `pageway.ground_truth` take; iterable, float32.

    Raises
    ------
    InvalidInputError
        Numbers and UUIDs side by side, or a point without that one dense vector.

    Examples
    --------
    >>> texts = pageway.read_qdrant(QdrantClient(path="old"), "texts")  # doctest: +SKIP
    >>> index = pageway.build("texts.index", texts, metric="cosine")    # doctest: +SKIP
    """
    return qdrant.from_qdrant(client, collection, vector)


def _files(path: Union[PathLike, Sequence[PathLike]]) -> List[str]:
    if not isinstance(path, (str, os.PathLike)):
        return [as_path(part) for part in path]
    name = as_path(path)
    return arrow.parquet_files(name) if os.path.isdir(name) else [name]
