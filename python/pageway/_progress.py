"""A line on stderr that says how far long work is, without any library."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Callable, Optional, TextIO, Union

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
    """Redraws one line on a terminal; writes one line per stage elsewhere (logs, notebooks)."""

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._redraws = self._stream.isatty()
        self._stage = ""
        self._started = 0.0
        self._width = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._begin(stage, now)
        if self._redraws:
            self._draw(_line(stage, done, total, now - self._started))

    def close(self) -> None:
        """Ends the line."""
        if self._redraws and self._stage:
            self._stream.write("\n")
            self._stream.flush()
        self._stage = ""

    def _begin(self, stage: str, now: float) -> None:
        self.close()
        self._stage, self._started, self._width = stage, now, 0
        if not self._redraws:
            self._stream.write(f"{stage} ...\n")
            self._stream.flush()

    def _draw(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)


def _line(stage: str, done: int, total: int, seconds: float) -> str:
    if total <= 0:
        return f"{stage:<24} {done}"
    share = min(done / total, 1.0)
    filled = int(share * _BAR_WIDTH)
    bar = "#" * filled + "." * (_BAR_WIDTH - filled)
    line = f"{stage:<24} [{bar}] {share:4.0%}"
    if share >= 1.0:
        return f"{line}  {_clock(seconds)}"
    if share >= _ESTIMATE_FROM:
        return f"{line}  {_clock(seconds / share - seconds)} left"
    return line


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Reporting:
    """The callback that a progress wish stands for; ends the line when the work is over.

    Stages also go to the log ``pageway``, with the seconds they took.
    """

    def __init__(self, wish: ProgressWish, what: str = "work", segments: int = 1) -> None:
        self._line = ProgressLine() if wish is True else None
        self._bar = Bar(wish) if hasattr(wish, "update") else None
        share = ShareCallback(self._bar) if self._bar else wish
        self._share = share if isinstance(share, ShareCallback) else None
        if self._share:
            self._share.begin(segments)
        self._callback: Optional[ProgressCallback] = self._share or self._line
        if self._callback is None and callable(wish):
            self._callback = wish
        self._log = _StageLog(what) if LOG.isEnabledFor(logging.INFO) else None

    def __enter__(self) -> Optional[ProgressCallback]:
        return self._both if self._log else self._callback

    def _both(self, stage: str, done: int, total: int) -> None:
        if self._log:
            self._log.see(stage)
        if self._callback:
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
