"""What the suites of the server share: the program in a process, requests to it, and what it takes."""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "judges"))
import judge

HOST = "127.0.0.1"


def more_files():
    """Lets this process and its children have as many files open as the system lets them."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


class Server:
    """A server over a directory, on a port of the system's choice."""

    def __init__(self, program, data, memory, *more):
        command = [judge.program(program), "--data-dir", str(data), "--memory", memory, "--listen", f"{HOST}:0"]
        began = time.monotonic()
        self.process = subprocess.Popen([*command, *more], stderr=subprocess.PIPE, text=True)
        self.log, self.data = [], data
        for line in self.process.stderr:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == "listening":
                self.port = int(told["address"].rsplit(":", 1)[1])
                break
            self.log.append(line)
        else:
            sys.exit(f"the server does not start: {self.log}")
        self.start_seconds = time.monotonic() - began
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def ask(self, method, path, body=None, timeout=60):
        """The status of an answer, and its JSON or text."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=timeout)
        with contextlib.closing(connection):
            return ask(connection, method, path, body)

    def result(self, method, path, body=None, timeout=60):
        """What is in the envelope of a success."""
        status, answer = self.ask(method, path, body, timeout)
        assert status == 200, (status, answer)
        return answer["result"]

    def memory(self):
        """Bytes that are resident: now, and at most so far."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in text.splitlines())
        return tuple(int(fields[name].split()[0]) << 10 for name in ("VmRSS", "VmHWM"))

    def cpu_seconds(self):
        """Processor time that the server took so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Ends it as an operator does; the exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait()


def ask(connection, method, path, body=None):
    """Asks over a connection that stays."""
    payload = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, payload, {"content-type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    try:
        return answer.status, json.loads(text)
    except ValueError:
        return answer.status, text


@contextlib.contextmanager
def server(program, memory, *more, data=None):
    """A server until the block ends, over an empty directory unless one is given."""
    with tempfile.TemporaryDirectory() as own:
        running = Server(program, data or own, memory, *more)
        try:
            yield running
        finally:
            if running.process.poll() is None:
                running.kill()


class Witness:
    """Somebody else who asks all the time: what they wait, and what goes wrong for them."""

    def __init__(self, running, method, path, body, pause=0.02):
        self.waits, self.wrong, self.ends = [], [], threading.Event()
        self.running, self.asked, self.pause = running, (method, path, body), pause
        self.thread = threading.Thread(target=self.work, daemon=True)

    def work(self):
        connection = http.client.HTTPConnection(HOST, self.running.port, timeout=30)
        while not self.ends.is_set():
            began = time.monotonic()
            try:
                status, answer = ask(connection, *self.asked)
                if status != 200:
                    self.wrong.append((status, str(answer)[:200]))
            except (OSError, http.client.HTTPException) as error:
                self.wrong.append(repr(error))
                connection.close()
            self.waits.append(time.monotonic() - began)
            self.ends.wait(self.pause)
        connection.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join(60)

    def told(self):
        waits = sorted(self.waits) or [0.0]
        return {
            "others_asked": len(self.waits),
            "others_failed": len(self.wrong),
            "others_p99_ms": round(1e3 * waits[len(waits) * 99 // 100], 1),
            "others_most_ms": round(1e3 * waits[-1], 1),
        }
