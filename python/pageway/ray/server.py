"""`serve`: a cluster of servers whose processes Ray keeps."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import ray

from .._paths import PathLike, as_path
from ..errors import InvalidInputError
from .archive import archive
from .head import Head
from .node import Node, NodeOptions
from .words import Plan, Shard, free_port, program, write_plan

__all__ = ["Cluster", "serve"]

#: Shards of a collection, each an index or an archive of a server; or the one there is.
Shards = Union[PathLike, Sequence[PathLike]]


def serve(
    collections: Mapping[str, Shards],
    nodes: Union[int, Mapping[str, Mapping[str, Any]]],
    *,
    state: PathLike,
    home: Optional[PathLike] = None,
    replicas: int = 2,
    memory: str = "256MB",
    listen: Optional[str] = None,
    key_file: Optional[PathLike] = None,
    command: str = "pageway-server",
    node_words: Sequence[str] = (),
    router_words: Sequence[str] = (),
) -> "Cluster":
    """Starts nodes and a router, and keeps them: an actor for each, whose server is started again
    whenever it ends, and which Ray starts again where its worker is lost.

    Parameters
    ----------
    collections : mapping of str to path or sequence of path
        Shards by the names that clients know: indexes of float32 vectors with attributes, and ids
        that no other shard has; or archives that a server made (``.snapshot``).
    nodes : int or mapping of str to mapping
        How many, or their names with what Ray is asked for: ``{"a": {"resources": {"node:a": 1}}}``.
    state : path
        Directory that all machines see: the plan, the map, archives of indexes.
    home : path, optional
        Directory of each machine for what its nodes hold; in `state` by default.
    replicas : int
        Nodes that have each shard.
    memory : str
        Memory of each node.
    listen : str, optional
        ``host:port`` of the router; a free port of this machine by default, and nodes then listen
        at 127.0.0.1 alone.
    key_file : path, optional
        File with the key that nodes want and the router has; needed beyond one machine.
    command : str
        The program ``pageway-server``.
    node_words, router_words : sequence of str
        More that it is told, as ``--recall``, ``--api-key-file``.

    Returns
    -------
    Cluster
    """
    names = _named(nodes)
    if not 1 <= replicas <= len(names):
        raise InvalidInputError(f"replicas = {replicas}: there are {len(names)} nodes")
    own_state = os.path.abspath(as_path(state))
    options = NodeOptions(
        state=own_state,
        home=own_state if home is None else os.path.abspath(as_path(home)),
        memory=memory,
        command=command,
        key_file=None if key_file is None else os.path.abspath(as_path(key_file)),
        is_local=listen is None,
        more=list(node_words),
    )
    os.makedirs(os.path.join(own_state, "archives"), exist_ok=True)
    os.makedirs(options.home, exist_ok=True)
    plan = _plan(collections, list(names), replicas, 1, options)
    write_plan(own_state, plan)
    address = listen or f"127.0.0.1:{free_port('127.0.0.1')}"
    keeps = {"max_restarts": -1, "max_task_retries": -1}
    actor = ray.remote(Node)
    mark = uuid.uuid4().hex
    known = {name: f"pageway-{mark}-{name}" for name in names}
    actors = {
        name: actor.options(
            **{"num_cpus": 0, "scheduling_strategy": "SPREAD", **keeps, **asked},
            name=known[name],
        ).remote(name, options)
        for name, asked in names.items()
    }
    head = (
        ray.remote(Head)
        .options(num_cpus=0, max_concurrency=4, **keeps)
        .remote(known, options, address, list(router_words))
    )
    return Cluster(actors, head, options, plan, replicas)


class Cluster:
    """Servers that are kept; of who called `serve`, with whom they end."""

    def __init__(
        self,
        nodes: Dict[str, Any],
        head: Any,
        options: NodeOptions,
        plan: Plan,
        replicas: int,
    ) -> None:
        self._nodes, self._head, self._options = nodes, head, options
        self._plan, self._replicas = plan, replicas
        #: ``host:port`` of the router, once every shard has a node.
        self.address: str = ray.get(head.ready.remote())
        self._forget()

    def processes(self) -> Dict[str, Optional[int]]:
        """The process of each node, and of the router by the name ``router``."""
        calls = {name: node.pid.remote() for name, node in self._nodes.items()}
        calls["router"] = self._head.pid.remote()
        return {name: ray.get(call) for name, call in calls.items()}

    def map(self) -> str:
        """The map as the router has it."""
        return str(ray.get(self._head.map.remote()))

    def update(self, collections: Mapping[str, Shards], *, drain: float = 2.0) -> None:
        """Rolls to a new version of all collections.

        Nodes take the new shards beside the old ones; once all have them the router is shown the
        new map; `drain` seconds later the old ones are deleted. Queries are answered all the while,
        each by one version. What fails before the map is written leaves the old version.
        """
        before = self._plan
        plan = _plan(
            collections, list(self._nodes), self._replicas, before.version + 1, self._options
        )
        write_plan(self._options.state, plan)
        try:
            ray.get(self._head.follow.remote())
        except BaseException:
            write_plan(self._options.state, before)
            raise
        self._plan = plan
        # The router looks at its map every second.
        time.sleep(1.0 + drain)
        self._forget()

    def stop(self) -> None:
        """Ends the router, then the nodes."""
        ray.get(self._head.stop.remote())
        ray.get([node.stop.remote() for node in self._nodes.values()])
        for actor in [self._head, *self._nodes.values()]:
            ray.kill(actor)

    def _forget(self) -> None:
        """Has nodes delete what the plan has not, and removes its archives."""
        ray.get([node.forget.remote() for node in self._nodes.values()])
        folder = os.path.join(self._options.state, "archives")
        shards = [shard for own in self._plan.collections.values() for shard in own]
        wanted = {os.path.basename(shard.archive) for shard in shards}
        for name in set(os.listdir(folder)) - wanted:
            os.remove(os.path.join(folder, name))

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _named(nodes: Union[int, Mapping[str, Mapping[str, Any]]]) -> Dict[str, Dict[str, Any]]:
    if isinstance(nodes, int):
        return {f"node-{number}": {} for number in range(nodes)}
    return {name: dict(asked) for name, asked in nodes.items()}


def _plan(
    collections: Mapping[str, Shards],
    names: List[str],
    replicas: int,
    version: int,
    options: NodeOptions,
) -> Plan:
    """Each shard on `replicas` nodes, in turn."""
    plan: Dict[str, List[Shard]] = {}
    # What an update left that failed is of another name.
    mark, turn = uuid.uuid4().hex[:6], 0
    for name, given in collections.items():
        own = [given] if isinstance(given, (str, os.PathLike)) else list(given)
        shards = []
        for number, source in enumerate(own):
            shard = f"{name}-{number}-v{version}-{mark}"
            held = [names[(turn + copy) % len(names)] for copy in range(replicas)]
            turn += 1
            shards.append(Shard(shard, _archived(as_path(source), shard, options), held))
        plan[name] = shards
    return Plan(version, plan)


def _archived(source: str, shard: str, options: NodeOptions) -> str:
    """The archive of a shard: itself, or one that is made of an index."""
    own = os.path.abspath(source)
    if not os.path.isdir(own):
        if not own.endswith(".snapshot"):
            raise InvalidInputError(f"{source}: give an index, or an archive (.snapshot)")
        return own
    to = os.path.join(options.state, "archives", f"{shard}.snapshot")
    archive(own, to, [program(options.command)])
    return to
