"""How an index looks in a notebook: what it is, and its recall against the pages it reads."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, List, Tuple

from ._elements import name_of
from .reports import Calibration

if TYPE_CHECKING:
    from .index import Index

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 320, 150, 40, 26
#: Neighbours whose recall is shown.
_K = 10


class Notebook:
    """The representation that notebooks show."""

    def _repr_html_(self: "Index") -> str:  # type: ignore[misc]
        if self.closed:
            return f"<code>{escape(repr(self))}</code>"
        stats = self.stats()
        count, dimension = self.shape
        facts = [
            ("vectors", f"{count:,} &times; {dimension} {name_of(self._dtype)}, {self.metric}"),
            ("on disk", _bytes(stats["index_bytes"])),
            ("memory", _bytes(stats["memory"]["budget_bytes"])),
            ("reads", escape(stats["backend"]["io_backend"])),
        ]
        rows = "".join(
            f'<tr><th style="text-align:left">{name}</th><td style="text-align:left">{value}</td>'
            "</tr>"
            for name, value in facts
        )
        title = f"<b>pageway.Index</b> <code>{escape(self.path)}</code>"
        return f"<div>{title}<table>{rows}</table>{_plot(stats['calibration'])}</div>"


def _bytes(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"


def _plot(calibration: Calibration) -> str:
    """Recall@10 over pages per query, a point per list size; nothing without two points."""
    curves = calibration["curves"]
    measured = [row for curve in curves if curve["k"] == _K for row in curve["rows"]]
    points = [(row["pages"], row["recall"]) for row in measured]
    if len(points) < 2:
        return ""
    sizes = [row["list_size"] for row in measured]
    places = _places(points)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="currentColor"><title>list size {size}: '
        f"recall@10 {recall:.3f}, {pages:.1f} pages</title></circle>"
        for (x, y), size, (pages, recall) in zip(places, sizes, points)
    )
    low, high = _range([recall for _, recall in points])
    least, most = _range([pages for pages, _ in points])
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        'aria-label="recall@10 over pages per query" font-size="10" font-family="sans-serif">'
        f'<polyline points="{line}" fill="none" stroke="currentColor"/>{dots}'
        f'<g fill="currentColor"><text x="2" y="12">{high:.3f}</text>'
        f'<text x="2" y="{_HEIGHT - _BOTTOM}">{low:.3f}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{least:.3g}</text>'
        f'<text x="{_WIDTH - 4}" y="{_HEIGHT - 4}" text-anchor="end">{most:.3g}</text>'
        f'<text x="{_WIDTH // 2}" y="{_HEIGHT - 4}" text-anchor="middle">'
        "recall@10 over pages per query</text></g></svg>"
    )


def _range(values: List[float]) -> Tuple[float, float]:
    return min(values), max(values)


def _places(points: List[Tuple[float, float]]) -> List[Tuple[float, float]]:
    """Points of the picture; y grows downwards."""
    least, most = _range([pages for pages, _ in points])
    low, high = _range([recall for _, recall in points])
    across, up = max(most - least, 1e-9), max(high - low, 1e-9)
    width, height = _WIDTH - _LEFT - 8, _HEIGHT - _BOTTOM - 8
    return [
        (_LEFT + width * (pages - least) / across, 8 + height * (high - recall) / up)
        for pages, recall in points
    ]
