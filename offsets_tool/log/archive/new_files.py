"""Writes a file in storage under a name that nobody has, or not at all: what commits rest on.

Object storage does it by one request. Elsewhere the file is written beside its place and given its name by a rename that does not
replace. Knows not what files hold.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from offsets_tool.errors import OffsetsToolError
from offsets_tool.log.buckets import bucket_of
from offsets_tool.log.refusals import refusals_of
from offsets_tool.log.storage import has_objects

_STAGED: Final = ".new"


def put_new(path: Path, data: bytes) -> bool:
    """Write a file whole under a name that nobody has; return False, and do nothing, where somebody has it."""
    if has_objects(path):
        with refusals_of(path):
            # Of a request that was made again, as only its answer was lost, storage says that somebody has the name.
            return bucket_of(path).put_new(path, data) or _content(path) == data
    staged = path.with_name(f"{path.name}.{uuid4()}{_STAGED}")
    staged.write_bytes(data)
    bucket = bucket_of(path)
    try:
        with refusals_of(path):
            bucket.system.move(bucket.name(staged), bucket.name(path))
    except (OSError, OffsetsToolError):
        there = _content(path)
        if there == data:
            # It was done, and only the answer was lost.
            return True
        with suppress(OSError, OffsetsToolError):
            staged.unlink(missing_ok=True)
        if there is None:
            raise
        return False
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
