"""Schema fuzzing by schemathesis: requests made out of a description, right ones and wrong ones.

Twice: out of our own `/openapi.json`, whose answers must have its schema, and out of Qdrant's description, cut to
the operations that are there. No answer may be of our own fault (5xx), and none may take the server down.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import judge
import openapi

PORT = 6335
BASE = f"http://127.0.0.1:{PORT}"
PACKAGES = ["schemathesis>=4.3,<5"]
# What schemathesis sends to a description of two collections that are there.
CONFIG = """
[parameters]
"path.collection" = "c"
"path.collection_name" = "c"
"path.id" = 1
"""
# Other programs: they are described to them, and not there.
OWN_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, help="a checkout of qdrant instead of a clone")
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--examples", type=int, default=200, help="requests of an operation, about")
    parser.add_argument("--only", choices=["own", "qdrant"], help="one of the descriptions alone")
    chosen = parser.parse_args()
    source = chosen.source or judge.clone(openapi.SOURCE, openapi.TAG)
    python = judge.environment("fuzz", PACKAGES)
    outcomes = {}
    with tempfile.TemporaryDirectory() as work, judge.server(chosen.server, PORT):
        work = pathlib.Path(work)
        (work / "schemathesis.toml").write_text(CONFIG)
        fill()
        own = json.loads(get("/openapi.json"))
        described = json.loads((source / "docs/redoc/master/openapi.json").read_text())
        descriptions = {
            "own": (own, OWN_CHECKS, "examples,coverage,fuzzing"),
            # Filters within filters: covering them does not end.
            "qdrant": (cut(described, own), "not_a_server_error", "examples,fuzzing"),
        }
        for name, (description, checks, phases) in descriptions.items():
            if chosen.only in (None, name):
                path = work / f"{name}.json"
                path.write_text(json.dumps(description))
                outcomes[name] = run(python, work, path, (checks, phases), chosen.examples)
                fill()
        # It is still there, and whole.
        get("/readyz")
        assert call("POST", "/collections/c/points/count", {})["count"] > 0
    print(f"fuzz: {outcomes}")
    return 1 if any(outcomes.values()) else 0


def fill():
    """The collection that is asked; made again where it was deleted."""
    call("DELETE", "/collections/c")
    call("PUT", "/collections/c", {"vectors": {"size": 4, "distance": "Cosine"}, "sparse_vectors": {"s": {}}})
    points = [{"id": at, "vector": [at + 1, 1, 2, 3], "payload": {"n": at, "a": "x"}} for at in range(50)]
    call("PUT", "/collections/c/points?wait=true", {"points": points})


def cut(description, own):
    """A description, without the paths and methods that are not there."""
    there = {(method, anonymous(path)) for path, methods in own["paths"].items() for method in methods}
    paths = {
        path: {method: operation for method, operation in methods.items() if (method, anonymous(path)) in there}
        for path, methods in description["paths"].items()
    }
    return {**description, "paths": {path: methods for path, methods in paths.items() if methods}, "security": [], "servers": []}


def anonymous(path):
    """A path without the names of what stands in it."""
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def run(python, work, description, checked, examples):
    """What schemathesis ends with."""
    checks, phases = checked
    command = [python, "-m", "schemathesis.cli", "run", description, "--url", BASE, "--checks", checks]
    more = ["--max-examples", str(examples), "--workers", "2", "--phases", phases, "--seed", "1", "--continue-on-failure", "--suppress-health-check", "all"]
    return subprocess.run([*command, *more], cwd=work, check=False).returncode


def get(path):
    with urllib.request.urlopen(BASE + path, timeout=60) as answer:
        return answer.read()


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(BASE + path, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)["result"]


if __name__ == "__main__":
    sys.exit(main())
