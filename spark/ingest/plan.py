"""Plan what an ingest still has to read: pieces of files, from the files there are and what `sources` says was read before.

A file is identified by cluster, absolute path (and member of a tar) and log partition. With the same size, modification time, first
and last 64 KiB it has not changed, and is not read. Otherwise the SHA-256 of every range that was read is computed again: if all
agree, the rest of the file is new; if not, the file was rewritten (compaction does that under the same name) and is read as a new
generation, whose name has `#2`, `#3` ... after the path. A deleted file changes nothing. Compressed copies, members of tars and
archives are read whole.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from offsets_tool.errors import SourceError, UsageError
from offsets_tool.lake.rows import ARCHIVE, SourceFields
from offsets_tool.log.archive.files import ArchiveFile, ArchiveKind, archive_files
from offsets_tool.log.files.checkpoints import META_FILE
from offsets_tool.log.files.folders import PathKind, listing, look_at, size_of
from offsets_tool.log.files.mapping import sha256, sha256_of
from offsets_tool.log.files.open_file import open_file, read_whole, why
from offsets_tool.log.names import Packing, Segment, member_source, segment_name
from offsets_tool.log.storage import as_path, is_stored, one_listing, real_path
from offsets_tool.log.unread_files import required_segments
from offsets_tool.wire.text import shown
from offsets_tool.wire.times import LAST_MILLISECOND
from spark.ingest.digest import NO_BYTES, edges_digest
from spark.lake.folder import CAPTURED

_FIRST_MICROSECOND: Final = -62_135_596_800_000_000
"""The first microsecond of the year 1, the earliest time that tables can hold."""
PIECE: Final = 64 << 20
"""How many bytes of a long file one task reads. A segment of Kafka's default size (100 MiB) is still read, and hashed, whole."""
SMALLEST_UNIT: Final = 1 << 20
UNITS_WANTED: Final = 8
"""How many tasks share even a small ingest, if each has something to do."""
_DELTA_LOG: Final = "_delta_log"


class IngestFile(NamedTuple):
    """A file as it is on disk now: a segment, or a file of an archive (then `kind` is ARCHIVE). Paths are absolute."""

    segment: Segment
    cluster: str
    kind: str
    modified_at: datetime
    continues: bool
    """Whether it can grow and be read on from where an ingest stopped: a plain segment."""
    must_open: bool = True
    """Whether the file itself was named as a source: then it is an error if it cannot be opened."""
    archive: ArchiveFile | None = None
    """The archive's format and layout; None for a segment."""

    @property
    def identity(self) -> tuple[str, str, str, int | None]:
        """The values that identify the file in `sources`, where names on disk are made visible text."""
        segment = self.segment
        return self.cluster, shown(segment.path), shown(segment.member), segment.log_partition


class FilePiece(NamedTuple):
    """A byte range of a file for one task, cut between batches as `read_segment` does; `end` is None for a whole archive."""

    file: IngestFile
    generation: int
    start: int
    end: int | None
    resumes: bool = False
    """Whether `start` is where an earlier ingest stopped, to the byte; other cuts fall anywhere in a batch."""
    sha256: str | None = None
    """What the bytes must hash to, if they are read a second time."""
    is_after_known: bool = False
    """Whether it goes on after bytes that another file has: then a tail without any batch has a row of its own."""

    @property
    def source(self) -> str:
        """The file's name in the column `source` of all three tables, with its generation from the second on."""
        name = shown(member_source(self.file.segment.path, self.file.segment.member))
        return name if self.generation == 1 else f"{name}#{self.generation}"

    @property
    def size(self) -> int:
        """How many bytes the piece has."""
        return (self.file.segment.size if self.end is None else self.end) - self.start


Unit = tuple[FilePiece, ...]
"""The pieces that one task reads."""


@one_listing()
def find_files(
    paths: Iterable[str],
    cluster: str | None,
    log_partition: int | None,
    columns: Mapping[str, str] | None = None,
) -> list[IngestFile]:
    """Return all segments and archives under the paths, in a fixed order, each file once.

    SourceError for a path that holds neither, or a meta.properties that cannot be read: nobody knows whose log that is. UsageError
    for `columns` (those of `read_archive`) that no archive has.
    """
    files: list[IngestFile] = []
    for path in paths:
        here = real_path(path)
        kind = look_at(here).kind
        if kind is PathKind.FOLDER and is_stored(here):
            # What is asked below is then answered by this listing.
            listing(as_path(here))
        archives = archive_files(here, columns) if kind in (PathKind.FILE, PathKind.FOLDER) else []
        files += [_archive(file, cluster, log_partition) for file in archives]
        if any(file.is_named for file in archives):
            continue
        try:
            segments = required_segments(here, log_partition)
        except SourceError:
            if not archives:
                raise
            continue
        files += [_segment(segment, cluster, here) for segment in segments]
    if columns and not any(file.archive for file in files):
        raise UsageError("--columns: no archive with such columns is here; correct the names, or drop it")
    files.sort(key=lambda file: file.must_open)
    return sorted({file.identity: file for file in files}.values(), key=_order)


def foreign_files(files: Iterable[IngestFile], lake: str, paths: Sequence[str]) -> list[IngestFile]:
    """Return the files that are no part of the lake: it may lie in a folder that it is made of.

    What a stream has captured into the lake stays if `paths` name it.
    """
    try:
        own = as_path(lake).resolve()
    except SourceError:
        # What only Spark can name holds no file that is read here.
        return list(files)
    if paths and all(as_path(path).resolve().is_relative_to(own / CAPTURED) for path in paths):
        return list(files)
    return [file for file in files if not as_path(file.segment.path).is_relative_to(own)]


def plan(files: Sequence[IngestFile], known: Iterable[SourceFields]) -> tuple[Unit, ...]:
    """Return the pieces that are still to be read, in units of about the same size and in the order of the log.

    `known` has the rows of `sources`.
    """
    latest: dict[tuple[Any, ...], list[SourceFields]] = {}
    for row in sorted(known, key=_range_order):
        rows = latest.setdefault((row["cluster"], row["path"], row["member"], row["log_partition"]), [])
        if rows and rows[-1]["generation"] != row["generation"]:
            rows.clear()
        rows.append(row)
    return in_units([piece for file in files for piece in _pieces(file, latest.get(file.identity, []))])


def _range_order(row: SourceFields) -> tuple[int, int, int, int]:
    # A range without a whole batch comes before the next one from its begin.
    return row["generation"], row["range_start"], row["range_end"], row["run"]


def _order(file: IngestFile) -> tuple[str, int, int, str, str]:
    of = file.segment
    partition = -1 if of.log_partition is None else of.log_partition
    return of.directory, partition, of.base_offset or 0, of.path, of.member


def _segment(segment: Segment, cluster: str | None, given: str) -> IngestFile:
    if segment.unreadable and as_path(segment.path).name == META_FILE:
        raise SourceError(segment.path, segment.unreadable)
    path = _absolute(segment.path)
    stat = _stat(path)
    name = segment_name(PurePosixPath(path).name)
    packed = bool(segment.member) or (name is not None and name.packing is not Packing.NONE)
    segment = segment._replace(
        path=path,
        size=segment.size if segment.member or segment.unreadable else stat.st_size,
        directory=real_path(segment.directory),
    )
    where = shown((segment.cluster_id or "") if cluster is None else cluster)
    return IngestFile(
        segment,
        where,
        segment.kind.value,
        _time(stat),
        continues=not packed and not segment.unreadable,
        must_open=path == given and not segment.member and not segment.is_rest,
    )


def _archive(file: ArchiveFile, cluster: str | None, log_partition: int | None) -> IngestFile:
    path = as_path(_absolute(file.path))
    if file.kind is ArchiveKind.DELTA:
        stat, size = _stat(path / _DELTA_LOG), sum(map(size_of, _delta_log(path)))
    else:
        stat, size = _stat(path), size_of(path)
    segment = Segment(path=path.as_posix(), log_partition=log_partition, size=size)
    found = file._replace(path=path)
    return IngestFile(
        segment,
        shown(cluster or ""),
        ARCHIVE,
        _time(stat),
        continues=False,
        must_open=file.is_named,
        archive=found,
    )


def _absolute(path: str | Path) -> str:
    """Return the absolute path without symbolic links; a link to nothing stays, because there is no other name for it."""
    leads_somewhere = look_at(path).kind is not PathKind.NOWHERE
    return real_path(path) if leads_somewhere else Path(path).absolute().as_posix()


def _stat(path: str | Path) -> os.stat_result:
    there = as_path(path)
    try:
        return there.stat(follow_symlinks=look_at(there).kind is not PathKind.NOWHERE)
    except OSError as error:
        raise SourceError(
            there.as_posix(), f"cannot be opened ({why(error)}); check its permissions"
        ) from error


def _time(stat: os.stat_result) -> datetime:
    """Return the time to the microsecond, as tables keep it; a time beyond the calendar becomes its end."""
    microseconds = min(max(stat.st_mtime_ns // 1000, _FIRST_MICROSECOND), LAST_MILLISECOND * 1000)
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)


def digest(file: IngestFile, start: int = 0, end: int | None = None) -> str:
    """Return the SHA-256 of a plain file's range, or of another file as a whole (of a Delta table: of its log).

    Return NO_BYTES for a file that cannot be opened, or that cannot be read to its end.
    """
    path = file.segment.path
    if file.continues:
        return _range_digest(path, start, end)
    if file.archive and file.archive.kind is ArchiveKind.DELTA:
        return sha256_of(map(read_whole, _delta_log(as_path(path))))
    try:
        return sha256(path, file.segment.member)
    except SourceError:
        if file.must_open or not (is_stored(path) or os.path.lexists(path)):
            raise
        return NO_BYTES


def edges(file: IngestFile) -> str:
    """Return the SHA-256 of the first and last bytes of a file, by which a rewritten one shows; of a Delta table, of its log."""
    if file.archive and file.archive.kind is ArchiveKind.DELTA:
        return digest(file)
    return edges_digest(file.segment.path, file.segment.size if file.continues else None)


def _delta_log(table: Path) -> list[Path]:
    return [entry.path for entry in listing(table / _DELTA_LOG) if entry.path.suffix == ".json"]


def _range_digest(path: str, start: int, end: int | None) -> str:
    file = open_file(path)
    try:
        return sha256_of(file.pieces(start, (file.size if end is None else end) - start))
    except SourceError:
        return NO_BYTES


def _pieces(file: IngestFile, known: list[SourceFields]) -> list[FilePiece]:
    if not known:
        return _split(file, 1)
    last = known[-1]
    # A file of which nothing was read may be one that could not be opened at that time.
    if any(row["sha256"] != NO_BYTES for row in known) and _looks_unchanged(file, last):
        return []
    if any(digest(file, row["range_start"], row["range_end"]) != row["sha256"] for row in known):
        return _split(file, last["generation"] + 1)
    return rest(file, last["generation"], last["range_end"])


def rest(file: IngestFile, generation: int, start: int) -> list[FilePiece]:
    """Return the pieces of a file from `start` on, where an earlier ingest stopped."""
    is_rest = file.continues and file.segment.size > start
    pieces = _split(file, generation, start) if is_rest else []
    return [piece._replace(resumes=piece.start == start) for piece in pieces]


def _looks_unchanged(file: IngestFile, last: SourceFields) -> bool:
    by_name = (last["file_size"], last["file_modified_at"]) == (file.segment.size, file.modified_at)
    # The time of an object is when it was put, and nobody can set it.
    return by_name and (is_stored(file.segment.path) or last["edges_sha256"] == edges(file))


def _split(file: IngestFile, generation: int, start: int = 0) -> list[FilePiece]:
    if not file.continues:
        return [FilePiece(file, generation, 0, None)]
    size = file.segment.size - start
    parts = 1 if size <= 2 * PIECE else -(-size // PIECE)
    cuts = pairwise(start + size * part // parts for part in range(parts + 1))
    return [FilePiece(file, generation, *cut) for cut in cuts]


def in_units(pieces: Sequence[FilePiece]) -> tuple[Unit, ...]:
    """Return the pieces in their order, grouped into units of about the same size."""
    wanted = sum(piece.size for piece in pieces) // UNITS_WANTED
    full = min(PIECE, max(SMALLEST_UNIT, wanted))
    units: list[list[FilePiece]] = []
    filled = 0
    for piece in pieces:
        if not units or filled + piece.size > full:
            units.append([])
            filled = 0
        units[-1].append(piece)
        filled += piece.size
    return tuple(tuple(unit) for unit in units)
