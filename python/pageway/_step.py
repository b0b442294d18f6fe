"""One step of a build as a process of its own: ``python -m pageway._step``.

Its request is one line of JSON on stdin, its answer one on stdout. It ends when stdin does: whoever
asked is gone then, and a step goes on from what was finished.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, Dict

from . import __version__
from .errors import PagewayError
from .steps import build_step


def main() -> None:
    """Does the step that is asked for."""
    asked = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    print(json.dumps(_answer(asked)), flush=True)


def _answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    if asked.pop("version") != __version__:
        text = f"this machine has pageway {__version__}, the driver another: install the same"
        return {"error": "IncompatibleError", "text": text}
    try:
        report = build_step(**asked)
    except PagewayError as error:
        return {"error": type(error).__name__, "text": str(error)}
    return {"report": report, "peak_bytes": _peak_bytes()}


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def _peak_bytes() -> int:
    """Most memory that this process has held."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except OSError:
        import resource

        # Bytes on macOS, the one system without /proc that is supported.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
