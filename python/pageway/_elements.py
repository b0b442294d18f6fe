"""The element types of vectors: their names, and numbers of one as numbers of another."""

from __future__ import annotations

from typing import Any, Dict

import numpy as np
import numpy.typing as npt

from .errors import InvalidInputError

#: bf16, the upper halves of float32, as the bytes they are: numpy has no numbers of that type.
BF16 = np.dtype("V2")
#: Bits, eight in a byte, the first in the highest, as `numpy.packbits` packs them.
BITS = np.dtype("V1")
DTYPE_OF: Dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": BF16,
    "u8": np.dtype(np.uint8),
    "i8": np.dtype(np.int8),
    "bit": BITS,
}
ELEMENT_OF = {dtype.name: element for element, dtype in DTYPE_OF.items()}


def name_of(dtype: np.dtype[Any]) -> str:
    """What people call a type."""
    return {BF16: "bfloat16", BITS: "bit"}.get(dtype, dtype.name)


def shown(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that `numbers` gives."""
    return {BF16: DTYPE_OF["f32"], BITS: np.dtype(np.bool_)}.get(dtype, dtype)


def numbers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` (C order) in a type that numpy can calculate with: bf16 as float32, bits as bools."""
    if array.dtype == BITS:
        return np.unpackbits(array.view(np.uint8), axis=-1).view(np.bool_)
    if array.dtype != BF16:
        return array
    return (array.view("<u2").astype("<u4") << 16).view("<f4")


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or name_of(dtype) == "bfloat16"


def as_element(dtype: Any, name: str = "dtype") -> str:
    """The element type that `dtype` stands for; of bfloat16 its name, or that of any library."""
    if str(dtype).rpartition(".")[2].strip("'>") == "bfloat16":
        return "bf16"
    if dtype in ("bit", "binary", bool, np.bool_) or dtype == BITS:
        return "bit"
    try:
        return ELEMENT_OF[np.dtype(dtype).name]
    except (KeyError, TypeError):
        known = ", ".join(map(name_of, DTYPE_OF.values()))
        raise InvalidInputError(f"{name} is {dtype!r}: an index holds {known}") from None


def cast(array: npt.NDArray[Any], dtype: np.dtype[Any], name: str = "vectors") -> npt.NDArray[Any]:
    """`array` of shape ``(n, d)`` or ``(d,)`` as `dtype`, rounded to nearest.

    Finite numbers that `dtype` does not hold are refused by their place. The processor tells of
    them while it rounds, so that others cost no pass.
    """
    given = numbers(array)
    try:
        with np.errstate(over="raise"):
            rounded = _rounded(given, dtype)
        if dtype != BF16 or not ((rounded.view("<u2") & 0x7FFF) == 0x7F80).any():
            return rounded
    except FloatingPointError:
        with np.errstate(over="ignore"):
            rounded = _rounded(given, dtype)
    _refuse_overflow(given, rounded, name)
    return rounded


def _refuse_overflow(
    given: npt.NDArray[Any], rounded: npt.NDArray[Any], name: str
) -> None:
    beyond = np.argwhere(np.isfinite(given) & ~np.isfinite(numbers(rounded)))
    if len(beyond):
        *row, component = (int(at) for at in beyond[0])
        where = f"row {row[0]}, component {component}" if row else f"component {component}"
        number = given[(*row, component)]
        raise InvalidInputError(
            f"{name}: {where} is {number}, which {name_of(rounded.dtype)} cannot hold"
        )


def _rounded(floats: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if dtype != BF16:
        return floats.astype(dtype, order="C")
    return _upper_halves(floats.astype("<f4", order="C"))


def _upper_halves(floats: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """float32 as bf16, rounded to nearest, ties to even."""
    bits = floats.view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(floats), 0x7FC0, rounded).astype("<u2").view(BF16)
