"""Find bytes of new files that a lake has from another path: a segment that was copied, the beginning of one that has grown since.

Such bytes are neither read nor stored again: they are rows of `sources` that point to the first file that had them, in `same_as`.
Compares SHA-256 of ranges that ingests have read; reads no records.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from offsets_tool.lake.rows import SourceFields
from offsets_tool.log.names import SegmentKind
from offsets_tool.table_rows import SourceRow
from spark.ingest.account import file_facts
from spark.ingest.digest import NO_BYTES
from spark.ingest.plan import FilePiece, IngestFile, digest

_SegmentKey = tuple[str, int | None, int | None]
"""A cluster, a log partition, and the base offset of a segment."""
_Digest = Callable[[int, int | None], str]
"""Gives the SHA-256 of a range of a file."""


class KnownBytes(NamedTuple):
    """The beginning of a new file whose bytes another file has: the file, and the rows of `sources` of the other."""

    file: IngestFile
    rows: Sequence[SourceFields]

    @property
    def end(self) -> int:
        """The position after the last byte that is known."""
        end: int = self.rows[-1]["range_end"]
        return end

    def source_rows(self, run: int, at: datetime) -> list[SourceRow]:
        """Return the rows of `sources` that point to the file which has these bytes."""
        of_file = file_facts(FilePiece(self.file, 1, 0, self.end))
        return [
            SourceRow(
                **{
                    **row,
                    **of_file,
                    "same_as": row["same_as"] or row["source"],
                    "tail_bytes": 0,
                    "tail_kind": None,
                    "file_sha256": None,
                    "run": run,
                    "ingested_at": at,
                }
            )
            for row in self.rows
        ]


class Division(NamedTuple):
    """The files of an ingest by what is to be done with them."""

    read: list[IngestFile]
    """Files to be planned as they are: those that were read before among them."""
    known: list[KnownBytes]
    later: list[IngestFile]
    """Files that begin with all bytes of one that is read now: they are looked at again once it is in the lake."""


def divide(files: Iterable[IngestFile], known: Sequence[SourceFields]) -> Division:
    """Divide the files of an ingest into those to read and those with known bytes, given the rows of `sources`."""
    seen = {(row["cluster"], row["path"], row["member"], row["log_partition"]) for row in known}
    logs, division, heads = _logs(known), Division([], [], []), dict[_SegmentKey, list[IngestFile]]()
    for file in sorted(files, key=lambda file: file.segment.size):
        if file.identity in seen or not _may_be_known(file):
            division.read.append(file)
            continue
        found, others = (
            _longest(file, logs.get(_segment_key(file), ())),
            heads.setdefault(_segment_key(file), []),
        )
        is_all = bool(found) and (not file.continues or found[-1]["range_end"] == file.segment.size)
        if not is_all and _begins_as_one_of(file, others):
            division.later.append(file)
            continue
        others += [] if is_all else [file]
        if found:
            division.known.append(KnownBytes(file, found))
        else:
            division.read.append(file)
    order = {file.identity: number for number, file in enumerate(files)}
    division.read.sort(key=lambda file: order[file.identity])
    return division


def _may_be_known(file: IngestFile) -> bool:
    segment = file.segment
    return file.kind == SegmentKind.LOG and not segment.fate and segment.base_offset is not None


def _segment_key(file: IngestFile) -> _SegmentKey:
    return file.cluster, file.segment.log_partition, file.segment.base_offset


def _logs(known: Iterable[SourceFields]) -> Mapping[_SegmentKey, list[list[SourceFields]]]:
    """Return the segments in use that were read, each as its rows of `sources` in the order of bytes, by _SegmentKey."""
    found: dict[_SegmentKey, list[list[SourceFields]]] = {}
    by_source = itemgetter("cluster", "source")
    plain = (
        row
        for row in known
        if row["kind"] == SegmentKind.LOG and not row["fate"] and row["range_start"] < row["range_end"]
    )
    for _, rows in groupby(sorted(plain, key=by_source), by_source):
        some = sorted(rows, key=itemgetter("range_start", "range_end", "run"))
        first = some[0]
        if first["base_offset"] is not None:
            key = first["cluster"], first["log_partition"], first["base_offset"]
            found.setdefault(key, []).append(some)
    return found


def _longest(file: IngestFile, logs: Iterable[Sequence[SourceFields]]) -> Sequence[SourceFields]:
    """Return the rows of the known file that shares the longest beginning with a new file; none where no file shares any."""
    sha256 = cache(partial(digest, file))
    found = ((_common if file.continues else _whole)(file, rows, sha256) for rows in logs)
    return max(found, key=lambda rows: rows[-1]["range_end"] if rows else 0, default=())


def _common(file: IngestFile, rows: Sequence[SourceFields], sha256: _Digest) -> Sequence[SourceFields]:
    """Return the first rows whose bytes a file begins with; a run's rows all or none, because they are stored together."""
    same, reached = list[SourceFields](), 0
    for row in rows:
        start, end = row["range_start"], row["range_end"]
        if not (start == reached < end <= file.segment.size) or sha256(start, end) != row["sha256"]:
            break
        same.append(row)
        reached = end
    cut = {row["run"] for row in rows[len(same) :]}
    return [row for row in same if row["run"] not in cut]


def _whole(file: IngestFile, rows: Sequence[SourceFields], sha256: _Digest) -> Sequence[SourceFields]:
    """Return the one row of a known file with the same bytes as a file that is read as a whole: compressed, or from a tar."""
    row = rows[0]
    is_one = len(rows) == 1 and row["range_start"] == 0 < row["range_end"]
    return rows if is_one and row["sha256"] != NO_BYTES and sha256(0, None) == row["sha256"] else ()


def _begins_as_one_of(file: IngestFile, others: Iterable[IngestFile]) -> bool:
    """Return whether a file begins with all bytes of another."""
    return file.continues and any(
        other.continues
        and 0 < other.segment.size <= file.segment.size
        and digest(other) == digest(file, 0, other.segment.size) != NO_BYTES
        for other in others
    )
