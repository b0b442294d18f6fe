"""Conditions on fields, as filters of Qdrant's write them."""

from __future__ import annotations

from typing import Any, Dict, Sequence

from .errors import InvalidInputError

__all__ = ["Condition", "equal", "one_of", "path_of"]

Condition = Dict[str, Any]


def path_of(*names: str) -> str:
    """The path of a field by its name and those of the objects that it is in."""
    return ".".join(_quoted(name) for name in names)


def _quoted(name: str) -> str:
    if '"' in name:
        raise InvalidInputError(f"filter: no path names the field {name!r}")
    return name if name and not any(mark in name for mark in ".[]") else f'"{name}"'


def equal(key: str, value: Any) -> Condition:
    """A field has a value, or a list that holds it; 1 and 1.0 are equal."""
    if value is None:
        return {"is_null": {"key": key}}
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"key": key, "range": {"gte": value, "lte": value}}
    return {"key": key, "match": {"value": value}}


def one_of(key: str, values: Sequence[Any]) -> Condition:
    """A field has one of some values; of none none."""
    if all(isinstance(value, str) for value in values):
        return {"key": key, "match": {"any": list(values)}}
    return {"should": [equal(key, value) for value in values]}
