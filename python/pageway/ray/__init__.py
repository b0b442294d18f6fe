"""Builds, batch searches and servers over the machines of a Ray cluster.

::

    pip install "pageway[ray]"

    import pageway.ray
    built = pageway.ray.build("rows.fbin", "/shared/my.index", segments=8, metric="l2")
    found = pageway.ray.batch_search("/shared/my.index", dataset, k=10, recall=0.95)
    cluster = pageway.ray.serve({"texts": ["/shared/texts.index"]}, nodes=2, state="/shared/state")

Ray starts, spreads and watches processes. It is never on the way of a search: an index is opened by
`pageway.open`, a cluster answers over HTTP, and both go on where Ray is gone.

::

    rows      a data set as one file          builder   build: steps as tasks, each a process
    process   a step; a server that is kept   searcher  batch_search: an open index per actor
    archive   an index as a shard             node, head, server   serve: nodes, router, new versions
"""

try:
    import ray as _ray  # noqa: F401
except ImportError as error:  # pragma: no cover
    raise ImportError('ray is not installed: pip install "pageway[ray]"') from error

from .builder import BuildResult, StepResult, build
from .searcher import batch_search
from .server import Cluster, serve

__all__ = ["BuildResult", "Cluster", "StepResult", "batch_search", "build", "serve"]
