"""What callers have, turned into what the engine takes: little-endian rows in one piece.

Nothing but numpy is required. Arrays of other libraries are recognised by the protocols they speak
(``__array__``, DLPack, Arrow's fixed-size lists; what speaks Arrow's C interface alone is read with
pyarrow, if it is there). Rows that already lie in C order in one of the four element types are
passed on as they are; everything else is copied, and the table in `as_vectors` says when. The memory
map of a whole file of vectors is read as that file: a map of a file that shrinks ends the process.
"""

from __future__ import annotations

import os
from importlib import import_module
from mmap import mmap
from typing import Any, Iterable, List, Optional, Tuple, Union

import numpy as np
import numpy.typing as npt

from ._checks import unmasked
from ._elements import (
    BITS,
    DTYPE_OF,
    ELEMENT_OF,
    as_element,
    cast,
    is_float,
    name_of,
    numbers,
)
from ._paths import as_path, is_path
from .errors import InvalidInputError

#: Bytes of the rows, components per row, element type: how rows cross into Rust.
Rows = Tuple["npt.NDArray[np.uint8]", int, str]
#: A path and the element type of its rows, where the file does not say it.
File = Tuple[str, str]
#: A path, the element type of its rows, and what messages call them.
Named = Tuple[str, str, str]


def as_vectors(source: Any, name: str) -> npt.NDArray[Any]:
    """Rows of `source` as an array of shape ``(n, d)`` in C order.

    ============================================  =========================================
    given                                         becomes
    ============================================  =========================================
    float32, float16, uint8, int8 in C order      itself: no copy, also when memory-mapped
    the same with other strides or byte order     a copy in C order
    elements of two bytes without a type (V2)     itself, as bf16: what ml_dtypes writes to .npy
    float64, bfloat16                             a float32 copy, rounded to nearest; what it does
                                                  not hold is refused
    bool                                          a copy of bits, eight in a byte
    elements of one byte without a type (V1)      itself, as bytes of eight bits
    a fixed-size list of Arrow without nulls      its values, no copy in one chunk
    DLPack on the CPU, ``__array__``              numpy's view of it, then as above
    a sequence of vectors                         a copy
    ============================================  =========================================

    Other types are refused: which rounding would be right is not ours to guess.
    """
    array = _as_array(source, name)
    if array.ndim != 2:
        raise InvalidInputError(
            f"{name}: vectors come as an array of shape (n, d), this one has shape {array.shape}"
        )
    return _contiguous(_narrowed(array, name))


def as_queries(source: Any, dimension: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Queries of shape ``(d,)`` or ``(n, d)`` in the element type of the index.

    Floats are cast to the float type of the index. Lists of whole numbers take any type that holds
    them. Nothing else changes its type, because a cast from floats to bytes would lose the query.
    """
    return _as_rows_of(source, "queries", dimension, dtype)


def as_vectors_of(source: Any, dimension: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """New rows of an index, of shape ``(n, d)``: one of shape ``(d,)`` is one row. Types as for
    queries."""
    if isinstance(source, (list, tuple)) and not source:
        return np.empty((0, dimension // 8 if dtype == BITS else dimension), dtype)
    rows = _as_rows_of(source, "vectors", dimension, dtype)
    return rows.reshape(-1, rows.shape[-1])


def _as_rows_of(
    source: Any, name: str, dimension: int, dtype: np.dtype[Any]
) -> npt.NDArray[Any]:
    array = _as_array(source, name)
    if dtype == BITS:
        array = _as_bits(array, name, dimension)
        dimension //= 8
    if array.ndim not in (1, 2):
        raise InvalidInputError(
            f"{name}: one has shape (d,), many have (n, d); this array has shape {array.shape}"
        )
    if array.shape[-1] != dimension:
        raise InvalidInputError(
            f"{name}: have {array.shape[-1]} components, the vectors of the index {dimension}"
        )
    if array.dtype != dtype:
        array = _cast_rows(array, name, dtype, from_list=isinstance(source, (list, tuple)))
    return _contiguous(array)


def as_rows(array: npt.NDArray[Any]) -> Rows:
    """The bytes of `array` (C order) without a copy, with what they mean."""
    element = ELEMENT_OF[array.dtype.name]
    components = int(array.shape[-1]) * (8 if array.dtype == BITS else 1)
    return array.reshape(-1).view(np.uint8), components, element


def as_source(source: Any, name: str, dtype: Any = None) -> Union[str, File, Rows]:
    """A path or rows: what the native functions take as vectors. `dtype` is what they are to be."""
    element = None if dtype is None else as_element(dtype)
    if is_path(source):
        path = as_path(source)
        return path if element is None else (path, element)
    if element is None:
        vectors = as_vectors(source, name)
        mapped = _mapped_file(source, vectors)
        rows = as_rows(vectors)
        return rows if mapped is None else (mapped, rows[2])
    return as_rows(cast_to(source, DTYPE_OF[element], name))


def cast_to(source: Any, wished: np.dtype[Any], name: str) -> npt.NDArray[Any]:
    """Rows as `wished`: floats are rounded, numbers that must be whole have to be, and to fit."""
    array = _as_array(source, name)
    if wished == BITS:
        return as_vectors(_as_bits(array, name), name)
    is_number = is_float(array.dtype) or array.dtype.kind in "iu"
    if array.ndim != 2 or array.dtype == wished or not is_number:
        return as_vectors(array, name)
    with np.errstate(invalid="ignore"):
        converted = cast(array, wished, name)
    if not (is_float(array.dtype) and is_float(wished)):
        wrong = np.argwhere(numbers(converted) != numbers(array))
        if len(wrong):
            row, component = wrong[0]
            raise InvalidInputError(
                f"{name}: row {row}, component {component} is {array[row, component]}, which is "
                f"no {name_of(wished)}; scale and round the numbers first, or take another dtype"
            )
    return as_vectors(converted, name)


def _mapped_file(source: Any, vectors: npt.NDArray[Any]) -> Optional[str]:
    """The file that `source` maps as it is, read only and up to its end."""
    if not isinstance(source, np.memmap) or source.mode != "r" or source.filename is None:
        return None
    path = os.fspath(source.filename)
    whole = isinstance(source.base, mmap) and np.shares_memory(source, vectors)
    header = os.path.getsize(path) - source.nbytes
    known = path.endswith((".npy", ".fbin", ".u8bin", ".i8bin"))
    return path if whole and known and header == source.offset else None


def _as_array(source: Any, name: str) -> npt.NDArray[Any]:
    """Numpy's view of `source`, by the first protocol that fits."""
    source = unmasked(source, name)
    if is_path(source) or isinstance(source, bytes):
        raise InvalidInputError(
            f"{name}: {source!r:.80} is a text or a path: give the numbers, such as numpy.load of a file"
        )
    try:
        if not hasattr(source, "__array__") and hasattr(source, "__arrow_c_array__"):
            source = import_module("pyarrow").array(source)
        if _is_arrow_list(source):
            return _from_arrow(source, name)
        if not hasattr(source, "__array__") and hasattr(source, "__dlpack__"):
            return np.from_dlpack(source)
        array = np.asarray(source)
    except InvalidInputError:
        raise
    except Exception as error:  # the protocols of foreign libraries raise what they like
        _name_ragged_row(source, name)
        kind = type(source).__name__
        raise InvalidInputError(f"{name}: cannot read the {kind} as an array: {error}") from error
    if array.dtype == object and not array.ndim:
        kind = type(source).__name__
        words = "; a sparse matrix gives them by toarray()" if hasattr(source, "toarray") else ""
        raise InvalidInputError(f"{name}: come as an array or a list, not as {kind}{words}")
    return _stacked(array, name) if array.dtype == object else array


def _is_arrow_list(source: Any) -> bool:
    """An Arrow array, or chunks of one, whose values are lists of one length."""
    return hasattr(getattr(source, "type", None), "list_size") and (
        hasattr(source, "flatten") or hasattr(source, "chunks")
    )


def _from_arrow(source: Any, name: str) -> npt.NDArray[Any]:
    if source.null_count:
        row = int(np.flatnonzero(np.asarray(source.is_null()))[0])
        raise InvalidInputError(f"{name}: row {row} is null; leave rows without a vector out")
    chunks = list(source.chunks) if hasattr(source, "chunks") else [source]
    parts = [np.asarray(chunk.flatten()) for chunk in chunks]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0, np.float32)])
    return values.reshape(-1, source.type.list_size)


def _stacked(rows: Any, name: str) -> npt.NDArray[Any]:
    """An array of arrays, as data frames have them, as one array."""
    _name_ragged_row(rows, name)
    try:
        stacked = np.stack([np.asarray(row) for row in rows])
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: does not hold numbers: {error}") from error
    for place, own in np.ndenumerate(stacked) if stacked.dtype == object else ():
        if own is None:
            where = ", ".join(f"{word} {at}" for word, at in zip(("row", "component"), place))
            raise InvalidInputError(f"{name}: {where} is None")
    return stacked


def _name_ragged_row(rows: Iterable[Any], name: str) -> None:
    """Raises when rows are no vectors or have different lengths, and names the first such row."""
    try:
        listed = list(rows)
    except TypeError:
        return
    lengths: List[Optional[int]] = [_length(row) for row in listed]
    if not any(length is not None for length in lengths):
        return
    for row, length in enumerate(lengths):
        if length is None:
            words = f"row {row} is {listed[row]!r}; leave rows without a vector out"
            raise InvalidInputError(f"{name}: {words}")
        if length != lengths[0]:
            raise InvalidInputError(
                f"{name}: row {row} has {length} components, the rows before it have {lengths[0]}"
            )


def _length(row: Any) -> Optional[int]:
    """Components of a row; None of what is no row."""
    try:
        return len(row)
    except TypeError:
        return None


def _narrowed(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """float64 and bfloat16 as float32; every other type must be one that an index holds."""
    if array.dtype.name in ELEMENT_OF:
        return array
    if array.dtype == np.bool_:
        return _as_bits(array, name)
    if array.dtype.name not in ("float64", "bfloat16"):
        raise InvalidInputError(
            f"{name}: an index holds float32, float16, bfloat16, uint8, int8 or bool, not {array.dtype}; "
            "convert the numbers to the one you mean"
            + (", or give it as dtype=" if array.dtype.kind in "iuf" else "")
        )
    return cast(array, np.dtype(np.float32), name)


def _as_bits(
    array: npt.NDArray[Any], name: str, dimension: Optional[int] = None
) -> npt.NDArray[Any]:
    """Bools, and other numbers of 0 and 1, as packed bits; bytes as the bits that are packed in
    them. `dimension`: that of the index that they are for."""
    if array.dtype.kind in "iuf" and array.dtype != np.uint8:
        array = _as_bools(array, name)
    if array.dtype == np.bool_:
        if dimension is None and array.shape[-1] % 8:
            raise InvalidInputError(
                f"{name}: rows of {array.shape[-1]} bits do not fill whole bytes; pad them with False "
                f"to {-(-array.shape[-1] // 8) * 8}"
            )
        if dimension is not None and array.shape[-1] != dimension:
            raise InvalidInputError(
                f"{name}: have {array.shape[-1]} bits, the vectors of the index {dimension}"
            )
        return np.packbits(array, axis=-1).view(BITS)
    if array.dtype not in (np.uint8, BITS):
        raise InvalidInputError(
            f"{name}: are {array.dtype}; bits come as bools, such as array > 0, as numbers of 0 and 1, "
            "or as bytes (uint8) of eight, as numpy.packbits makes them"
        )
    if dimension is not None and array.ndim and array.shape[-1] * 8 != dimension:
        raise InvalidInputError(
            f"{name}: have {array.shape[-1]} bytes, {array.shape[-1] * 8} bits; the vectors of the "
            f"index have {dimension} bits, {dimension // 8} bytes"
        )
    return np.ascontiguousarray(array).view(BITS)


def _as_bools(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Numbers of 0 and 1 as bools."""
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        place = tuple(int(at) for at in wrong[0])
        raise InvalidInputError(
            f"{name}: holds {array[place]} at {place}, which is no bit; bits come as bools, such as "
            "array > 0, as numbers of 0 and 1, or as bytes (uint8) of eight, as numpy.packbits makes "
            "them"
        )
    return array.astype(np.bool_)


def _cast_rows(
    array: npt.NDArray[Any], name: str, dtype: np.dtype[Any], from_list: bool
) -> npt.NDArray[Any]:
    if is_float(array.dtype) and is_float(dtype):
        return cast(array, dtype, name)
    if from_list and array.dtype.kind in "iu":
        exact = cast(array, dtype, name)
        if np.array_equal(numbers(exact), array):
            return exact
    raise InvalidInputError(
        f"{name}: are {name_of(array.dtype)}, the vectors of the index {name_of(dtype)}; "
        f"convert them the way the vectors were converted, to {name_of(dtype)}"
    )


def _contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """`array` in C order and little-endian, the array itself where it is so already."""
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
