"""What servers are told: addresses, programs, the plan and the map of a cluster."""

from __future__ import annotations

import json
import os
import shutil
import socket
from typing import Dict, List, Mapping, NamedTuple

import ray

from ..errors import NotFoundError


class Shard(NamedTuple):
    """A part of a collection: what nodes call it, what it is recovered from, and who has it."""

    collection: str
    archive: str
    nodes: List[str]


class Plan(NamedTuple):
    """Who is to have what: a version of a cluster."""

    version: int
    #: Shards by the collections that clients know.
    collections: Dict[str, List[Shard]]

    def of_node(self, name: str) -> List[Shard]:
        """The shards of a node."""
        all_shards = [shard for own in self.collections.values() for shard in own]
        return [shard for shard in all_shards if name in shard.nodes]


def read_plan(state: str) -> Plan:
    """The plan of a cluster, out of the directory that all its machines see."""
    with open(os.path.join(state, "plan.json"), encoding="utf-8") as file:
        said = json.load(file)
    shards = {
        name: [Shard(**shard) for shard in own] for name, own in said["collections"].items()
    }
    return Plan(said["version"], shards)


def write_plan(state: str, plan: Plan) -> None:
    """Makes a plan the one that nodes follow."""
    shards = {name: [shard._asdict() for shard in own] for name, own in plan.collections.items()}
    write_whole(
        os.path.join(state, "plan.json"),
        json.dumps({"version": plan.version, "collections": shards}, indent=1),
    )


def map_text(
    version: int, plan: Plan, addresses: Mapping[str, str], sequences: Mapping[str, int]
) -> str:
    """The map of a router. A text in JSON is one in TOML too."""
    lines = [f"version = {version}", "", "[nodes]"]
    lines += [
        f"{json.dumps(name)} = {json.dumps('http://' + own)}" for name, own in addresses.items()
    ]
    for name, shards in plan.collections.items():
        for shard in shards:
            lines += [
                "",
                f"[[collections.{json.dumps(name)}.shards]]",
                f"collection = {json.dumps(shard.collection)}",
                f"nodes = {json.dumps(shard.nodes)}",
                f"sequence = {sequences[shard.collection]}",
            ]
    return "\n".join(lines) + "\n"


def write_whole(path: str, text: str) -> None:
    """Writes a file that is there whole or not at all."""
    beside = f"{path}.{os.getpid()}.tmp"
    with open(beside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def free_port(host: str) -> int:
    """A port that nobody listens at."""
    with socket.socket() as own:
        own.bind((host, 0))
        return int(own.getsockname()[1])


def this_machine() -> str:
    """The address that other machines know this one by."""
    return str(ray.util.get_node_ip_address())  # type: ignore[no-untyped-call]


def program(command: str) -> str:
    """The path of a program on this machine."""
    found = shutil.which(command)
    if found is None:
        raise NotFoundError(
            f"{command} is not on this machine: `cargo install --path crates/server` in the source "
            "of pageway installs it; or say where it is by command="
        )
    return found
