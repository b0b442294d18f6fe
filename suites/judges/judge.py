"""What judges share: their environment, and the server."""

import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "judges"
STARTUP_SECONDS = 30


def environment(name, packages):
    """The interpreter of an environment with these packages, made once."""
    place = WORK / f"venv-{name}"
    python = place / "bin" / "python"
    ready = place / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        ready.touch()
    return python


def program(given):
    """The server that was given, or the best that was built here."""
    if given:
        return given
    built = [ROOT / "target" / kind / "pageway-server" for kind in ("release", "debug")]
    found = next((path for path in built if path.exists()), shutil.which("pageway-server"))
    if not found:
        sys.exit("no pageway-server: `cargo build --release -p pageway-server` makes one")
    return found


@contextlib.contextmanager
def server(given, port):
    """A server over an empty directory, until the block ends."""
    with tempfile.TemporaryDirectory() as data:
        command = [program(given), "--data-dir", data, "--memory", "256MB", "--listen", f"127.0.0.1:{port}"]
        process = subprocess.Popen(command)
        try:
            wait_for(f"http://127.0.0.1:{port}/readyz", process)
            yield
        finally:
            process.terminate()
            process.wait(60)


def wait_for(url, process):
    """Waits until a server answers."""
    for _ in range(10 * STARTUP_SECONDS):
        if process.poll() is not None:
            sys.exit(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError), urllib.request.urlopen(url) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    sys.exit(f"{url} does not answer")
