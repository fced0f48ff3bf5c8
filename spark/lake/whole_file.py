"""Write a small file of a lake, on disk or in storage, so that it is complete or does not exist. Knows nothing of its content."""

import os
from pathlib import Path

from offsets_tool.log.storage import StoredPath


def write_whole(path: Path, content: bytes) -> None:
    """Write a file and the folder that it is in; OSError on disk, errors of storage as `refusals_of` has them."""
    if isinstance(path, StoredPath):
        path.write_bytes(content)
        return
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp")
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
