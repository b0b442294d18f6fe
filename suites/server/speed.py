"""A server against the engine alone: the same index, the same memory, the same queries.

Loads a set over HTTP in batches of 100 points with `wait=true` until all is indexed and green, asks it with some
clients at a time over loopback, then asks the same index with `pageway search`, and tells both: queries per second,
waits, recall, and processor time. The clients are one thread that waits for many connections, so they take little
of the machine; what they take is told. Times count on a machine where nothing else runs.
"""

import argparse
import array
import json
import pathlib
import random
import re
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time

import harness

BATCH = 100


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--pageway", type=pathlib.Path, default=harness.judge.ROOT / "target/release/pageway")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="directory with NAME.base.fbin, .gt.ibin, and queries")
    parser.add_argument("--set", default="text-wordnet-80k")
    parser.add_argument("--queries", default="text-wordnet.query.fbin")
    parser.add_argument("--rows", type=int, help="the first rows alone; no recall then")
    parser.add_argument("--memory", default="384MB", help="of the server; an index gets a part of it, which is told")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--threads", type=int, help="of searches of the server; its own choice where absent")
    parser.add_argument("--wait", type=float, default=900, help="seconds until all is indexed and green, at most")
    parser.add_argument("--seconds", type=float, default=10, help="of each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--keep", type=pathlib.Path, help="a directory for the data, loaded once")
    chosen = parser.parse_args()
    queries = read(chosen.data / chosen.queries)
    with tempfile.TemporaryDirectory() as own:
        data = chosen.keep or pathlib.Path(own) / "data"
        if not data.exists():
            load(chosen, data)
        truth = None if chosen.rows else neighbours(chosen.data / f"{chosen.set}.gt.ibin")
        turns = [compare(chosen, data, queries, truth) for _ in range(chosen.turns)]
        shares = sorted(own["share"] for own in turns if own["share"])
        print(json.dumps({"share_of_engine": shares}))
    return 0


def read(path, rows=None):
    """Rows of a file of vectors of 32-bit floats."""
    with open(path, "rb") as file:
        count, size = struct.unpack("<II", file.read(8))
        count = min(count, rows or count)
        numbers = array.array("f", file.read(4 * count * size))
    return [numbers[size * at : size * (at + 1)].tolist() for at in range(count)]


def neighbours(path):
    with open(path, "rb") as file:
        count, k = struct.unpack("<II", file.read(8))
        ids = array.array("i", file.read(4 * count * k))
    return [set(ids[k * at : k * at + 10]) for at in range(count)]


def load(chosen, data):
    vectors = read(chosen.data / f"{chosen.set}.base.fbin", chosen.rows)
    running = harness.Server(chosen.server, data, chosen.memory)
    config = {"vectors": {"size": len(vectors[0]), "distance": "Cosine"}}
    running.result("PUT", "/collections/c", config)
    bodies = [json.dumps({"points": [{"id": first + at, "vector": own} for at, own in enumerate(vectors[first : first + BATCH])]}).encode() for first in range(0, len(vectors), BATCH)]
    connection = harness.http.client.HTTPConnection(harness.HOST, running.port, timeout=120)
    began, waits = time.monotonic(), []
    for body in bodies:
        sent = time.monotonic()
        status, answer = harness.ask(connection, "PUT", "/collections/c/points?wait=true", body)
        assert status == 200, answer
        waits.append(time.monotonic() - sent)
    sent = time.monotonic() - began
    info = settled(running, len(vectors), chosen.wait)
    waits.sort()
    told = {"loaded": len(vectors), "seconds": round(sent, 1), "green_and_indexed_seconds": round(time.monotonic() - began, 1), "batch_p99_ms": round(1e3 * waits[len(waits) * 99 // 100], 1), "segments": info["segments_count"], "cpu_seconds": running.cpu_seconds(), "peak_mib": running.memory()[1] >> 20}
    running.stop()
    print(json.dumps(told), flush=True)


def settled(running, count, most):
    """Waits until everything is indexed and green."""
    ends = time.monotonic() + most
    while True:
        info = running.result("GET", "/collections/c")
        if info["status"] == "green" and info["indexed_vectors_count"] >= count:
            return info
        if time.monotonic() > ends:
            sys.exit(f"not indexed and green after {most} s: {info}")
        time.sleep(0.2)


def compare(chosen, data, queries, truth):
    """One turn of each."""
    more = ["--threads", str(chosen.threads)] if chosen.threads else []
    running = harness.Server(chosen.server, data, chosen.memory, *more)
    connection = harness.http.client.HTTPConnection(harness.HOST, running.port, timeout=60)
    found = []
    for query in queries:
        status, answer = harness.ask(connection, "POST", "/collections/c/points/query", body(chosen, query))
        found.append({own["id"] for own in answer["result"]["points"]})
    recall = truth and sum(len(own & real) for own, real in zip(found, truth)) / (10 * len(queries))
    index = running.result("GET", "/pageway/collections/c")["indexes"][0]
    updates = dict(map(tuple, index["memory"]["parts"])).get("updates", 0)
    memory = index["memory"]["budget_bytes"] - updates
    load = Load(running, [request(body(chosen, own)) for own in queries], chosen.clients)
    before = running.cpu_seconds(), time.process_time()
    waits = load.run(chosen.seconds)
    took = running.cpu_seconds() - before[0], time.process_time() - before[1]
    peak = running.memory()[1] >> 20
    running.stop()
    engine = search(chosen, data, memory)
    qps = len(waits) / chosen.seconds
    told = {
        "server_qps": round(qps), "server_p50_ms": at(waits, 50), "server_p99_ms": at(waits, 99), "recall": recall and round(recall, 4),
        "server_cpu_us": round(1e6 * took[0] / len(waits)), "clients_cpu_us": round(1e6 * took[1] / len(waits)), "memory_bytes": memory, "peak_mib": peak, **engine,
    }
    told["share"] = round(qps / engine["engine_qps"], 3) if engine.get("engine_qps") else None
    print(json.dumps(told), flush=True)
    return told


def body(chosen, query):
    return json.dumps({"query": query, "limit": 10, "params": {"pageway": {"recall": chosen.recall}}}).encode()


def request(payload):
    head = f"POST /collections/c/points/query HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
    return head.encode() + payload


class Load:
    """Clients that each ask, wait for the answer, and ask again, in one thread."""

    def __init__(self, running, requests, clients):
        self.requests, self.numbers, self.selector = requests, random.Random(1), selectors.DefaultSelector()
        for _ in range(clients):
            one = socket.create_connection((harness.HOST, running.port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(one, selectors.EVENT_READ, [b"", 0.0])

    def run(self, seconds):
        """What each answer took, sorted."""
        waits, ends = [], time.monotonic() + seconds
        for key in list(self.selector.get_map().values()):
            self.send(key)
        while time.monotonic() < ends:
            for key, _ in self.selector.select(1):
                key.data[0] += key.fileobj.recv(1 << 16)
                if is_whole(key.data[0]):
                    assert key.data[0].startswith(b"HTTP/1.1 200"), key.data[0][:300]
                    waits.append(time.monotonic() - key.data[1])
                    self.send(key)
        return sorted(waits)

    def send(self, key):
        key.data[:] = [b"", time.monotonic()]
        key.fileobj.sendall(self.numbers.choice(self.requests))


def is_whole(answer):
    head, found, rest = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head) if found else None
    return length is not None and len(rest) >= int(length[1])


def at(waits, part):
    return round(1e3 * waits[min(len(waits) - 1, len(waits) * part // 100)], 2)


def search(chosen, data, memory):
    """The same by the engine alone, with as many threads as there are cores."""
    if not chosen.pageway.exists():
        return {"engine": f"no {chosen.pageway}"}
    index = next((data / "collections").iterdir()) / "v0"
    command = [chosen.pageway, "search", index, "--queries", chosen.data / chosen.queries, "--memory", str(memory), "--threads", "0", "--recall", str(chosen.recall), "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        return {"engine": done.stderr[-300:]}
    told = json.loads(done.stdout)
    return {"engine_qps": round(find(told, "qps")), "engine_p99_ms": round(find(told, "p99") / 1e3, 2)}


def find(told, name):
    """A number by its name, wherever it stands."""
    for key, value in told.items():
        if key == name:
            return value
        if isinstance(value, dict) and (inner := find(value, name)) is not None:
            return inner
    return None


if __name__ == "__main__":
    sys.exit(main())
