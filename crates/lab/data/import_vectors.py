"""Turns HDF5 and Parquet into the plain files that Pageway reads, a block of rows at a time.

    import_vectors.py rows FORMAT MEMBER FILE...
        prints the number of rows
    import_vectors.py vectors FORMAT MEMBER OUT ROWS FILE...
        writes .fbin: u32 rows, u32 dimension, float32 values; the first ROWS rows (0: all)
    import_vectors.py ids FORMAT MEMBER OUT ROWS FILE...
        writes .ibin: u32 rows, u32 k, int32 ids

FORMAT is hdf5 or parquet, MEMBER a data set (train) or a column (emb). While it writes, it prints
after each block how many rows are done. Exit codes: 2 for files that are not as expected, 3 for a
missing Python package.
"""

import os
import sys

BLOCK_BYTES = 8 << 20


def fail(message, code=2):
    """Ends the program with one line."""
    print(message, file=sys.stderr)
    sys.exit(code)


def need(package):
    """Imports a package, or says how to get it."""
    try:
        module = __import__(package)
    except ImportError:
        fail(f"needs the Python package {package}: {sys.executable} -m pip install {package}", 3)
    if package == "pyarrow":
        __import__("pyarrow.parquet")
    return module


def hdf5_member(file, member, path):
    """The data set of that name."""
    if member not in file:
        fail(f"{path}: has no data set {member}; it has {', '.join(file)}")
    return file[member]


def hdf5_blocks(paths, member):
    """Arrays of rows."""
    h5py = need("h5py")
    for path in paths:
        with h5py.File(path, "r") as file:
            data = hdf5_member(file, member, path)
            if data.ndim != 2:
                fail(f"{path}: {member} has {data.ndim} axes, rows and dimensions were expected")
            step = max(1, BLOCK_BYTES // (4 * data.shape[1]))
            for first in range(0, data.shape[0], step):
                yield path, data[first : first + step]


def parquet_column(file, member, path):
    """Refuses a file without that column."""
    names = file.schema_arrow.names
    if member not in names:
        fail(f"{path}: has no column {member}; it has {', '.join(names)}")


def parquet_blocks(paths, member):
    """Arrays of rows."""
    need("pyarrow")
    import numpy
    from pyarrow.parquet import ParquetFile

    for path in paths:
        file = ParquetFile(path)
        parquet_column(file, member, path)
        for batch in file.iter_batches(batch_size=2048, columns=[member]):
            lists = batch.column(0)
            values = lists.flatten()
            if lists.null_count or values.null_count or len(values) % max(1, len(lists)):
                fail(f"{path}: {member} is no column of lists of one length without gaps")
            if len(lists):
                array = numpy.asarray(values.to_numpy(zero_copy_only=False))
                yield path, array.reshape(len(lists), -1)


def count(kind, member, paths):
    """Rows of all files, from what stands at their ends."""
    rows = 0
    for path in paths:
        if kind == "hdf5":
            with need("h5py").File(path, "r") as file:
                rows += hdf5_member(file, member, path).shape[0]
        else:
            need("pyarrow")
            from pyarrow.parquet import ParquetFile

            file = ParquetFile(path)
            parquet_column(file, member, path)
            rows += file.metadata.num_rows
    return rows


def write(what, blocks, out, limit):
    """Writes header and rows; the header gets the number of rows at the end."""
    import numpy

    dtype = "<f4" if what == "vectors" else "<i4"
    rows, width = 0, None
    with open(out, "wb") as file:
        file.write(bytes(8))
        for path, block in blocks:
            width = width or block.shape[1]
            if block.shape[1] != width:
                fail(f"{path}: rows of {block.shape[1]} values after rows of {width}")
            if limit:
                block = block[: limit - rows]
            file.write(numpy.ascontiguousarray(block, dtype=dtype).tobytes())
            rows += len(block)
            print(rows, flush=True)
            if limit and rows >= limit:
                break
        if not rows:
            fail(f"{out}: there are no rows")
        file.seek(0)
        file.write(numpy.array([rows, width], dtype="<u4").tobytes())
        file.flush()
        os.fsync(file.fileno())


def main(arguments):
    """Reads the command line."""
    if len(arguments) < 4:
        fail(__doc__)
    need("numpy")
    what, kind, member = arguments[:3]
    if what == "rows":
        print(count(kind, member, arguments[3:]))
        return
    out, limit, paths = arguments[3], int(arguments[4]), arguments[5:]
    blocks = hdf5_blocks if kind == "hdf5" else parquet_blocks
    write(what, blocks(paths, member), out, limit)


if __name__ == "__main__":
    main(sys.argv[1:])
