"""Attributes and filters, from what users write to what the native half takes."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union
from uuid import UUID

import numpy as np

from ._paths import PathLike, as_path, is_path
from ._sources.documents import Rows, rows_of
from ._sources.json_lines import objects_of, packed_lines
from .errors import InvalidInputError, NotFoundError

__all__ = [
    "Attributes",
    "Filter",
    "Schema",
    "as_documents",
    "as_fields",
    "as_filter",
    "as_schema",
    "from_json",
]

#: What rows must be to be found: an expression, a filter of Qdrant's, ids and names, a mask: a
#: bool for each id, from 0 on, or bytes: ids as a Roaring bitmap of 32 bits in its portable format.
Filter = Union[str, bytes, Mapping[str, Any], Iterable[Union[bool, int, str, UUID]]]

#: Attributes of rows: JSON lines, Parquet, Arrow, Lance or CSV, a table, or a mapping per row.
Attributes = Union[PathLike, Iterable[Optional[Mapping[str, Any]]], Any]


#: What values of fields must be: kinds by field, or a JSON file of them.
Schema = Union[PathLike, Mapping[str, str]]


def as_documents(
    attributes: Optional[Attributes], beside: Optional[Tuple[Optional[str], Optional[str]]] = None
) -> Union[None, str, List[str]]:
    """A path of JSON lines, or a JSON text per row. `beside`: columns of vectors and ids, where these
    are of the same table; they are left out."""
    if attributes is None:
        return None
    rows = rows_of(attributes, "attributes")
    if rows is None and is_path(attributes):
        path = as_path(attributes)
        if beside is None:
            lines = packed_lines(path)
            return path if lines is None else lines
        rows = objects_of(path)
    if rows is None:
        rows = _mappings(attributes)
    elif beside is not None:
        rows = _without(rows, *beside)
    return [_document(row, given) for row, given in enumerate(rows)]


def _mappings(attributes: Any) -> Rows:
    """A mapping per row of what is no table."""
    kind = type(attributes).__name__
    if isinstance(attributes, Mapping):
        raise InvalidInputError(
            f"attributes: is one {kind}; give a mapping per row, or columns as a frame of pandas or "
            "polars"
        )
    if not isinstance(attributes, Iterable):
        raise InvalidInputError(
            f"attributes: come as a mapping per row, a table or a file, not as {kind}"
        )
    return iter(attributes)


def _without(rows: Rows, column: Optional[str], id_column: Optional[str]) -> Rows:
    """Rows without vectors, by default the only list of numbers, and ids."""
    for row in rows:
        if not isinstance(row, Mapping):
            yield row
            continue
        if column is None:
            column = next((name for name, own in row.items() if _is_vector(own)), None)
        yield {name: own for name, own in row.items() if name not in (column, id_column)}


def _is_vector(value: Any) -> bool:
    if not isinstance(value, (list, tuple, np.ndarray)) or not len(value):
        return False
    return all(isinstance(own, (int, float, np.number)) for own in value)


def _document(row: int, given: Optional[Mapping[str, Any]]) -> str:
    if not isinstance(given, (Mapping, type(None))):
        raise InvalidInputError(f"attributes of row {row}: a mapping is expected")
    fields, where = dict(given or {}), f"attributes of row {row}"
    try:
        return _as_json(fields, where)
    except InvalidInputError:
        for field, own in fields.items():
            _as_json(own, f"{where}, field {field!r}")
        raise


def _as_json(value: Any, where: str) -> str:
    try:
        return json.dumps(value, default=_plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        words = str(error)
        if words.startswith("Out of range float"):
            words = "NaN and infinity are no values of JSON; leave the field out, or give None"
        raise InvalidInputError(f"{where}: {words}") from None
    except RecursionError:
        raise InvalidInputError(f"{where}: lists or mappings are nested too deeply") from None


def as_schema(schema: Optional[Schema]) -> Optional[str]:
    """A JSON text of kinds by field."""
    if schema is None:
        return None
    if is_path(schema):
        path = as_path(schema)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError as error:
            raise NotFoundError(f"{path}: no such file") from error
    if not isinstance(schema, Mapping):
        raise InvalidInputError("schema: a mapping of fields to kinds is expected")
    return json.dumps({str(field): str(kind) for field, kind in schema.items()})


def as_fields(fields: Mapping[str, Any]) -> str:
    """A JSON text of attributes that are to be set."""
    if not isinstance(fields, Mapping):
        raise InvalidInputError("fields: a mapping is expected")
    return _as_json(dict(fields), "fields")


def _plain(value: Any) -> Any:
    """What JSON knows, of what it does not."""
    if isinstance(value, np.ndarray):
        return list(value) if value.dtype.kind in "mM" else value.tolist()
    if isinstance(value, (np.datetime64, datetime.datetime, datetime.date, datetime.time)):
        if value != value:
            raise TypeError("NaT is no moment; leave the field out, or give None")
        return _moment(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        return value.item()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no value of an attribute")


def _moment(value: Any) -> str:
    """A moment as files of Parquet give it, in UTC: one text, whatever the zone it was given in."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        except OverflowError:
            raise ValueError(f"{value} is outside of the years 1 to 9999 in UTC") from None
    text = str(value) if isinstance(value, np.datetime64) else value.isoformat()
    if "T" not in text:
        return text
    whole, _, fraction = text.partition(".")
    whole += ":00" * (2 - whole.count(":"))
    return f"{whole}.{fraction.rstrip('0')}".rstrip(".") + "Z"


def as_filter(given: Optional[Filter]) -> Union[None, Tuple[str, bool], np.ndarray, bytes]:
    """A text, and whether it is JSON of Qdrant's; a mask; ids; or a bitmap of them."""
    if given is None:
        return None
    if hasattr(given, "model_dump"):
        given = given.model_dump(mode="json", exclude_none=True)
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, str):
        return given, False
    if not isinstance(given, (Mapping, Iterable)):
        raise InvalidInputError(
            f"filter: {given!r} is none: an expression, a mapping, ids, a mask or bytes are expected"
        )
    if not isinstance(given, Mapping):
        admitted = _admitted(given)
        if isinstance(admitted, np.ndarray):
            return admitted
        given = {"must": [{"has_id": admitted}]}
    return _as_json(given, "filter"), True


def _admitted(given: Any) -> Union[np.ndarray, List[Union[int, str]]]:
    """A mask as an array of bools, ids as one of numbers, or a list where names are among them."""
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype == np.bool_:
        return np.ascontiguousarray(given)
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind == "u":
        return np.ascontiguousarray(given, dtype=np.uint64)
    listing = getattr(given, "to_pylist", None) or getattr(given, "tolist", None)
    listed = list(given) if listing is None else listing()
    if listed and all(isinstance(one, (bool, np.bool_)) for one in listed):
        return np.array(listed, dtype=np.bool_)
    keys = [_key(one) for one in listed]
    numbers = [key for key in keys if isinstance(key, int)]
    if len(numbers) < len(keys):
        return keys
    beyond = next((one for one in numbers if not 0 <= one < 2**64), None)
    if beyond is not None:
        raise InvalidInputError(f"filter: {beyond} is no id: ids are from 0 to 2^64 - 2")
    return np.array(numbers, dtype=np.uint64)


def _key(one: Any) -> Union[int, str]:
    """An id, or a name of a row."""
    if isinstance(one, (str, UUID)):
        return str(one)
    if isinstance(one, (int, np.integer)) and not isinstance(one, bool):
        return int(one)
    raise InvalidInputError(
        f"filter: {one!r} is no id: ids are whole numbers or names, and a mask is of bools alone"
    )


def from_json(texts: List[Optional[str]]) -> List[Optional[Dict[str, Any]]]:
    """Documents as they were given."""
    return [None if text is None else json.loads(text) for text in texts]
