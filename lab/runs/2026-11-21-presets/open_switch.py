"""Times opening an index, and switching to one that shares its codebook, past the page cache.

    python open_switch.py FIRST.index SECOND.index

Before every open the files of both indexes are dropped from the page cache, so manifest, codebook and
entry come from the disk. Prints the median and the 95th percentile of 100 rounds, in milliseconds.
"""

import os
import statistics
import sys
import time

import pageway

ROUNDS = 100


def drop_from_page_cache(index):
    for name in os.listdir(index):
        descriptor = os.open(os.path.join(index, name), os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def timed(action, first, second):
    drop_from_page_cache(first)
    drop_from_page_cache(second)
    begin = time.perf_counter()
    index = action()
    elapsed = time.perf_counter() - begin
    return index, elapsed * 1e3


def report(name, times):
    times = sorted(times)
    print(f"{name:8} median {statistics.median(times):.3f} ms, p95 {times[int(len(times) * 0.95)]:.3f} ms")


def main(first, second):
    opens, switches = [], []
    for _ in range(ROUNDS):
        index, elapsed = timed(lambda: pageway.open(first), first, second)
        opens.append(elapsed)
        other, elapsed = timed(lambda: index.switch(second), first, second)
        switches.append(elapsed)
        other.close()
        index.close()
    report("open", opens)
    report("switch", switches)


if __name__ == "__main__":
    main(*sys.argv[1:3])
