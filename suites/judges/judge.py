"""What judges share: their source, their environment, the server, and the verdict."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import xml.etree.ElementTree as tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "judges"
STARTUP_SECONDS = 30


def clone(url, tag):
    """The source at a tag, cloned once."""
    place = WORK / f"{url.rsplit('/', 1)[1]}-{tag}"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"--branch={tag}", url, place], check=True)
    return place


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


def pytest(python, source, arguments, variables):
    """The outcome of each test: `passed`, `failed` or `skipped`."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [python, "-m", "pytest", "-q", "--tb=short", f"--junitxml={report.name}", *arguments]
        subprocess.run(command, cwd=source, env={**os.environ, **variables}, check=False)
        cases = tree.parse(report.name).getroot().iter("testcase")
        return {f"{case.get('classname')}::{case.get('name')}": outcome(case) for case in cases}


def outcome(case):
    """What became of a test."""
    if case.find("skipped") is not None:
        return "skipped"
    return "failed" if case.find("failure") is not None or case.find("error") is not None else "passed"


def out_of_scope(path):
    """Tests that are not to pass, each with its reason."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    pairs = [line.partition(" # ") for line in lines]
    without = [name for name, _, reason in pairs if not reason.strip()]
    if without:
        sys.exit(f"{path.name}: without a reason: {', '.join(without)}")
    return {name.strip(): reason.strip() for name, _, reason in pairs}


def verdict(suite, results, path, whole):
    """Tells what came out, and whether it is what was to come.

    A line that ends with `*` stands for all tests that begin so, of which some may pass.
    """
    known = out_of_scope(path)
    starts = tuple(name[:-1] for name in known if name.endswith("*"))
    exact = {name for name in known if not name.endswith("*")}
    is_known = lambda name: name in exact or (starts and name.startswith(starts))
    wrong = sorted(name for name, own in results.items() if own == "failed" and not is_known(name))
    better = sorted(name for name in exact if results.get(name) == "passed")
    for start in starts:
        own = [became for name, became in results.items() if name.startswith(start)]
        if own and all(became == "passed" for became in own):
            better.append(f"{start}*")
    gone = sorted(name for name in exact if whole and name not in results)
    count = {own: list(results.values()).count(own) for own in ("passed", "failed", "skipped")}
    for words, names in (("fails", wrong), ("passes and is out of scope", better), ("is not there", gone)):
        for name in names:
            print(f"{name} {words}")
    print(
        f"{suite}: {count['passed']} passed, {count['failed'] - len(wrong)} out of scope, "
        f"{count['skipped']} skipped, {len(wrong)} failed"
    )
    functions = {}
    for name, became in results.items():
        functions.setdefault(name.partition("[")[0], []).append(became)
    whole_passed = sum(all(own == "passed" for own in became) for became in functions.values())
    print(f"{suite}: {whole_passed} of {len(functions)} functions passed with all their parameters")
    return 1 if wrong or better or gone or not results else 0
