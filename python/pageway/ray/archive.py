"""An index as a shard: an archive that nodes recover, as the server makes them of its collections."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from typing import Any, Dict, List

import pageway

from ..errors import InvalidInputError
from .http import ask, wait_for
from .process import KeptProcess
from .words import free_port

#: What the server calls metrics.
_DISTANCES = {"l2": "Euclid", "cosine": "Cosine", "inner_product": "Dot"}
_HEAD = "snapshot.json"


def archive(index: str, to: str, command: List[str]) -> None:
    """Writes the archive of an index, which nobody changes meanwhile, to a file that is not there.

    What a collection is, the server says: an empty one is made, and its archive given the files of
    the index.
    """
    with pageway.open(index) as opened:
        metric, dimension, dtype = opened.metric, opened.shape[1], str(opened.dtype)
        has_payloads = bool(opened.fields())
    if not has_payloads:
        raise InvalidInputError(
            f"{index}: a server has a payload for each point: build the index with attributes"
        )
    if metric not in _DISTANCES or dtype != "float32":
        raise InvalidInputError(
            f"{index}: a server has float32 vectors under l2, cosine or inner_product; these are "
            f"{dtype} under {metric}"
        )
    head = _empty_head({"size": dimension, "distance": _DISTANCES[metric]}, command)
    with tarfile.open(f"{to}.tmp", "x", format=tarfile.GNU_FORMAT) as tar:
        _add(tar, _HEAD, head)
        for name in sorted(os.listdir(index)):
            if name != "LOCK":
                path = os.path.join(index, name)
                with open(path, "rb") as file:
                    entry = tarfile.TarInfo(f"v0/{name}")
                    entry.size = os.path.getsize(path)
                    tar.addfile(entry, file)
    os.replace(f"{to}.tmp", to)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def _empty_head(vectors: Dict[str, Any], command: List[str]) -> bytes:
    """What the archive of an empty collection says of it."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"127.0.0.1:{free_port('127.0.0.1')}"
        words = [*command, "--data-dir", folder, "--listen", address, "--memory", "64MB"]
        server = KeptProcess(words, os.path.join(folder, "log"))
        try:
            wait_for(address, "/healthz", None)
            ask(address, "PUT", "/collections/empty", {"vectors": vectors})
            made = ask(address, "POST", "/collections/empty/snapshots")["result"]["name"]
            with tarfile.open(os.path.join(folder, "snapshots", "empty", made)) as tar:
                entry = tar.extractfile(_HEAD)
                assert entry is not None
                head = entry.read()
        finally:
            server.stop()
    json.loads(head)
    return head
