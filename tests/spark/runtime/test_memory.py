"""Memory that was freed in small pieces goes back to the system, and where the C library has no way to do that, nothing fails."""

import ctypes
import platform
import re
from pathlib import Path

import pytest

from spark.runtime import memory

PIECES, SIZE = 65_536, 1_024


def anonymous() -> int:
    """Return the bytes of this process that are in memory and in no file."""
    said = re.search(r"^RssAnon:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert said
    return int(said[1]) * 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc keeps what was freed")
def test_what_was_freed_below_what_is_used_goes_back_to_the_system() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    library.free.argtypes = [ctypes.c_void_p]
    pieces = [library.malloc(SIZE) for _ in range(PIECES)]
    for piece in pieces:
        ctypes.memset(piece, 1, SIZE)
    *freed, used = pieces
    for piece in freed:
        library.free(piece)
    before = anonymous()
    memory.release_unused()
    assert before - anonymous() > PIECES * SIZE // 2
    library.free(used)


def test_another_library_gives_back_what_arrow_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    memory.release_unused()
