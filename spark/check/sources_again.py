"""Check the sources of a lake that are still there: whether their bytes are those that were read, by their digests.

A file that has gone, grown or was written anew since is nothing wrong of the lake's. Decodes nothing.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.findings.rows import Severity
from offsets_tool.log.storage import as_path, is_stored
from offsets_tool.wire.text import from_shown
from spark.check.checked import Defect, Looked
from spark.check.lake import Fields, LakeToCheck
from spark.ingest.digest import NO_BYTES
from spark.ingest.plan import IngestFile, digest, find_files

_OF_PATH: Final = ("cluster", "path", "log_partition")


def sources(lake: LakeToCheck) -> Looked:
    """Check that each range that was read, of the newest generation of a file that is there, has the digest it had."""
    for (cluster, path, log_partition), found in _by_path(lake.sources):
        real = from_shown(path)
        try:
            if not (as_path(real).exists() if is_stored(real) else os.path.lexists(real)):
                continue
            files = {file.identity: file for file in find_files([real], from_shown(cluster), log_partition)}
        except SourceError as error:
            yield _not_found(path, str(error))
            continue
        for row in found:
            file = files.get((cluster, path, row["member"], log_partition))
            yield _not_found(path, "holds it no more") if file is None else _of_range(lake, row, file)


def _by_path(rows: list[Fields]) -> Iterator[tuple[tuple[str, str, int | None], list[Fields]]]:
    """Yield the rows of the newest generation of each file, by the path on disk."""
    newest: dict[tuple[str, ...], int] = {}
    for row in rows:
        newest[_file(row)] = max(row["generation"], newest.get(_file(row), 0))
    now = [row for row in rows if row["generation"] == newest[_file(row)]]
    by_path = sorted(now, key=_path)
    for _, found in groupby(by_path, _path):
        some = list(found)
        yield (some[0]["cluster"], some[0]["path"], some[0]["log_partition"]), some


def _path(row: Fields) -> tuple[str, ...]:
    return tuple(repr(row[name]) for name in _OF_PATH)


def _file(row: Fields) -> tuple[str, ...]:
    return (*_path(row), row["member"])


def _not_found(path: str, said: str) -> Defect:
    return Defect(
        path, Severity.NOTICE, f"cannot be read again: {said}", "nothing: the lake has what was read"
    )


def _of_range(lake: LakeToCheck, row: Mapping[str, object], file: IngestFile) -> Defect | None:
    start, end = row["range_start"], row["range_end"]
    assert isinstance(start, int) and isinstance(end, int)
    if row["sha256"] == NO_BYTES or digest(file, start, end) == row["sha256"]:
        return None
    again = lake.command("ingest", str(row["path"]), "--cluster", str(row["cluster"]))
    if (row["file_size"], row["file_modified_at"]) != (file.segment.size, file.modified_at):
        return Defect(str(row["source"]), Severity.NOTICE, "was written anew since it was read", again)
    said = f"bytes {start} to {end} are others than were read, though its size and time are the same"
    return Defect(
        str(row["source"]), Severity.WARNING, said, "compare it with another copy: the disk may be failing"
    )
