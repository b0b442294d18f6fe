"""A line on stderr that says how far long work is, without any library."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Callable, Optional, TextIO, Tuple, Union

import numpy as np

from ._share import Bar, ShareCallback

LOG = logging.getLogger("pageway")

#: Called with the stage, the units done and the units in all, about ten times a second.
ProgressCallback = Callable[[str, int, int], None]
#: What a caller may ask for; tqdm, its class or an object, has ``update`` and ``total``.
ProgressWish = Union[bool, ProgressCallback, Any]

_BAR_WIDTH = 24
#: Below this share of a stage, an estimate of the time left is a guess.
_ESTIMATE_FROM = 0.02


class ProgressLine:
    """Redraws one line on a terminal; writes one line per stage elsewhere (logs, notebooks).

    Where the share of the whole is known, the line shows that and the time that is left of it.
    """

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._redraws = self._stream.isatty()
        self._stage = ""
        self._started = 0.0
        self._width = 0
        self._whole: Optional[Tuple[float, float]] = None

    def hear(self, stage: str, done: int, total: int, share: Optional[float]) -> None:
        """Shows the stage, or the share of the whole."""
        now = time.monotonic()
        if share is not None and self._whole is None:
            self._whole = (now, share)
        if stage != self._stage:
            self._begin(stage, now)
        if not self._redraws:
            return
        if share is None or self._whole is None:
            self._draw(_line(stage, (done, total), (0.0, now - self._started)))
        else:
            began, before = self._whole
            self._draw(_line(stage, (share, 1.0), (before, now - began)))

    def close(self) -> None:
        """Ends the line."""
        if self._redraws and self._stage:
            self._stream.write("\n")
            self._stream.flush()
        self._stage = ""

    def _begin(self, stage: str, now: float) -> None:
        if self._whole is None:
            self.close()
            self._width = 0
        self._stage, self._started = stage, now
        if not self._redraws:
            self._stream.write(f"{stage} ...\n")
            self._stream.flush()

    def _draw(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


def _line(stage: str, units: Tuple[float, float], spent: Tuple[float, float]) -> str:
    """`spent`: the share that was done when the seconds began to count, and the seconds."""
    (done, total), (before, seconds) = units, spent
    if total <= 0:
        return f"{stage:<24} {done}"
    share = min(done / total, 1.0)
    filled = int(share * _BAR_WIDTH)
    bar = "#" * filled + "." * (_BAR_WIDTH - filled)
    line = f"{stage:<24} [{bar}] {share:4.0%}"
    if share >= 1.0:
        return f"{line}  {_clock(seconds)}"
    if share - before >= _ESTIMATE_FROM:
        return f"{line}  {_clock(seconds * (1.0 - share) / (share - before))} left"
    return line


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Reporting:
    """The callback that a progress wish stands for; ends the line when the work is over.

    Stages also go to the log ``pageway``, with the seconds they took.
    """

    def __init__(self, wish: ProgressWish, what: str = "work") -> None:
        check_wish(wish)
        self._line = ProgressLine() if isinstance(wish, (bool, np.bool_)) and wish else None
        self._bar = Bar(wish) if hasattr(wish, "update") else None
        share = ShareCallback(self._bar) if self._bar else wish
        self._share = share if isinstance(share, ShareCallback) else None
        self._callback: Optional[ProgressCallback] = None
        if not (self._share or self._line) and callable(wish):
            self._callback = wish
        self._log = _StageLog(what) if LOG.isEnabledFor(logging.INFO) else None

    def __enter__(self) -> Optional[Callable[[str, int, int, Optional[float]], None]]:
        heard = self._share or self._line or self._callback or self._log
        return self._hear if heard else None

    def _hear(self, stage: str, done: int, total: int, share: Optional[float]) -> None:
        if self._log:
            self._log.see(stage)
        if self._share:
            self._share.hear(stage, share)
        elif self._line:
            self._line.hear(stage, done, total, share)
        elif self._callback:
            self._callback(stage, done, total)

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._share and kind is None:
            self._share.finish()
        if self._bar:
            self._bar.close()
        if self._line is not None:
            self._line.close()
        if self._log:
            self._log.end(kind)


def check_wish(wish: ProgressWish) -> None:
    """Refuses what is neither a bool, nor called, nor a bar; None is False."""
    known = wish is None or isinstance(wish, (bool, np.bool_, ShareCallback))
    if not (known or callable(wish) or hasattr(wish, "update")):
        raise TypeError(f"progress must be a bool, a callable or tqdm, not {wish!r}")


class _StageLog:
    """A line per stage, when it is over."""

    def __init__(self, what: str) -> None:
        self._what, self._stage = what, ""
        self._began = self._started = time.monotonic()

    def see(self, stage: str) -> None:
        if stage != self._stage:
            self._end_stage()
            self._stage, self._started = stage, time.monotonic()

    def end(self, failure: Any) -> None:
        self._end_stage()
        outcome = "done" if failure is None else f"stopped by {failure.__name__}"
        seconds = time.monotonic() - self._began
        LOG.info("%s: %s after %.2f s", self._what, outcome, seconds)

    def _end_stage(self) -> None:
        if self._stage:
            seconds = time.monotonic() - self._started
            LOG.info("%s: %s, %.2f s", self._what, self._stage, seconds)
