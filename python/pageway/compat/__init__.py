"""The interfaces of other libraries over indexes of pageway, for programs that have them already.

::

    from pageway.compat import faiss         # instead of: import faiss
    from pageway.compat import hnswlib       # instead of: import hnswlib
    from pageway.compat import diskannpy     # instead of: import diskannpy

The names, arguments and results are theirs; vectors lie on disk, and what is searched is an index
of pageway. Each module says what it leaves out. New code is better off with `pageway.build`.
"""
