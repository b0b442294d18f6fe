"""A node of a cluster: an actor that keeps its server running and gives it its shards."""

from __future__ import annotations

import os
import shutil
from typing import Any, Dict, List, NamedTuple, Optional

from .http import Refused, ask, wait_for
from .process import KeptProcess
from .words import Shard, free_port, program, read_plan, this_machine


class NodeOptions(NamedTuple):
    """How the servers of a cluster are started."""

    #: Directory that all machines see, with the plan.
    state: str
    #: Directory of each machine for what its node holds.
    home: str
    memory: str
    command: str
    #: Path of the file with the key of nodes, where they have one.
    key_file: Optional[str]
    #: Whether nodes listen at 127.0.0.1 alone.
    is_local: bool
    more: List[str]

    def key(self) -> Optional[str]:
        """The key of nodes."""
        if self.key_file is None:
            return None
        with open(self.key_file, encoding="utf-8") as file:
            return file.read().strip()


class Node:
    """The server of a name. Comes up with the shards of the plan, also after its worker was lost."""

    def __init__(self, name: str, options: NodeOptions) -> None:
        self._name, self._options = name, options
        self._dir = os.path.join(options.home, name)
        os.makedirs(self._dir, exist_ok=True)
        host = "127.0.0.1" if options.is_local else this_machine()
        self.address_ = f"{host}:{self._port(host)}"
        words = [program(options.command), "--node", name, "--data-dir", self._data()]
        words += ["--listen", self.address_, "--memory", options.memory]
        if options.key_file is not None:
            words += ["--api-key-file", options.key_file]
        log = os.path.join(self._dir, "server.log")
        self._server = KeptProcess([*words, *options.more], log)
        wait_for(self.address_, "/healthz", options.key())
        self._take(read_plan(options.state).of_node(name))

    def address(self) -> str:
        """Where it listens."""
        return self.address_

    def pid(self) -> Optional[int]:
        """Its server's process."""
        return self._server.pid

    def follow(self) -> Dict[str, int]:
        """Recovers the shards of the plan that it has not; gives the last change of each."""
        shards = read_plan(self._options.state).of_node(self._name)
        self._take(shards)
        return {shard.collection: self._sequence(shard) for shard in shards}

    def forget(self) -> None:
        """Deletes what the plan has no more."""
        shards = read_plan(self._options.state).of_node(self._name)
        wanted = {shard.collection for shard in shards}
        for name in self._collections():
            if name not in wanted:
                self._ask("DELETE", f"/collections/{name}")

    def stop(self) -> None:
        """Ends the server."""
        self._server.stop()

    def _take(self, shards: List[Shard]) -> None:
        there = self._collections()
        for shard in shards:
            if shard.collection not in there:
                self._recover(shard)

    def _recover(self, shard: Shard) -> None:
        folder = os.path.join(self._data(), "snapshots", shard.collection)
        os.makedirs(folder, exist_ok=True)
        own = os.path.join(folder, "shard.snapshot")
        shutil.copyfile(shard.archive, own)
        path = f"/collections/{shard.collection}/snapshots/recover"
        self._ask("PUT", path, {"location": f"file://{os.path.abspath(own)}"}, timeout=3600.0)
        shutil.rmtree(folder)

    def _sequence(self, shard: Shard) -> int:
        said = self._ask("GET", f"/pageway/collections/{shard.collection}")
        return int(said["result"]["sequence"])

    def _collections(self) -> List[str]:
        said = self._ask("GET", "/collections")
        return [own["name"] for own in said["result"]["collections"]]

    def _ask(self, method: str, path: str, body: object = None, timeout: float = 60.0) -> Any:
        key = self._options.key()
        try:
            return ask(self.address_, method, path, body, key=key, timeout=timeout)
        except Refused as error:
            if error.status:
                raise
        # The server may be starting again.
        wait_for(self.address_, "/healthz", key)
        return ask(self.address_, method, path, body, key=key, timeout=timeout)

    def _data(self) -> str:
        return os.path.join(self._dir, "data")

    def _port(self, host: str) -> int:
        """The port that it had before, so that the map stays true."""
        path = os.path.join(self._dir, "port")
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                return int(file.read())
        port = free_port(host)
        with open(path, "w", encoding="ascii") as file:
            file.write(str(port))
        return port
