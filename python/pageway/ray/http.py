"""Requests to servers of a cluster."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from typing import Any, Optional

from ..errors import PagewayError, TimedOutError


class Refused(PagewayError):
    """An answer that is no success, or none."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text, status)
        self.status = status


def ask(
    address: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    key: Optional[str] = None,
    timeout: float = 60.0,
) -> Any:
    """The answer of a server at ``host:port``: what its JSON says, or a text."""
    data = None if body is None else json.dumps(body).encode()
    head = {"content-type": "application/json", **({"api-key": key} if key else {})}
    request = urllib.request.Request(f"http://{address}{path}", data, head, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            said = answer.read()
        is_json = "json" in answer.headers.get("content-type", "")
        return json.loads(said) if is_json else said.decode(errors="replace")
    except urllib.error.HTTPError as error:
        text = error.read().decode(errors="replace")
        raise Refused(f"{method} {path} at {address}: {error.code}: {text}", error.code) from None
    except (OSError, ValueError) as error:
        raise Refused(f"{method} {path} at {address}: {error}") from None


def wait_for(address: str, path: str, key: Optional[str], patience: float = 60.0) -> None:
    """Waits until a server answers a path with success."""
    until = time.monotonic() + patience
    while True:
        try:
            ask(address, "GET", path, key=key, timeout=2.0)
            return
        except Refused as error:
            if error.status in (401, 403):
                raise
            if time.monotonic() > until:
                raise TimedOutError(f"{address} does not answer {path}: {error}") from None
            time.sleep(0.1)
