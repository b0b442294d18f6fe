"""Snapshots as Qdrant's own library writes and reads them, imported and compared.

Shards are filled by qdrant-edge-py and packed as a node of a server packs a collection: segments as archives, or as
directories. Each is imported by `pageway-import-qdrant --snapshot`, whose own comparison must find every answer equal;
one import is killed on its way, and goes on.
"""

import argparse
import io
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid

import judge

PACKAGES = ["qdrant-edge-py==0.9.0"]
POINTS = 3000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, help="the program pageway-import-qdrant")
    parser.add_argument("--make", type=pathlib.Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.make:
        return make(chosen.make)
    built = [judge.ROOT / "target" / kind / "pageway-import-qdrant" for kind in ("release", "debug")]
    program = chosen.program or next((path for path in built if path.exists()), None)
    if not program:
        sys.exit("no pageway-import-qdrant: `cargo build --release -p pageway-import` makes one")
    python = judge.environment("snapshot", PACKAGES)
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        subprocess.run([python, __file__, "--make", place], check=True)
        run = [program, "--python", python, "--json", "--snapshot"]
        failed = [name for name, check in CHECKS.items() if not works(name, check, run, place)]
    return 1 if failed else 0


def works(name, check, run, place):
    archive, out = place / f"{name}.snapshot", place / f"{name}.index"
    if name == "killed":
        kill(run, archive, out)
    done = subprocess.run([*run, archive, "--out", out], capture_output=True, text=True, check=False)
    right = done.returncode == 0 and check(json.loads(done.stdout))
    right = right and not pathlib.Path(f"{out}.unpacked").exists()
    print(f"snapshot: {name} {'works' if right else 'fails'} {'' if right else done.stdout + done.stderr}", flush=True)
    return right


def kill(run, archive, out):
    """Kills an import once some points are in."""
    process = subprocess.Popen([*run, archive, "--out", out, "--batch", "20"], stdout=subprocess.DEVNULL)
    state = pathlib.Path(f"{out}.import")
    while process.poll() is None:
        if state.exists() and json.loads(state.read_text() or "{}").get("points", 0) >= 200:
            process.kill()
        time.sleep(0.01)
    process.wait()


def agrees(report, *indexes):
    found = [(own["vector"], own["rows"], own["metric"], own["comparison"]["agreement"]) for own in report["indexes"]]
    return found == [(*own, 1.0) for own in indexes]


CHECKS = {
    "regular": lambda report: agrees(report, ("", 2 * POINTS - 2, "cosine")) and report["counted"] == 2 * POINTS - 2,
    "streamed": lambda report: agrees(report, ("", 2 * POINTS - 2, "cosine")),
    "killed": lambda report: agrees(report, ("", 2 * POINTS - 2, "cosine")) and 0 < report["resumed"] < 2 * POINTS - 2,
    "shard": lambda report: agrees(report, ("", POINTS - 1, "cosine")),
    "named": lambda report: agrees(report, ("b", 2 * POINTS // 3, "inner_product"), ("t", POINTS - 1, "l2"))
    and report["left_out"] == ["'s' (sparse)"],
}


def make(place):
    """Writes the snapshots; in the environment of the library."""
    from qdrant_edge import Distance, EdgeConfig, EdgeSparseVectorParams, EdgeVectorParams, Point, SparseVector

    random.seed(1)

    def numbers(count):
        return [random.gauss(0, 1) for _ in range(count)]

    one = EdgeConfig(vectors={"": EdgeVectorParams(size=16, distance=Distance.Cosine)})
    plain = [
        fill(place / "first", one, [Point(at, numbers(16), {"n": at, "own": {"list": ["x", None, 1.5]}}) for at in range(1, POINTS + 1)]),
        fill(place / "second", one, [Point(str(uuid.UUID(int=at)), numbers(16), {}) for at in range(1, POINTS + 1)]),
    ]
    vectors = {"size": 16, "distance": "Cosine"}
    pack(place / "regular.snapshot", plain, {"vectors": vectors}, True)
    pack(place / "streamed.snapshot", plain, {"vectors": vectors}, False)
    shutil.copy(place / "regular.snapshot", place / "killed.snapshot")
    with tarfile.open(place / "shard.snapshot", "w") as tar:
        add_shard(tar, plain[0], pathlib.PurePath(), True)

    several = EdgeConfig(
        vectors={"t": EdgeVectorParams(size=16, distance=Distance.Euclid), "b": EdgeVectorParams(size=4, distance=Distance.Dot)},
        sparse_vectors={"s": EdgeSparseVectorParams()},
    )

    def point(at):
        own = {"t": numbers(16), "s": SparseVector(indices=[1, 5], values=[0.5, 2.0])}
        return Point(at, {**own, "b": numbers(4)} if at % 3 else own, {"n": at})

    named = fill(place / "third", several, [point(at) for at in range(3, POINTS + 3)])
    vectors = {"t": {"size": 16, "distance": "Euclid"}, "b": {"size": 4, "distance": "Dot"}}
    pack(place / "named.snapshot", [named], {"vectors": vectors, "sparse_vectors": {"s": {}}}, True)
    return 0


def fill(place, config, points):
    """A shard of points, of which the first was deleted."""
    from qdrant_edge import EdgeShard, UpdateOperation

    shard = EdgeShard.create(str(place), config)
    shard.update(UpdateOperation.upsert_points(points))
    shard.update(UpdateOperation.delete_points([points[0].id]))
    shard.flush()
    shard.close()
    return place


def pack(archive, shards, params, regular):
    """A snapshot of a collection, as `Collection::create_snapshot` of Qdrant 1.19 lays it out."""
    with tarfile.open(archive, "w") as tar:
        for number, shard in enumerate(shards):
            add_shard(tar, shard, pathlib.PurePath(str(number)), regular)
        add_text(tar, "version.info", "1.19.0")
        add_text(tar, "config.json", json.dumps({"params": params}))


def add_shard(tar, shard, into, regular):
    for segment in sorted((shard / "segments").iterdir()):
        if regular:
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w") as own:
                own.add(segment, arcname="snapshot/files")
            add_bytes(tar, into / "segments" / f"{segment.name}.tar", inner.getvalue())
        else:
            tar.add(segment, arcname=into / "segments" / segment.name / "files")
    tar.add(shard / "wal", arcname=into / "wal")
    add_text(tar, into / "replica_state.json", "{}")


def add_text(tar, name, text):
    add_bytes(tar, name, text.encode())


def add_bytes(tar, name, content):
    head = tarfile.TarInfo(str(name))
    head.size = len(content)
    tar.addfile(head, io.BytesIO(content))


if __name__ == "__main__":
    sys.exit(main())
