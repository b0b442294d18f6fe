"""Kills of a server under load: what was acknowledged is there afterwards, whole, and nothing else is.

Writers upsert, delete and change payloads of a collection of one vector and of one of two; the process is
killed at a random moment, started again, and every point is compared with what was acknowledged, or with
what was under way. Writers count each change of a point, so a point tells which change it is of.
"""

import argparse
import http.client
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

import harness

IDS = 300
WRITERS = 4
COLLECTIONS = {
    "one": {"vectors": {"size": 8, "distance": "Euclid"}},
    "two": {"vectors": {"a": {"size": 4, "distance": "Dot"}, "b": {"size": 3, "distance": "Euclid"}}},
}
GONE = None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1e9, help="ends after so many seconds")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    numbers, began, kills, checked, acknowledged, wrong = random.Random(chosen.seed), time.monotonic(), 0, 0, 0, []
    starts = []
    with tempfile.TemporaryDirectory() as data:
        running = harness.Server(chosen.server, data, "128MB")
        for name, config in COLLECTIONS.items():
            running.result("PUT", f"/collections/{name}", config)
        known = {(name, number): (0, GONE) for name in COLLECTIONS for number in range(IDS)}
        while kills < chosen.kills and time.monotonic() - began < chosen.seconds and not wrong:
            writers = [Writer(running, own, known, numbers.random()) for own in range(WRITERS)]
            for writer in writers:
                writer.thread.start()
            # Moments of a start, of the first changes, and of flushes.
            time.sleep(numbers.choice([0.02, 0.1, 0.3, 0.6]) * numbers.random() + 0.01)
            running.kill()
            kills += 1
            for writer in writers:
                writer.thread.join()
                acknowledged += writer.acknowledged
            running = harness.Server(chosen.server, data, "128MB")
            starts.append(running.start_seconds)
            maybe = {key: states for writer in writers for key, states in writer.maybe.items()}
            found, problems = check(running, known, maybe)
            checked += len(found)
            wrong += problems
            known = found
        running.kill()
    for one in wrong[:20]:
        print(f"kills: {one}")
    starts.sort()
    told = {"kills": kills, "acknowledged": acknowledged, "checked": checked, "wrong": len(wrong), "most_start_ms": round(1e3 * starts[-1]), "seconds": round(time.monotonic() - began)}
    print(json.dumps(told))
    return 1 if wrong else 0


def point(collection, number, change):
    """A point as a change leaves it."""
    if collection == "one":
        vector = [number, change, 1, 0, 0, 0, 0, number % 7]
    else:
        vector = {"a": [number, change, 0, 1], "b": [change, number, 1]}
        if change % 3 == 0:
            del vector["b"]
    return {"id": number, "vector": vector, "payload": {"change": change, "text": "x" * (change % 50)}}


class Writer:
    """Changes points that are its own, one request after the other, and notes what it was told."""

    def __init__(self, running, own, known, seed):
        self.running, self.known, self.numbers = running, known, random.Random(seed)
        self.own = [number for number in range(IDS) if number % WRITERS == own]
        self.maybe, self.acknowledged = {}, 0
        self.thread = threading.Thread(target=self.work)

    def work(self):
        connection = http.client.HTTPConnection(harness.HOST, self.running.port, timeout=30)
        try:
            while True:
                self.change(connection)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def change(self, connection):
        name = self.numbers.choice(list(COLLECTIONS))
        chosen = self.numbers.sample(self.own, self.numbers.randint(1, 20))
        counts = {number: self.known[name, number][0] + 1 for number in chosen}
        wait = self.numbers.choice(["true", "false"])
        if self.numbers.random() < 0.2:
            path, body = ("POST", "points/delete"), {"points": chosen}
            states = {number: GONE for number in chosen}
        else:
            path, body = ("PUT", "points"), {"points": [point(name, number, counts[number]) for number in chosen]}
            states = counts
        after = {(name, number): (counts[number], states[number]) for number in chosen}
        self.maybe = after
        status, answer = harness.ask(connection, path[0], f"/collections/{name}/{path[1]}?wait={wait}", body)
        if status == 200:
            self.known.update(after)
            self.acknowledged += len(after)
            self.maybe = {}
        elif status not in (429, 503):
            raise AssertionError((status, answer))


def check(running, known, maybe):
    """Compares all points with what they must be; what they are, and what is wrong."""
    found, wrong = {}, []
    for name in COLLECTIONS:
        page = running.result("POST", f"/collections/{name}/points/scroll", {"limit": IDS + 10, "with_vector": True})
        there = {own["id"]: own for own in page["points"]}
        count = running.result("POST", f"/collections/{name}/points/count", {})["count"]
        if count != len(there):
            wrong.append(f"{name}: {count} counted, {len(there)} scrolled")
        for number in range(IDS):
            own = there.get(number)
            change = own["payload"]["change"] if own else GONE
            count, state = known[name, number]
            (later, other) = maybe.get((name, number), (count, state))
            if change not in (state, other):
                wrong.append(f"{name} {number}: change {change}, acknowledged {state}, under way {other}")
            elif own:
                wanted = point(name, number, change)
                if own["vector"] != wanted["vector"] or own["payload"] != wanted["payload"]:
                    wrong.append(f"{name} {number}: {own} in place of {wanted}")
            found[name, number] = (later, change)
        for using in ("a", "b") if name == "two" else ("",):
            size = COLLECTIONS[name]["vectors"].get(using, COLLECTIONS[name]["vectors"])["size"]
            query = {"query": [1] * size, "limit": IDS + 10, "params": {"exact": True}} | ({"using": using} if using else {})
            hits = running.result("POST", f"/collections/{name}/points/query", query)["points"]
            have = sum(using in own["vector"] if using else True for own in there.values())
            if len(hits) != have:
                wrong.append(f"{name}: {len(hits)} found by {using!r}, {have} have it")
    return found, wrong


if __name__ == "__main__":
    sys.exit(main())
