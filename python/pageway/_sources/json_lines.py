"""JSON lines: an object per line with a list of numbers in one field, or the list alone."""

from __future__ import annotations

import json
from typing import IO, Any, Iterator, List, Optional, Union

import numpy as np

from ..errors import InvalidInputError
from .batches import Batch, Batches, rows_per_batch
from .packed import opened

EXTENSIONS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def is_json_lines(path: str) -> bool:
    """Whether the name says JSON lines."""
    return path.lower().endswith(EXTENSIONS)


def from_json_lines(path: str, column: Optional[str], id_column: Optional[str]) -> Batches:
    """The lines of a file; numbers are read as float32 unless the caller says another type."""
    with opened(path):
        pass

    def read() -> Iterator[Batch]:
        with opened(path) as file:
            yield from _Lines(path, column, id_column).batches(file)

    return Batches(read, path)


def packed_lines(path: str) -> Optional[List[str]]:
    """The lines of a file that gzip packed, without blank ones; None of any other."""
    if not path.lower().endswith(".gz"):
        return None
    lines: List[str] = []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                lines.append(line.strip().decode())
            except UnicodeDecodeError as error:
                raise InvalidInputError(f"{path}, line {number}: {error}") from None
    return [line for line in lines if line]


def objects_of(path: str) -> Iterator[Any]:
    """What the lines of a file hold, without blank ones."""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _value(line, f"{path}, line {number}")


def _value(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.rstrip())
    except json.JSONDecodeError as error:
        where = f"{error.msg} at column {error.colno}"
        raise InvalidInputError(f"{place}: no JSON: {where}") from error
    except ValueError as error:
        raise InvalidInputError(f"{place}: no JSON: {error}") from error
    except RecursionError:
        raise InvalidInputError(f"{place}: lists or objects are nested too deeply") from None


class _Lines:
    """Lines as vectors and ids; the first says which field holds the vector."""

    def __init__(self, path: str, column: Optional[str], id_column: Optional[str]) -> None:
        self.path, self.column, self.id_column = path, column, id_column
        self.kind_of_ids: Optional[type] = None

    def batches(self, file: IO[bytes]) -> Iterator[Batch]:
        vectors: List[Any] = []
        ids: List[Any] = []
        rows = 1
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            vector, row_id = self._parsed(line, f"{self.path}, line {number}")
            vectors.append(vector)
            ids.append(row_id)
            if len(vectors) >= rows:
                rows = rows_per_batch(4 * len(vector))
                yield self._batch(vectors, ids)
                vectors, ids = [], []
        if vectors:
            yield self._batch(vectors, ids)

    def _batch(self, vectors: List[Any], ids: List[Any]) -> Batch:
        return Batch(vectors, None if self.id_column is None else ids)

    def _parsed(self, line: bytes, place: str) -> Any:
        value = _value(line, place)
        if not isinstance(value, dict):
            if self.column is not None or self.id_column is not None:
                raise InvalidInputError(f"{place}: has no fields, it is no JSON object")
            return _vector(value, place), None
        if self.column is None:
            self.column = self._only_list(value, place)
        row_id = None
        if self.id_column is not None:
            row_id = self._id(value, place)
        if self.column not in value:
            raise InvalidInputError(f"{place}: no field {self.column!r}")
        return _vector(value[self.column], f"{place}, field {self.column!r}"), row_id

    def _id(self, value: Any, place: str) -> Union[int, str]:
        """An id, or the name of a row: all of a file are one or the other."""
        if self.id_column not in value:
            raise InvalidInputError(f"{place}: no field {self.id_column!r}")
        found: Union[int, str] = value[self.id_column]
        whole = type(found) is int and 0 <= found < 2**64 - 1
        if not whole and not isinstance(found, str):
            raise InvalidInputError(
                f"{place}, field {self.id_column!r}: {found!r} is no id; ids are whole numbers from 0 "
                "to 2**64 - 2, or texts, which are names of rows"
            )
        self.kind_of_ids = self.kind_of_ids or type(found)
        if type(found) is not self.kind_of_ids:
            raise InvalidInputError(
                f"{place}, field {self.id_column!r}: {found!r}, where the lines before it have "
                f"{'numbers' if self.kind_of_ids is int else 'names'}"
            )
        return found

    def _only_list(self, value: Any, place: str) -> str:
        lists = [key for key, field in value.items() if isinstance(field, list)]
        if len(lists) == 1:
            return str(lists[0])
        fields = ", ".join(repr(key) for key in value)
        raise InvalidInputError(
            f"{place}: say which field holds the vector with column=; there are {fields}"
        )


def _vector(value: Any, place: str) -> Any:
    """A list of numbers as float64, which holds what JSON can say; numbers are not rounded twice."""
    numbers = isinstance(value, list) and all(type(part) in (int, float) for part in value)
    if not numbers or not value:
        raise InvalidInputError(f"{place}: no list of numbers")
    return np.array(value, dtype=np.float64)
