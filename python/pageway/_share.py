"""The share of the whole of a build, for those who want that and no stages."""

from __future__ import annotations

from typing import Any, Callable, Optional


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

    def hear(self, stage: str, share: Optional[float]) -> None:
        """So much is done; before the work is planned, nothing."""
        self._callback(share or 0.0, stage)

    def finish(self) -> None:
        """The work ended well."""
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
            # Sums of steps are rounded: the same share again may be a little less than what is shown.
            step = max(reached - self._shown, 0.0)
            step = round(step, 2) if self._own else step
            self._bar.update(step)
            self._shown += step

    def close(self) -> None:
        """Ends a bar that is ours."""
        if self._own:
            self._bar.close()
