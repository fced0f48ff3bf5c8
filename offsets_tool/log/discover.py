"""Finds the segments of `__consumer_offsets` in any mix of files, folders and tars, on disk or in storage, in a fixed order.

Copies are not mixed: two brokers' files of one partition are two segments with two sources. Other topics' partitions are never
read. A broken tar or closed folder that was found in a folder is a Segment that says why; one that the user named is a
SourceError. Knows nothing about what the files hold.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from offsets_tool.errors import SourceError
from offsets_tool.log.files.checkpoints import META_FILE, NOT_SAID, MetaProperties, read_meta_properties
from offsets_tool.log.files.folders import Entry, PathKind, is_file, listing, look_at, walk
from offsets_tool.log.files.open_file import why
from offsets_tool.log.files.tar import find_in_tar
from offsets_tool.log.names import (
    NO_FILE,
    OFFSETS_TOPIC,
    PartitionDirectory,
    Segment,
    SegmentKind,
    followed,
    offsets_directory,
    partition_directory,
    segment_name,
    tar_name,
)
from offsets_tool.log.storage import StoredPath, as_path, folder_around, one_listing, real_path

_EXPECTED: Final = (
    f"no segment of {OFFSETS_TOPIC} is here; expected a .log file, a {OFFSETS_TOPIC}-N directory, a broker's data directory,"
    " a directory of those, a tar of any of them, or an archive (Parquet, Delta or JSON lines)"
)
_NOT_THERE: Final = {
    PathKind.OTHER: NO_FILE,
    PathKind.NOWHERE: "a symbolic link that leads nowhere or to itself; give the folder it was meant for",
    PathKind.MISSING: "does not exist; check the path",
}


@one_listing()
def find_segments(paths: Iterable[str | Path], log_partition: int | None = None) -> list[Segment]:
    """Return all segments under the paths, ordered by data directory, partition and base offset; a file given twice is one.

    `log_partition` numbers files whose directory does not say it, and leaves out the other partitions. SourceError for a path that
    does not exist, cannot be read, or holds no segment.
    """
    found: dict[tuple[str, str], Segment] = {}
    for path in paths:
        segments = list(_find(as_path(path)))
        kept = list(_of_partition(segments, log_partition))
        if not kept:
            raise SourceError(as_path(path).as_posix(), _nothing(segments, log_partition))
        for segment in kept:
            found.setdefault((real_path(segment.path), segment.member), segment)
    return sorted(found.values(), key=_order)


def _order(segment: Segment) -> tuple[str, int, int, str, str]:
    partition = -1 if segment.log_partition is None else segment.log_partition
    base = -1 if segment.base_offset is None else segment.base_offset
    return segment.directory, partition, base, segment.path, segment.member


def _of_partition(segments: list[Segment], log_partition: int | None) -> Iterator[Segment]:
    for segment in segments:
        # Of a tar that cannot be listed nobody knows what partitions it has.
        unknown = segment.log_partition is None and segment.unreadable
        if log_partition is None or segment.log_partition == log_partition or unknown:
            yield segment
        elif segment.log_partition is None:
            yield segment._replace(log_partition=log_partition)


def _nothing(segments: list[Segment], log_partition: int | None) -> str:
    if not segments:
        return _EXPECTED
    there = ", ".join(str(partition) for partition in sorted({s.log_partition or 0 for s in segments}))
    return f"no segment of partition {log_partition} is here; there are partitions {there}"


def _find(path: Path) -> Iterator[Segment]:
    given = look_at(path)
    if given.kind is PathKind.FOLDER:
        meta, closed = _meta_near(path)
        segments = followed([*closed, *_find_in_folder(path, meta)])
        yield from segments
        if all(segment.unreadable for segment in segments):
            yield from _loose(path)
    elif given.kind is PathKind.FILE:
        yield from _find_file(path)
    else:
        raise SourceError(path.as_posix(), given.problem or _NOT_THERE[given.kind])


def _find_file(path: Path) -> Iterator[Segment]:
    if tar_name(path.name):
        segments = followed(find_in_tar(path))
        named = [segment for segment in segments if segment.log_partition is not None or segment.is_rest]
        yield from segments if all(segment.is_rest for segment in named) else named
    elif segment_name(path.name):
        directory = offsets_directory(path.resolve().parent.name)
        meta, closed = _meta_near(path.parent)
        yield from closed
        segment = _segment(path, directory, meta)
        yield _with_next_offset(segment, path.resolve().parent, directory) if directory else segment
    else:
        raise SourceError(path.as_posix(), f"not named like a segment (.log); {_EXPECTED}")


def _with_next_offset(segment: Segment, folder: Path, directory: PartitionDirectory) -> Segment:
    """Return a segment that the user named, with the next segment's offset, if its partition's folder can be listed."""
    try:
        beside = list(_segments_of(folder, directory, None))
    except SourceError:
        # The folder cannot be listed; the file can be read even so.
        return segment
    # By a link, it may have been given in another folder, and by another name.
    here = segment._replace(path=(folder / as_path(segment.path).name).as_posix())
    return segment._replace(next_offset=followed([here, *beside])[0].next_offset)


def _meta_near(folder: Path) -> tuple[MetaProperties | None, list[Segment]]:
    """Return the meta.properties of a data directory, or of the one around a partition's directory; None where there is none.

    And what stands for one that cannot be read, as `_meta_in` has it.
    """
    meta, closed = _meta_in(folder)
    if meta is not None:
        return meta, closed
    meta, others = _meta_in(folder.resolve().parent)
    return meta, closed + others


def _meta_in(folder: Path) -> tuple[MetaProperties | None, list[Segment]]:
    """Return the meta.properties in a folder; None if there is none or it has other lines, which is no reason not to read the log.

    One that cannot be read is an unreadable Segment: whose log this is would be lost in silence.
    """
    path = folder / META_FILE
    try:
        return (read_meta_properties(path) if is_file(path) else None), []
    except NOT_SAID:
        return None, []
    except SourceError as error:
        return None, [_unreadable(path, error.reason)]


def _find_in_folder(top: Path, meta: MetaProperties | None) -> Iterator[Segment]:
    # "." and ".." say nothing; a link's own name says more than what it leads to.
    directory = offsets_directory(top.resolve().name if top.name in ("", "..") else top.name)
    if directory is not None:
        yield from _segments_of(top, directory, meta)
        return
    metas = {top: meta}
    for entry in walk(top, _may_hold_partitions):
        folder = entry.path.parent
        if folder not in metas:
            own, closed = _meta_in(folder)
            yield from closed
            metas[folder] = own or metas[folder.parent]
        try:
            # All at once: either all of a folder or tar can be listed, or it is unreadable as a whole.
            yield from list(_find_in_entry(entry, metas[folder]))
        except SourceError as error:
            yield _unreadable(entry.path, error.reason)


def _may_hold_partitions(folder: Entry) -> bool:
    return offsets_directory(folder.path.name) is None and not is_other_topic(folder.path)


def _find_in_entry(entry: Entry, meta: MetaProperties | None) -> Iterator[Segment]:
    name = entry.path.name
    if entry.problem:
        raise SourceError(entry.path.as_posix(), entry.problem)
    if entry.kind is PathKind.FOLDER and (directory := offsets_directory(name)):
        yield from _segments_of(entry.path, directory, meta)
    elif entry.kind is PathKind.FILE and tar_name(name):
        found = find_in_tar(entry.path)
        yield from (each for each in found if each.log_partition is not None or each.unreadable)


def is_other_topic(folder: Path) -> bool:
    """Return whether a folder is a partition's directory of another topic, by its name and content.

    A name alone does not tell: `night-1` may be a folder of copies.
    """
    directory = partition_directory(folder.name)
    if directory is None or directory.topic == OFFSETS_TOPIC:
        return False
    try:
        return any(map(_is_segment, listing(folder)))
    except SourceError:
        # Whoever lists it meets the same, and says it.
        return False


def _is_segment(entry: Entry) -> bool:
    name = segment_name(entry.path.name)
    return name is not None and name.base_offset is not None


def _loose(folder: Path) -> Iterator[Segment]:
    """Yield the segments in a folder that was given itself and is not named by Kafka."""
    if is_other_topic(folder):
        raise SourceError(
            folder.as_posix(),
            f"a partition of another topic than {OFFSETS_TOPIC}; give the files if it is not",
        )
    yield from _segments_of(folder, None, _meta_near(folder)[0])


def _segments_of(
    folder: Path, directory: PartitionDirectory | None, meta: MetaProperties | None
) -> Iterator[Segment]:
    for entry in listing(folder):
        if _is_segment(entry) and entry.kind not in (PathKind.FOLDER, PathKind.OTHER):
            yield _segment(entry.path, directory, meta)


def _segment(path: Path, directory: PartitionDirectory | None, meta: MetaProperties | None) -> Segment:
    name = segment_name(path.name)
    around = path.parent if directory is None else folder_around(path.parent)
    size, unreadable = _size(path)
    return Segment(
        path=path.as_posix(),
        log_partition=directory.partition if directory else None,
        base_offset=name.base_offset if name else None,
        kind=name.kind if name else SegmentKind.LOG,
        size=size,
        directory=around.as_posix(),
        fate=directory.fate if directory else "",
        cluster_id=meta.cluster_id if meta else None,
        broker_id=meta.broker_id if meta else None,
        unreadable=unreadable,
    )


def _size(path: Path) -> tuple[int, str]:
    """Return how many bytes a file has, and why they cannot be read: an empty text if they can."""
    try:
        found = path.stat()
    except OSError as error:
        leads_nowhere = look_at(path).kind is PathKind.NOWHERE
        remedy = "copy what the link stands for" if leads_nowhere else "check its permissions"
        return 0, f"cannot be opened ({why(error)}); {remedy}"
    if not stat.S_ISREG(found.st_mode):
        return 0, NO_FILE
    is_open = isinstance(path, StoredPath) or os.access(path, os.R_OK)
    return found.st_size, "" if is_open else "cannot be opened; check its permissions"


def _unreadable(entry: Path, reason: str) -> Segment:
    """Return a segment that stands for a folder or tar in which nothing can be found."""
    tar = tar_name(entry.name)
    directory = offsets_directory(tar.stem if tar else entry.name)
    return Segment(
        path=entry.as_posix(),
        log_partition=directory.partition if directory else None,
        size=_size(entry)[0],
        directory=entry.parent.as_posix(),
        unreadable=reason,
    )
