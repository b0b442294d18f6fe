"""The head of a cluster: an actor that keeps the router running, with a map that is true."""

from __future__ import annotations

import os
import re
import threading
from typing import Any, Dict, List, Mapping, Optional

import ray

from ..errors import PagewayError
from .http import wait_for
from .node import NodeOptions
from .process import KeptProcess
from .words import map_text, program, read_plan, write_whole

#: Seconds between two looks at where nodes are.
_LOOK = 1.0


class Head:
    """The router, and who asks nodes where they are."""

    def __init__(
        self, nodes: Mapping[str, str], options: NodeOptions, listen: str, words: List[str]
    ) -> None:
        # By the names of their actors.
        self._nodes: Dict[str, Any] = {name: ray.get_actor(own) for name, own in nodes.items()}
        self._options, self._listen = options, listen
        self._lock = threading.Lock()
        self._map = os.path.join(options.state, "map.toml")
        self._shown: Optional[str] = None
        self._sequences: Dict[str, int] = {}
        self._version = self._last_version()
        self.follow()
        command = [program(options.command), "route", "--map", self._map, "--listen", listen]
        if options.key_file is not None:
            command += ["--node-key-file", options.key_file]
        log = os.path.join(options.home, "router.log")
        self._router = KeptProcess([*command, *words], log)
        self._stopping = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def ready(self, patience: float = 60.0) -> str:
        """Waits until every shard has a node; gives the address of the router."""
        wait_for(self._listen, "/readyz", None, patience)
        return self._listen

    def pid(self) -> Optional[int]:
        """The router's process."""
        return self._router.pid

    def map(self) -> str:
        """The map as the router has it."""
        with open(self._map, encoding="utf-8") as file:
            return file.read()

    def follow(self) -> int:
        """Has every node take the shards of the plan, then shows them to the router."""
        taken = ray.get([node.follow.remote() for node in self._nodes.values()])
        for own in taken:
            # Replicas of one archive have one number.
            for name, sequence in own.items():
                self._sequences[name] = min(sequence, self._sequences.get(name, sequence))
        self._show()
        return self._version

    def stop(self) -> None:
        """Ends the router."""
        self._stopping.set()
        self._router.stop()

    def _show(self) -> None:
        """Writes the map where it says something new."""
        # One after the other: what was read before an update is not written after it.
        with self._lock:
            plan = read_plan(self._options.state)
            calls = {name: node.address.remote() for name, node in self._nodes.items()}
            addresses = {name: ray.get(call) for name, call in calls.items()}
            text = map_text(0, plan, addresses, self._sequences)
            if text == self._shown:
                return
            self._version += 1
            write_whole(self._map, map_text(self._version, plan, addresses, self._sequences))
            self._shown = text

    def _look(self) -> None:
        while not self._stopping.wait(_LOOK):
            try:
                self._show()
            except (ray.exceptions.RayError, PagewayError, KeyError):
                # A node that is starting again, or a plan that is being followed: the map stays.
                continue

    def _last_version(self) -> int:
        if not os.path.exists(self._map):
            return 0
        found = re.match(r"version = (\d+)", self.map())
        return 0 if found is None else int(found[1])
