"""One share for the whole of a build, over its stages.

A stage has a fixed part of the whole, whichever graph and design are built: the parts are about
what builds of real vectors took. Stages that are not listed move nothing.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

#: Where a stage begins and ends, as shares of the build of a segment.
_STAGES: Dict[str, Tuple[float, float]] = {
    "check rows": (0.0, 0.02),
    "deal rows": (0.02, 0.05),
    "find clusters": (0.02, 0.15),
    "train codes": (0.15, 0.2),
    "mean of vectors": (0.2, 0.21),
    "medoid": (0.21, 0.22),
    "assign shards": (0.22, 0.25),
    "find nearest": (0.25, 0.4),
    "carve groups": (0.25, 0.3),
    "compare neighbors": (0.3, 0.55),
    "choose neighbors": (0.55, 0.7),
    "link vectors": (0.25, 0.7),
    "check reachability": (0.7, 0.72),
    "order lists": (0.72, 0.74),
    "match edges": (0.74, 0.76),
    "pack pages": (0.76, 0.78),
    "shuffle pages": (0.76, 0.78),
    "encode": (0.78, 0.83),
    "entries": (0.83, 0.84),
    "write records": (0.84, 0.9),
    "sample visits": (0.9, 0.92),
    "calibrate recall": (0.92, 1.0),
}


class Share:
    """How much of a build is done, from 0 to 1; never goes back."""

    def __init__(self, segments: int = 1) -> None:
        self._segments = max(segments, 1)
        self._segment = 0
        self._within = 0.0
        self.done = 0.0

    def see(self, stage: str, done: int, total: int) -> float:
        """The share when `done` of `total` units of a stage are done."""
        if stage in _STAGES:
            begin, end = _STAGES[stage]
            within = begin + (end - begin) * min(done / total, 1.0) if total > 0 else begin
            if within < self._within - 0.5 and self._segment < self._segments - 1:
                self._segment += 1
                self._within = 0.0
            self._within = max(self._within, within)
            self.done = max(self.done, (self._segment + self._within) / self._segments)
        return self.done


def progress_share(callback: Callable[[float, str], Any]) -> "ShareCallback":
    """A `progress` that hears the share of the whole, instead of units of one stage.

    Parameters
    ----------
    callback : callable
        Called with the share that is done, from 0.0 to 1.0 and never falling, and the stage.

    Returns
    -------
    callable
        What `pageway.build` takes as ``progress``; for one build.

    Examples
    --------
    >>> seen = []
    >>> report = pageway.progress_share(lambda share, stage: seen.append(share))
    >>> pageway.build("shared.index", vectors, progress=report).close()
    >>> 0.0 <= seen[0] <= seen[-1] == 1.0
    True
    """
    return ShareCallback(callback)


class ShareCallback:
    """Adapts a callback of shares to one of stages."""

    def __init__(self, callback: Callable[[float, str], Any]) -> None:
        self._callback = callback
        self._share = Share()

    def begin(self, segments: int) -> None:
        """A build of so many segments begins."""
        self._share = Share(segments)

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._callback(self._share.see(stage, done, total), stage)

    def finish(self) -> None:
        """The build ended well."""
        self._callback(1.0, "done")


class Bar:
    """Drives a bar of tqdm, or what looks like one, with percents of the whole."""

    def __init__(self, bar: Any) -> None:
        self._own = isinstance(bar, type)
        self._bar = bar(total=100, unit="%") if self._own else bar
        self._whole = getattr(self._bar, "total", None) or 100
        self._shown = 0.0

    def __call__(self, share: float, stage: str) -> None:
        if hasattr(self._bar, "set_description_str"):
            self._bar.set_description_str(stage, refresh=False)
        reached = share * self._whole
        if not self._own or reached - self._shown >= 1 or share >= 1.0:
            step = round(reached - self._shown, 2) if self._own else reached - self._shown
            self._bar.update(step)
            self._shown += step

    def close(self) -> None:
        """Ends a bar that is ours."""
        if self._own:
            self._bar.close()
