"""Answers requests for the collection of a snapshot, a line of JSON each, as a server would.

Arguments: the archive, and a directory to unpack it in, which goes away at the end. A failure is a
line, too: `{"error": "..."}`. Needs the package qdrant-edge-py.
"""

import json
import os
import shutil
import sys
import tarfile
from pathlib import Path


def unpack(archive, place):
    """Directories of the shards in an archive of a collection, or of one shard."""
    with tarfile.open(archive, "r:") as tar:
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(place, **safe)
    numbered = [one for one in place.iterdir() if one.name.isdecimal()]
    shards = [place, *sorted(numbered, key=lambda one: int(one.name))]
    shards = [one for one in shards if (one / "segments").is_dir()]
    if not shards:
        raise ValueError("no shard with segments is in it")
    return shards


def load(shard):
    """Opens a shard; unpacking an empty archive over it unpacks its segments."""
    empty = shard / "empty.tar"
    tarfile.open(empty, "w").close()
    qdrant_edge.EdgeShard.unpack_snapshot(str(empty), str(shard))
    empty.unlink()
    return qdrant_edge.EdgeShard.load(str(shard))


def parameters(place, shards):
    """What vectors a collection has: as its settings say, else as a segment does."""
    config = place / "config.json"
    if config.is_file():
        return json.loads(config.read_text())["params"]
    for segment in shards[0].glob("segments/*/segment.json"):
        own = json.loads(segment.read_text())["config"]
        vectors, sparse = own["vector_data"], own.get("sparse_vector_data")
        return {"vectors": vectors.get("", vectors), "sparse_vectors": sparse}
    raise ValueError("neither settings nor segments are in it")


def plain(vector):
    """Vectors as JSON has them."""
    if isinstance(vector, dict):
        return {name: plain(one) for name, one in vector.items()}
    if hasattr(vector, "indices"):
        return {"indices": vector.indices, "values": vector.values}
    return vector


def key(own):
    """An id as JSON has it."""
    return own if isinstance(own, int) else str(own)


class Collection:
    """Shards that are asked as one."""

    def __init__(self, archive, place):
        dirs = unpack(archive, place)
        self.shards = [load(one) for one in dirs]
        self.parameters = parameters(place, dirs)

    def describe(self, _):
        return {"config": {"params": self.parameters}}

    def count(self, _):
        request = qdrant_edge.CountRequest(exact=True)
        return {"count": sum(one.count(request) for one in self.shards)}

    def scroll(self, body):
        """A page of one shard; the offset names the shard and the point in it."""
        number, first = body.get("offset") or (0, None)
        request = qdrant_edge.ScrollRequest(
            offset=first,
            limit=body["limit"],
            with_payload=True,
            with_vector=body["with_vector"],
        )
        found, after = self.shards[number].scroll(request)
        offset = (number + 1, None) if after is None else (number, key(after))
        return {
            "points": [
                {"id": key(one.id), "payload": one.payload, "vector": plain(one.vector)}
                for one in found
            ],
            "next_page_offset": offset if offset[0] < len(self.shards) else None,
        }

    def query(self, body):
        """Scores of the nearest, exactly."""
        vectors = self.parameters["vectors"]
        own = vectors if "distance" in vectors else vectors[body["using"]]
        request = qdrant_edge.QueryRequest(
            limit=body["limit"],
            query=qdrant_edge.Query.Nearest(body["query"], body.get("using")),
            params=qdrant_edge.SearchParams(exact=True),
        )
        scores = [one.score for shard in self.shards for one in shard.query(request)]
        scores.sort(reverse=own["distance"] in ("Cosine", "Dot"))
        return {"points": [{"score": score} for score in scores[: body["limit"]]]}


def answer(archive, place):
    """Answers line after line."""
    collection = Collection(archive, place)
    operations = {
        "": collection.describe,
        "/points/count": collection.count,
        "/points/scroll": collection.scroll,
        "/points/query": collection.query,
    }
    for line in sys.stdin:
        request = json.loads(line)
        result = operations[request["path"]](request["body"] or {})
        print(json.dumps({"result": result}), flush=True)


def main(archive, place):
    """Answers, and clears up."""
    shutil.rmtree(place, ignore_errors=True)
    try:
        answer(archive, Path(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    try:
        import qdrant_edge

        main(*sys.argv[1:])
    except (KeyboardInterrupt, BrokenPipeError):
        # Nobody reads what is still to be written.
        os._exit(1)
    except ImportError as error:
        print(json.dumps({"error": f"{error}: pip install qdrant-edge-py"}))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
