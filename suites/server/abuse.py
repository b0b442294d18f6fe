"""Abuse of a server: while somebody does their worst, others are answered, and memory stays inside.

Each fault is a function; a line of JSON tells what came of it. Needs Linux; a full disk needs the right to
mount a small file system, a slow one needs strace: where they are not there, it is said that these were not run.
"""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import harness

MEMORY = 128 << 20
BESIDE = 64 << 20
SIZE = 32
# A file that goes where a full disk gets room again.
BALLAST = 32 << 20
POINTS = 4000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--only", nargs="*", help="some faults alone, by their names")
    parser.add_argument("--requests", type=int, default=100_000, help="malformed requests")
    parser.add_argument("--connections", type=int, default=10_000, help="half-open connections")
    chosen = parser.parse_args()
    files = harness.more_files()
    if files < chosen.connections + 100:
        chosen.connections = files - 100
        print(f"{files} files may be open: {chosen.connections} connections")
    faults = [stopped, half_open, slow_loris, large_bodies, bombs, malformed, slow_disk, full_disk]
    wrong = []
    for fault in faults:
        if not chosen.only or fault.__name__ in chosen.only:
            wrong += attempt(fault, chosen)
    for one in wrong:
        print(f"abuse: {one}")
    return 1 if wrong else 0


def attempt(fault, chosen):
    """Does one fault to a server of its own; what was wrong."""
    with disk(fault) as data:
        if data is None:
            print(json.dumps({"fault": fault.__name__, "not run": "no right to mount a file system"}))
            return []
        with harness.server(chosen.server, str(MEMORY), data=data) as running:
            fill(running)
            query = {"query": vector(7), "limit": 5, "with_payload": True}
            began = time.monotonic()
            with harness.Witness(running, "POST", "/collections/c/points/query", query) as others:
                told = fault(running, chosen) or {}
            if "not run" in told:
                print(json.dumps({"fault": fault.__name__, **told}))
                return []
            told |= others.told() | {"seconds": round(time.monotonic() - began, 1)}
            told["peak_mib"] = round(running.memory()[1] / (1 << 20), 1)
            told["rss_mib_after"] = round(running.memory()[0] / (1 << 20), 1)
            wrong = [f"{fault.__name__}: {one}" for one in judged(running, told, others)]
            code = running.stop()
            if code:
                wrong.append(f"{fault.__name__}: ended with {code}")
    print(json.dumps({"fault": fault.__name__, **told}), flush=True)
    return wrong


def judged(running, told, others):
    """What is wrong after a fault."""
    if told["peak_mib"] * (1 << 20) > MEMORY + BESIDE:
        yield f"{told['peak_mib']} MiB resident"
    if told.pop("others_may_fail", False) is False and others.wrong:
        yield f"others failed: {others.wrong[:3]}"
    least = told.get("points", POINTS)
    status, answer = running.ask("POST", "/collections/c/points/count", {})
    if status != 200 or answer["result"]["count"] < least:
        yield f"{least} points expected: {status} {answer}"
    if told.get("server_errors"):
        yield f"{told['server_errors']} answers of 5xx: {told.get('examples')}"


@contextlib.contextmanager
def disk(fault):
    """A directory for data: a small file system where the fault is a full one, none where that cannot be."""
    with tempfile.TemporaryDirectory() as own:
        if fault is not full_disk:
            yield f"{own}/data"
            return
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", own], capture_output=True)
        if mounted.returncode:
            yield None
            return
        try:
            (pathlib.Path(own) / "ballast").write_bytes(bytes(BALLAST))
            yield f"{own}/data"
        finally:
            subprocess.run(["umount", "-l", own], check=False)


def vector(seed):
    numbers = random.Random(seed)
    return [round(numbers.gauss(0, 1), 4) for _ in range(SIZE)]


def points(first, count, text="x"):
    return {"points": [{"id": at, "vector": vector(at), "payload": {"n": at, "text": text}} for at in range(first, first + count)]}


def long_points(first, count):
    """Points with texts that are stored as they are, since nothing in them repeats."""
    body = points(first, count)
    for own in body["points"]:
        own["payload"]["text"] = base64.b64encode(random.Random(own["id"]).randbytes(3000)).decode()
    return body


def fill(running):
    running.result("PUT", "/collections/c", {"vectors": {"size": SIZE, "distance": "Cosine"}})
    for first in range(0, POINTS, 500):
        running.result("PUT", "/collections/c/points?wait=true", points(first, 500))


def stopped(running, _):
    """The process is stopped for ten seconds."""
    os.kill(running.process.pid, signal.SIGSTOP)
    time.sleep(10)
    os.kill(running.process.pid, signal.SIGCONT)
    time.sleep(2)
    return {"stopped_seconds": 10}


def half_open(running, chosen):
    """Connections that send half of a head and stay."""
    sockets, refused = [], 0
    for _ in range(chosen.connections):
        try:
            one = socket.create_connection((harness.HOST, running.port), timeout=5)
            one.sendall(b"POST /collections/c/points/que")
            sockets.append(one)
        except OSError:
            refused += 1
    time.sleep(8)
    closed = sum(is_closed(one) for one in sockets)
    for one in sockets:
        one.close()
    # Beyond the connections that there may be, others are turned away until those are closed.
    return {"opened": len(sockets), "refused": refused, "closed_after_8_s": closed, "others_may_fail": True}


def is_closed(one):
    """Whether the other side has ended a connection, behind what it may have answered."""
    one.setblocking(False)
    try:
        while one.recv(4096):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def slow_loris(running, _):
    """Heads and bodies of which a byte comes each second."""
    head = b"POST /collections/c/points/query HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n" + b" " * 60
    starts = [(0, socket.create_connection((harness.HOST, running.port))) for _ in range(250)]
    starts += [(len(head) - 60, socket.create_connection((harness.HOST, running.port))) for _ in range(250)]
    for begun, one in starts:
        one.sendall(head[:begun])
    gone = 0
    for at in range(40):
        for begun, one in starts:
            with contextlib.suppress(OSError):
                one.send(head[begun + at : begun + at + 1])
        time.sleep(1)
    for _, one in starts:
        gone += is_closed(one)
        one.close()
    return {"connections": len(starts), "closed_after_40_s": gone}


def large_bodies(running, _):
    """Bodies of 100 MB, told before or in chunks, sixteen at a time."""
    statuses = []

    def send(is_chunked):
        length = 100 << 20
        with socket.create_connection((harness.HOST, running.port), timeout=60) as one:
            how = "transfer-encoding: chunked" if is_chunked else f"content-length: {length}"
            one.sendall(f"PUT /collections/c/points HTTP/1.1\r\nhost: a\r\n{how}\r\n\r\n".encode())
            part = b'{"points": [' + b" " * 65524
            try:
                for _ in range(length // len(part)):
                    one.sendall(b"10000\r\n" + part + b"\r\n" if is_chunked else part)
            except OSError:
                pass
            try:
                statuses.append(int(one.recv(4096).split(b" ")[1]))
            except (OSError, IndexError):
                statuses.append(0)

    threads = [threading.Thread(target=send, args=(at % 2 == 1,)) for at in range(16)]
    together(threads)
    counts = {str(own): statuses.count(own) for own in sorted(set(statuses))}
    return {"statuses": counts, "server_errors": sum(own >= 500 for own in statuses)}


def together(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bombs(running, _):
    """JSON that is small to send and large to take in."""
    million = 1 << 20
    nested = lambda opening, closing, count: opening * count + "1" + closing * count
    filters = {"must": [{"key": f"k{at}", "match": {"value": at}} for at in range(20_000)]}
    deep = {"key": "a", "match": {"value": 1}}
    for _ in range(14):
        deep = {"must": [deep], "should": [deep]}
    bodies = [
        nested("[", "]", 8 * million),
        nested('{"a":', "}", 2 * million),
        '{"points": [' + "{}," * (4 * million) + "{}]}",
        '{"points": ' + nested("[", "]", 100) + "}",
        '{"query": [' + "1e9," * (4 * million) + "1]}",
        '{"query": "' + "\\u0041" * (2 * million) + '"}',
        '{"filter": ' + json.dumps(filters) + ', "query": [1]}',
        '{"filter": {"should": [' + "{}," * (2 * million) + "{}]}}",
        '{"ids": [' + "1," * (6 * million) + "1]}",
        '{"points": [{"id": 1, "vector": [' + "0," * (8 * million) + "0]}]}",
        '{"points": [{"id": 1, "vector": {' + ",".join(f'"v{at}": [1]' for at in range(million)) + "}}]}",
        '{"points": [{"id": 1, "vector": [1], "payload": {' + ",".join(f'"k{at}": {at}' for at in range(million)) + "}}]}",
        '{"searches": [' + '{"query": [1], "limit": 10000},' * (million // 4) + '{"query": [1]}]}',
        '{"prefetch": ' * 120 + "{}" + "}" * 120,
        '{"query": ' + "9" * (4 * million) + "}",
        '{"filter": ' + json.dumps(deep) + "}",
    ]
    paths = ["points/query", "points/query/batch", "points/scroll", "points/count", "points", "points/delete", "points/batch"]
    asked = [(path, body) for body in map(str.encode, bodies) for path in paths]
    random.Random(3).shuffle(asked)
    return storm(running, [("PUT" if at % 3 == 0 and path == "points" else "POST", path, body) for at, (path, body) in enumerate(asked)])


def storm(running, asked):
    """Asks all, eight at a time; counts the answers."""
    statuses, examples, lock, left = [], [], threading.Lock(), list(asked)

    def work():
        while True:
            with lock:
                if not left:
                    return
                method, path, body = left.pop()
            try:
                status, answer = running.ask(method, f"/collections/c/{path}", body)
            except OSError as error:
                status, answer = 0, repr(error)
            with lock:
                statuses.append(status)
                if status >= 500 or status == 0:
                    examples.append((status, path, body[:60].decode(errors="replace"), str(answer)[:120]))

    together([threading.Thread(target=work) for _ in range(8)])
    counts = {str(own): statuses.count(own) for own in sorted(set(statuses))}
    errors = sum(own >= 500 and own != 503 for own in statuses)
    return {"requests": len(asked), "statuses": counts, "server_errors": errors, "examples": examples[:3]}


def malformed(running, chosen):
    """Requests that were right before bytes of them were changed, cut, doubled or moved."""
    bodies = [
        ("POST", "points/query", {"query": vector(1), "limit": 3, "filter": {"must": [{"key": "n", "range": {"gt": 5}}]}}),
        ("POST", "points/query", {"prefetch": [{"query": vector(1)}], "query": {"rrf": {"k": 3}}}),
        ("POST", "points/query/batch", {"searches": [{"query": 5}]}),
        ("POST", "points/query/groups", {"query": vector(2), "group_by": "n"}),
        ("POST", "points/scroll", {"limit": 5, "order_by": "n", "filter": {"has_id": [1, 2]}}),
        ("POST", "points/count", {"filter": {"should": [{"key": "n", "match": {"any": [1, 2]}}]}}),
        ("POST", "points/payload", {"payload": {"n": 1}, "points": [1]}),
        ("PUT", "points", points(10_000, 1)),
        ("POST", "points", {"ids": [1, 2], "with_vector": True}),
        ("POST", "facet", {"key": "n"}),
        ("PUT", "index", {"field_name": "n", "field_schema": "integer"}),
        ("GET", "points/5", {}),
    ]
    whole = [request(method, path, json.dumps(body).encode()) for method, path, body in bodies]
    counts, examples, lock = {}, [], threading.Lock()

    def work(seed, count):
        numbers, own = random.Random(seed), {}
        for _ in range(count):
            sent = mutated(numbers, whole)
            status = raw(running, *sent)
            own[status] = own.get(status, 0) + 1
            if status >= 500:
                with lock:
                    examples.append((status, sent[0][:300].decode(errors="replace")))
        with lock:
            for status, number in own.items():
                counts[status] = counts.get(status, 0) + number

    each = chosen.requests // 8
    together([threading.Thread(target=work, args=(seed, each)) for seed in range(8)])
    errors = sum(number for status, number in counts.items() if status >= 500)
    told = {str(status): counts[status] for status in sorted(counts)}
    return {"requests": 8 * each, "statuses": told, "server_errors": errors, "examples": examples[:3], "points": POINTS - 100}


def request(method, path, body):
    head = f"{method} /collections/c/{path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode(), body


def mutated(numbers, whole):
    head, body = numbers.choice(whole)
    if numbers.random() < 0.7:
        body = damaged(numbers, body)
        head = request(head.split(b" ")[0].decode(), head.split(b" ")[1].decode().removeprefix("/collections/c/"), body)[0]
        return head + body, False
    return damaged(numbers, head + body), True


def damaged(numbers, text):
    text = bytearray(text)
    for _ in range(numbers.randint(1, 4)):
        at = numbers.randrange(len(text) + 1)
        kind = numbers.randrange(6)
        if kind == 0 and at < len(text):
            text[at] = numbers.randrange(256)
        elif kind == 1:
            del text[at : at + numbers.randint(1, 20)]
        elif kind == 2:
            text[at:at] = text[at : at + numbers.randint(1, 40)]
        elif kind == 3:
            text[at:at] = numbers.choice([b"-1", b"1e999", b"null", b"{}", b"[]", b'"', b"18446744073709551616", b"\xff", b"\x00", b"true", b"NaN"])
        elif kind == 4:
            del text[at:]
        else:
            other = numbers.randrange(len(text) + 1)
            text[at:at] = text[min(at, other) : max(at, other)][:60]
        if not text:
            text = bytearray(b"x")
    return bytes(text)


def raw(running, sent, ends):
    """The status of what is answered; 0 where the connection was closed without a word, as one is that ends
    where more is expected."""
    try:
        with socket.create_connection((harness.HOST, running.port), timeout=20) as one:
            one.sendall(sent)
            if ends:
                one.shutdown(socket.SHUT_WR)
            answer = one.recv(64)
            return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.") else 0
    except (OSError, IndexError, ValueError):
        return 0


def slow_disk(running, _):
    """Every sync takes a fifth of a second longer, every read fifty milliseconds."""
    if not shutil.which("strace"):
        return {"not run": "no strace"}
    delays = ["-e", "inject=fdatasync,fsync:delay_enter=200ms", "-e", "inject=pread64,preadv:delay_enter=50ms"]
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync,pread64,preadv", *delays, "-p", str(running.process.pid)])
    time.sleep(1)
    began, done = time.monotonic(), POINTS
    for first in range(POINTS, POINTS + 400, 20):
        running.result("PUT", "/collections/c/points?wait=true", points(first, 20))
        done += 20
    took = time.monotonic() - began
    tracer.send_signal(signal.SIGINT)
    tracer.wait()
    return {"points": done, "write_ms": round(1e3 * took / 20, 1)}


def full_disk(running, _):
    """The disk fills up while points are written; it is read meanwhile; room comes, and it takes points again."""
    (room, statuses, done, example) = (pathlib.Path(running.data).parent / "ballast", {}, POINTS, None)
    while sum(own for status, own in statuses.items() if status != 200) < 3 and statuses.get(200, 0) < 800:
        status, answer = running.ask("PUT", "/collections/c/points?wait=true", long_points(done, 50))
        # One that waits for room beyond a minute is told so, and may yet be refused.
        if status == 200 and answer["result"]["status"] != "completed":
            status = answer["result"]["status"]
        statuses[status] = statuses.get(status, 0) + 1
        if status == 200:
            done += 50
        else:
            example = example or str(answer)[:200]
    count = running.result("POST", "/collections/c/points/count", {})["count"]
    assert count >= done, (count, done)
    room.unlink()
    again, tries = 0, 0
    while again != 200 and tries < 100:
        again, answer = running.ask("PUT", "/collections/c/points?wait=true", points(done, 50))
        tries += 1
        time.sleep(0.1)
    told = {str(status): number for status, number in statuses.items()}
    only = set(statuses) <= {200, 507, "wait_timeout"}
    is_full = bool(set(statuses) - {200})
    wrong = 0 if only and is_full and again == 200 else 1
    return {"statuses": told, "first": example, "again": again, "tries": tries, "points": done + 50 * (again == 200), "server_errors": wrong, "examples": [str(answer)[:200]]}


if __name__ == "__main__":
    sys.exit(main())
