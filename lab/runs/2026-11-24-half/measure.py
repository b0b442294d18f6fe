"""Pages that a query reads for exact answers: the default against published designs, in one run.

    python measure.py PAGEWAY DATA OUT SET PRESETS SHARE [SHARE ...]

PAGEWAY is the command; DATA holds SET.base.*, the queries and SET.gt.ibin; indexes are built in OUT
and removed again. PRESETS are separated by commas; all share the graph of one build of `diskann`,
which stays. Every search goes to OUT/SET.jsonl with its command; a table is printed.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

TOLERANCES = {"pageway": ("0", "0.01")}
LISTS = (10, 20, 34, 44, 58, 76, 100, 140, 190, 260, 360, 500)
RECALLS = (0.95, 0.99)
SETS = {
    "text-wordnet-80k": ("fbin", "text-wordnet.query.fbin", "l2"),
    "photo-gist-24k": ("fbin", "photo-gist.query.fbin", "l2"),
    "photo-sift-1m": ("u8bin", "photo-sift.query.u8bin", "l2"),
}


class Runs:
    """Runs the command and keeps what it says."""

    def __init__(self, command, data, out, name):
        self.command, self.data, self.out, self.name = command, data, out, name
        extension, queries, self.metric = SETS[name]
        self.base, self.queries = data / f"{name}.base.{extension}", data / queries
        self.records = open(out / f"{name}.jsonl", "a", encoding="utf-8")

    def run(self, *arguments):
        """What the command prints as JSON; None and its last words where it refuses."""
        done = subprocess.run(
            [self.command, *map(str, arguments), "--json"], capture_output=True, text=True
        )
        if done.returncode:
            print(f"  {' '.join(map(str, arguments))}: {done.stderr.strip().splitlines()[-1:]}")
            return None
        return json.loads(done.stdout)

    def build(self, preset, memory, graph):
        """Builds an index; over the graph of another where there is one."""
        index = self.out / f"{self.name}.{preset}.{memory}"
        shared = ("--graph-from", graph) if graph else ()
        built = self.run(
            "build", "--data", self.base, "--metric", self.metric, "--preset", preset,
            "--memory", memory, "--degree", 32, "--build-list", 100, "--out", index, *shared,
        )  # fmt: skip
        return index if built else None

    def search(self, index, memory, tolerance):
        """Recall and pages by list size."""
        points = []
        for size in LISTS:
            arguments = (
                "search", index, "--queries", self.queries, "-k", 10, "--memory", memory,
                "--truth", self.data / f"{self.name}.gt.ibin", "--list-size", size,
                "--tolerance", tolerance, "--threads", 1,
            )  # fmt: skip
            found = self.run(*arguments)
            if found is None:
                break
            record = {"index": index.name, "command": " ".join(map(str, arguments)), **found}
            record["command"] = record["command"].replace(f"{self.data}/", "").replace(
                f"{self.out}/", ""
            )
            self.records.write(json.dumps(record) + "\n")
            points.append((found["recall"], found["pages_per_query"]))
            if found["recall"] > RECALLS[-1]:
                break
        return points


def pages_at(points, recall):
    """Pages at a recall, on the line between the two searches around it."""
    for (low, few), (high, many) in zip(points, points[1:]):
        if low < recall <= high:
            return few + (many - few) * (recall - low) / (high - low)
    return points[0][1] if points and points[0][0] >= recall else None


def main(command, data, out, name, presets, *shares):
    """Builds, searches and prints a row for each design and memory."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    runs = Runs(command, Path(data), out, name)
    graph = out / f"{name}.graph"
    for share in shares:
        for preset in presets.split(","):
            if not graph.exists():
                runs.build("diskann", "20%", None).rename(graph)
            index = runs.build(preset, share, graph)
            if index is None:
                continue
            for tolerance in TOLERANCES.get(preset, ("0",)):
                points = runs.search(index, share, tolerance)
                cells = [pages_at(points, recall) for recall in RECALLS]
                shown = [f"{cell:.2f}" if cell is not None else "-" for cell in cells]
                print(name, share, preset, tolerance, *shown, flush=True)
            shutil.rmtree(index)


if __name__ == "__main__":
    main(*sys.argv[1:])
