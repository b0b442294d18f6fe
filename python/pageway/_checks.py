"""Values that callers give, checked for their type; the engine checks what they mean."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from .errors import InvalidInputError


def checked_count(name: str, value: Any, limit: int = 2**32 - 1) -> int:
    """`value` as a whole number from 0 to `limit`; the engine checks what it means."""
    try:
        number = int(value.__index__())
    except AttributeError:
        raise TypeError(f"{name} must be an int, not {type(value).__name__}") from None
    if not 0 <= number <= limit:
        raise InvalidInputError(f"{name} is {number}: it must be between 0 and {limit}")
    return number


def checked_optional(name: str, value: Optional[Any]) -> Optional[int]:
    """`checked_count` where there is a value."""
    return None if value is None else checked_count(name, value)


def checked_text(name: str, value: Any) -> str:
    """`value`, which must be a text."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return value


def checked_flag(name: str, value: Any) -> bool:
    """`value`, which must be a bool; other things that count as true may be slips."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def checked_number(name: str, value: Any) -> float:
    """`value` as a float; the engine checks what it means."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, not {type(value).__name__}") from None
    except OverflowError:
        raise InvalidInputError(f"{name} is larger than any float") from None


def as_memory(name: str, value: Any) -> Optional[str]:
    """An amount of memory as the engine reads it: bytes, or text such as ``"200MB"``, ``"10%"``."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and value == value // 1:
        return str(int(value))
    raise InvalidInputError(
        f"{name} is {value!r}: write bytes (200_000_000), '200MB', or a share of the raw vectors "
        "such as '10%'"
    )


def unmasked(source: Any, name: str) -> Any:
    """`source`, which hides no values: numpy would give what lies under the mask."""
    if np.ma.is_masked(source):
        hidden = int(np.ma.count_masked(source))
        raise InvalidInputError(
            f"{name}: {hidden} values are masked; fill them first, with array.filled(value)"
        )
    return source
