"""Files that are there and cannot be read, whoever asks: a permission that is lacking, a disk that fails."""

import errno
import os
from collections.abc import Callable
from typing import Any, Final

import pytest

DENIED: Final = "Permission denied"
BROKEN: Final = "Input/output error"
REASONS: Final = (DENIED, BROKEN)


def hide(patch: pytest.MonkeyPatch, name: str, reason: str) -> None:
    """Let each file of a name be one that cannot be opened, or not be read, until the patch is undone."""
    opened, hidden = os.open, set[int]()
    read: Callable[..., bytes] = os.pread

    def open_(path: Any, flags: int, *args: Any, **options: Any) -> int:
        is_it = os.path.basename(os.fsdecode(path)) == name  # noqa: PTH119 - of what os.open is given
        if is_it and reason == DENIED:
            raise PermissionError(errno.EACCES, DENIED, path)
        descriptor = opened(path, flags, *args, **options)
        (hidden.add if is_it else hidden.discard)(descriptor)
        return descriptor

    def pread(descriptor: int, *args: Any) -> bytes:
        if descriptor in hidden:
            raise OSError(errno.EIO, BROKEN)
        return read(descriptor, *args)

    patch.setattr(os, "open", open_)
    patch.setattr(os, "pread", pread)
