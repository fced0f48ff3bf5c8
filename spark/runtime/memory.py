"""Gives back to the system what memory a process has no use for at the moment: a driver lives long, and does much that is short.

What deltalake frees stays with its threads' share of the C library's memory, and what Arrow frees with Arrow.
"""

import ctypes

import pyarrow as pa


def release_unused() -> None:
    """Give unused memory of Arrow and of the C library back to the system; only Arrow's where the library is not glibc."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
