"""Processes that a worker of Ray starts: a step of a build, and a server that is kept running."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Mapping, Optional

import pageway
from pageway import errors

#: Seconds that a step waits for one of the same name, whose worker was lost, to end.
_PATIENCE = 60.0
#: Seconds between two starts of a server that ends.
_PAUSE = 0.25
_PR_SET_PDEATHSIG = 1


class LostProcessError(errors.PagewayError):
    """The process of a step was killed: by the system, for memory, or by somebody."""


def run_step(asked: Mapping[str, Any]) -> Dict[str, Any]:
    """Does a step in a process of its own, so that its memory is its own, and gives what it says."""
    line = json.dumps({**asked, "version": pageway.__version__})
    until = time.monotonic() + _PATIENCE
    while True:
        answer = _ask(line)
        if "report" in answer:
            return answer
        kind = getattr(errors, answer["error"], errors.InternalError)
        if not issubclass(kind, errors.BusyError) or time.monotonic() > until:
            raise kind(answer["text"])
        time.sleep(0.5)


def _ask(line: str) -> Dict[str, Any]:
    command = [sys.executable, "-m", "pageway._step"]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, env=_env()
        )
        assert process.stdin and process.stdout
        try:
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
            out = process.stdout.read()
        finally:
            # With this it ends, if it has not.
            process.stdin.close()
            status = process.wait()
        said.seek(0)
        text = said.read().decode(errors="replace").strip()[-2000:]
    if status == 0:
        answer: Dict[str, Any] = json.loads(out)
        return answer
    if status < 0:
        raise LostProcessError(f"a step ended by signal {-status}: {text}")
    raise errors.InternalError(f"a step ended with status {status}: {text}")


def _env() -> Dict[str, str]:
    """The environment of this process, with this package where it is."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(pageway.__file__)))
    path = [own, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class KeptProcess:
    """A program that is started again whenever it ends, until it is stopped.

    It ends with the process that keeps it, however that ends (on Linux).
    """

    def __init__(self, command: List[str], log: str) -> None:
        self._command, self._log = command, log
        self._lock = threading.Lock()
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._stopping = threading.Event()
        self.starts = 0
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    @property
    def pid(self) -> Optional[int]:
        """The process that runs now."""
        with self._lock:
            return None if self._process is None else self._process.pid

    def stop(self) -> None:
        """Ends it, in order where it takes less than ten seconds."""
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _keep(self) -> None:
        # The thread that starts a child is the one whose end the child hears of.
        while not self._stopping.is_set():
            with open(self._log, "ab") as log:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=_dies_with(os.getpid()),
                )
            with self._lock:
                self._process = process
                self.starts += 1
            if self._stopping.is_set():
                process.terminate()
            process.wait()
            self._stopping.wait(_PAUSE)


def _dies_with(parent: int) -> Any:
    """What a child does before its program: from then on it is killed when its parent ends."""
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None)

    def bind() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return bind
