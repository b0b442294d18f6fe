"""A line on stderr that says how far long work is, without any library."""

from __future__ import annotations

import sys
import time
from typing import Callable, Optional, TextIO, Union

#: Called with the stage, the units done and the units in all, about ten times a second.
ProgressCallback = Callable[[str, int, int], None]
ProgressWish = Union[bool, ProgressCallback]

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
    """The callback that a progress wish stands for; ends the line when the work is over."""

    def __init__(self, wish: ProgressWish) -> None:
        self._line = ProgressLine() if wish is True else None
        self._callback: Optional[ProgressCallback] = wish if callable(wish) else self._line

    def __enter__(self) -> Optional[ProgressCallback]:
        return self._callback

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()
