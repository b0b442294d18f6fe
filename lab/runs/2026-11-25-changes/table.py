"""The table of changing indexes: ours beside other libraries, on one runbook, each in a process.

    python table.py OUT --data BASE --queries Q --metric l2 --memory BYTES [--rows N]
        [--generations N] [--effort E] [--python LIBRARY=PROGRAM ...]

Half of N rows live, and one in fifty of those goes in each generation, as another comes (see
``../2026-11-24-generations/generations.py``). PROGRAM is the Python that has a library: by default
that of this script. ``OUT/LIBRARY.jsonl`` holds every step; the table goes to standard output.
Searches and rates mean something on a quiet machine alone.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
STREAM = HERE.parents[2] / "crates" / "lab" / "comparators" / "stream.py"
GENERATIONS = HERE.parent / "2026-11-24-generations" / "generations.py"
LIBRARIES = ("pageway", "hnswlib", "usearch", "diskannpy", "lancedb")
COLUMNS = (
    ("rows in a second", lambda own: f"{own['inserts_per_second']:,.0f}"),
    ("p50, p99 beside / quiet", lambda own: ratios(own)),
    ("recall@10 mean, last", lambda own: recalls(own["recall"])),
    ("bytes written / byte", lambda own: number(own["bytes_written_per_byte"])),
    ("disk / living byte", lambda own: number(own["most_disk_per_living_byte"])),
    ("peak memory, MB", lambda own: f"{own['peak_memory_bytes'] / 1e6:.0f}"),
    ("cannot", lambda own: "; ".join(own["cannot"]) or "-"),
)


def number(value) -> str:
    return f"{value:.1f}" if value else "-"


def recalls(own) -> str:
    return f"{own['mean']:.3f}, {own['last']:.3f}"


def ratios(own) -> str:
    beside = [own.get(f"{name}_beside_over_quiet") for name in ("p50", "p99")]
    return "-" if None in beside else ", ".join(f"{one:.2f}" for one in beside)


def run(library: str, python: str, runbook: Path, arguments) -> dict:
    directory = arguments.out / f"{library}.d"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    command = [python, str(STREAM), library, "--runbook", str(runbook), "--data", arguments.data]
    command += ["--queries", arguments.queries, "--metric", arguments.metric, "--beside"]
    command += ["--effort", str(arguments.effort), "--directory", str(directory)]
    command += ["--memory", str(arguments.memory), "--most-queries", "500"]
    command += ["--threads", str(os.cpu_count() or 1)]
    records = arguments.out / f"{library}.jsonl"
    with records.open("w") as out:
        subprocess.run(command, stdout=out, check=False)
    shutil.rmtree(directory, ignore_errors=True)
    lines = records.read_text().splitlines()
    return json.loads(lines[-1]) if lines else {"error": "said nothing"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    for name in ("--data", "--queries", "--metric"):
        parser.add_argument(name, required=True)
    for name, value in (("--rows", 200_000), ("--generations", 100), ("--effort", 60)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--python", action="append", default=[])
    arguments = parser.parse_args()
    pythons = dict(one.split("=", 1) for one in arguments.python)
    arguments.out.mkdir(parents=True, exist_ok=True)
    runbook = arguments.out / "runbook.yaml"
    sizes = [str(arguments.rows), str(arguments.generations)]
    made = subprocess.run(
        [sys.executable, str(GENERATIONS), *sizes], stdout=subprocess.PIPE, check=True
    )
    runbook.write_bytes(made.stdout)
    print("| library |", " | ".join(name for name, _ in COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    for library in arguments.libraries:
        own = run(library, pythons.get(library, sys.executable), runbook, arguments)
        failed = own.get("error") or own.get("reason")
        cells = [failed] if failed else [cell(own) for _, cell in COLUMNS]
        print("|", library, own.get("version", ""), "|", " | ".join(cells), "|", flush=True)


main()
