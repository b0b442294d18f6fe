"""Where vectors may come from, beyond one array or one file of a format that the engine reads.

::

    recognise    what an object or a path is           batches      rows, a batch at a time
    arrow        Parquet, Arrow, data sets, polars     settle       one shape and type for all
    frames       pandas, torch                         scratch      a file for what outgrows memory
    json_lines   JSON lines      hdf5   HDF5            entry        from any of it to the engine
    packed       gzip                                    readers      files by name
    qdrant       collections of Qdrant       documents   attributes out of tables

Nothing is held whole: batches go to a file beside the index that is built, which is removed when
the build is over. Libraries are imported where they are needed, and named where they are missing.
"""

from .batches import Batch, Batches
from .entry import Input, as_input, as_whole
from .readers import read_hdf5, read_json_lines, read_lance, read_parquet, read_qdrant

__all__ = [
    "Batch",
    "Batches",
    "Input",
    "as_input",
    "as_whole",
    "read_hdf5",
    "read_json_lines",
    "read_lance",
    "read_parquet",
    "read_qdrant",
]
