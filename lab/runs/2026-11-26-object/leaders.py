"""Leaders of two partitions on three nodes, over a bucket: points are put through the router while
leaders are killed, every second one with the loss of its disk; then every acknowledged point is
looked for.

    python3 leaders.py PAGEWAY s3://BUCKET/PREFIX WORK

Keys and endpoint come from the environment (AWS_*). PREFIX has to be new.
"""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAM, STORE, WORK = sys.argv[1], sys.argv[2], Path(sys.argv[3])
NAMES, FIRST_PORT, ROUTER_PORT = "abc", 7300, 7400
KILLS, BETWEEN, LASTS = 4, 14, 75
SHARD = "[[collections.notes.shards]]\ncollection = 'notes-{}'\nnodes = ['a', 'b', 'c']\n"


def main():
    WORK.mkdir(parents=True)
    nodes = {name: serve(name) for name in NAMES}
    router = started("router", "route", "--map", write_map(), "--listen", address(ROUTER_PORT))
    try:
        create()
        tried, acknowledged, kills = put_points(nodes)
        time.sleep(6)
        found = all_points()
    finally:
        for process in [*nodes.values(), router]:
            process.terminate()
    print(
        json.dumps(
            {
                "tried": tried,
                "acknowledged": len(acknowledged),
                "kills": kills,
                "found": len(found),
                "twice": len(found) - len(set(found)),
                "lost": len(acknowledged - set(found)),
            }
        )
    )


def address(port):
    return f"127.0.0.1:{port}"


def started(name, *words):
    log = open(WORK / f"{name}.log", "a")
    return subprocess.Popen([PROGRAM, *map(str, words)], stdout=log, stderr=subprocess.STDOUT)


def serve(name):
    port = FIRST_PORT + NAMES.index(name)
    words = ["serve", "--node", name, "--data-dir", WORK / name, "--listen", address(port)]
    words += ["--store", STORE, "--partition", "notes-0", "--partition", "notes-1"]
    return started(name, *words, "--lease", 2, "--snapshot-each", 40, "--snapshot-grace", 1)


def write_map():
    nodes = [f"{name} = 'http://{address(FIRST_PORT + at)}'" for at, name in enumerate(NAMES)]
    shards = [SHARD.format(number) for number in range(2)]
    lines = ["version = 1", "[nodes]", *nodes, "[collections.notes]", "cut = 'id'", *shards]
    path = WORK / "map.toml"
    path.write_text("\n".join(lines))
    return path


def ask(method, path, body=None, port=ROUTER_PORT):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address(port)}{path}", data, method=method)
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def create():
    settings = {"vectors": {"size": 4, "distance": "Cosine"}}
    for _ in range(60):
        if ask("PUT", "/collections/notes", settings)[0] == 200:
            return
        time.sleep(0.5)
    sys.exit("no collection")


def put_points(nodes):
    random.seed(1)
    acknowledged, tried, kills = set(), 0, 0
    ends, next_kill = time.time() + LASTS, time.time() + BETWEEN
    while time.time() < ends:
        tried += 1
        point = {"id": tried, "vector": [random.random() + 0.1 for _ in range(4)]}
        status, _ = ask("PUT", "/collections/notes/points?wait=true", {"points": [point]})
        if status == 200:
            acknowledged.add(tried)
        else:
            time.sleep(0.2)
        if time.time() > next_kill and kills < KILLS:
            kills += kill_a_leader(nodes, kills % 2 == 1)
            next_kill = time.time() + BETWEEN
    return tried, acknowledged, kills


def kill_a_leader(nodes, with_its_disk):
    for at, name in enumerate(NAMES):
        status, answer = ask("GET", "/pageway/node", port=FIRST_PORT + at)
        if status == 200 and any(own["leads"] for own in answer["result"]["partitions"]):
            nodes[name].send_signal(signal.SIGKILL)
            nodes[name].wait()
            if with_its_disk:
                shutil.rmtree(WORK / name)
            time.sleep(1)
            nodes[name] = serve(name)
            return 1
    return 0


def all_points():
    found, offset = [], None
    while True:
        wanted = {"limit": 500, "with_payload": False}
        if offset is not None:
            wanted["offset"] = offset
        status, answer = ask("POST", "/collections/notes/points/scroll", wanted)
        if status != 200:
            sys.exit(f"scroll: {status} {answer}")
        found += [point["id"] for point in answer["result"]["points"]]
        offset = answer["result"]["next_page_offset"]
        if offset is None:
            return found


if __name__ == "__main__":
    main()
