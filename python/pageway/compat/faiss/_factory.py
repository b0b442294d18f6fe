"""Factory strings and classes of faiss as settings of a build."""

from __future__ import annotations

import re
from typing import Any, Dict, Tuple

from ...errors import InvalidInputError, UnsupportedError
from ._index import METRIC_INNER_PRODUCT, METRIC_L2, Index, Kind

#: What does nothing here: ids are always there, vectors are kept whole and answers refined.
_IGNORED = (r"IDMap2?", r"R?Flat", r"Refine\(.*\)", r"OPQ\d+(_\d+)?", r"SQ(8|fp16|bf16)", r"L2norm")


def index_factory(d: int, description: str, metric: int = METRIC_L2) -> Index:
    """An index as faiss's `index_factory` describes it.

    ============================  ==============================================================
    part                          means
    ============================  ==============================================================
    ``Flat`` alone                every vector is compared with, answers are exact
    ``HNSWM``, ``NSGR``           degree ``2 M``, or ``R``
    ``IVFn``, ``IVFn_HNSWM``      the default design
    ``PQm``, ``PQmxb``            codes of ``m b / 8`` bytes (``b`` is 8 where it is left out)
    ``OPQ..``, ``SQ8``, ``IDMap`` nothing: codes are rotated, vectors kept whole, ids known
    ============================  ==============================================================

    Raises
    ------
    UnsupportedError
        Another part; the sentence names it.
    """
    parts = [part.strip() for part in re.split(r",(?![^(]*\))", description) if part.strip()]
    if not parts:
        raise InvalidInputError("index_factory: the description is empty")
    kinds = [part for part in parts if not re.fullmatch(r"IDMap2?", part)]
    if kinds == ["Flat"]:
        return Index(d, Kind(description, {}, True), metric)
    settings: Dict[str, Any] = {}
    for part in parts:
        settings.update(_settings(part, d))
    return Index(d, Kind(description, settings, False), metric)


def _settings(part: str, d: int) -> Dict[str, Any]:
    if any(re.fullmatch(pattern, part) for pattern in _IGNORED):
        return {}
    graph = re.fullmatch(r"(HNSW|NSG)(\d+)?(_Flat|_SQ8)?", part)
    if graph:
        return {"degree": _degree(*graph.groups()[:2])}
    if re.fullmatch(r"IVF\d+(_HNSW\d*)?(\(.*\))?", part):
        return {}
    codes = re.fullmatch(r"PQ(\d+)(?:x(\d+))?(fs|fsr|np)?", part)
    if codes:
        count, bits = int(codes[1]), int(codes[2] or 8)
        return {"preset": "diskann", "code_bytes": max(1, min(count * bits // 8, d))}
    raise UnsupportedError(
        f"index_factory: {part!r} is not there in pageway.compat.faiss; Flat, HNSW, NSG, IVF, PQ, "
        "OPQ, SQ8, SQfp16, RFlat and IDMap are"
    )


def _degree(kind: str, number: Any) -> int:
    degree = int(number or 32) * (2 if kind == "HNSW" else 1)
    return min(max(degree, 4), 512)


class IndexFlat(Index):
    """Compares with every vector."""

    def __init__(self, d: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, Kind("Flat", {}, True), metric)


class IndexFlatL2(IndexFlat):
    """Compares with every vector, by squared distance."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """Compares with every vector, by inner product."""

    def __init__(self, d: int) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


class IndexHNSWFlat(Index):
    """A graph of degree ``2 M``."""

    def __init__(self, d: int, M: int = 32, metric: int = METRIC_L2) -> None:
        settings = _settings(f"HNSW{M}", d)
        super().__init__(d, Kind(f"HNSW{M},Flat", settings, False), metric)


class IndexIVFFlat(Index):
    """The default design; `quantizer` and `nlist` are taken note of."""

    def __init__(self, quantizer: Any, d: int, nlist: int, metric: int = METRIC_L2) -> None:
        super().__init__(d, Kind(f"IVF{nlist},Flat", {}, False), metric)
        self.quantizer, self.nlist = quantizer, nlist


class IndexIVFPQ(Index):
    """Codes of ``m nbits / 8`` bytes."""

    def __init__(
        self, quantizer: Any, d: int, nlist: int, m: int, nbits: int = 8, metric: int = METRIC_L2
    ) -> None:
        settings = _settings(f"PQ{m}x{nbits}", d)
        super().__init__(d, Kind(f"IVF{nlist},PQ{m}x{nbits}", settings, False), metric)
        self.quantizer, self.nlist = quantizer, nlist


class IndexPQ(Index):
    """Codes of ``M nbits / 8`` bytes."""

    def __init__(self, d: int, M: int, nbits: int = 8, metric: int = METRIC_L2) -> None:
        settings = _settings(f"PQ{M}x{nbits}", d)
        super().__init__(d, Kind(f"PQ{M}x{nbits}", settings, False), metric)


def _same(index: Index) -> Tuple[int, Kind, int]:
    return index.d, index.kind, index.metric_type


class IndexIDMap(Index):
    """An index under ids: as `index`, which has them already."""

    def __init__(self, index: Index) -> None:
        if index.ntotal:
            raise InvalidInputError("IndexIDMap: the index must be empty")
        super().__init__(*_same(index))
        self.index, self.hnsw = index, index.hnsw


class IndexIDMap2(IndexIDMap):
    """The same; vectors can be reconstructed in both."""
